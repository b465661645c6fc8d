"""Whether objects are there, how many of them, and whether others are not."""

from __future__ import annotations

from sightline.demands import CANNOT_TELL, NO, YES, Demand, Scene, Thing, Verdict
from sightline.extension import verdict
from sightline.skills.verdicts._looking import (
    Look,
    check_sure,
    confidence_of,
    look,
    marks,
    nobody_looked,
    plural,
)

_SOURCE = "GIMBRR (automatic assessment); Ghosh et al. 2023 (GenEval)"


@verdict(
    decides="presence",
    skills=("single_object", "multiple_objects", "conditional", "unusual_arrangements", "typos"),
    source=_SOURCE,
    licence="Apache-2.0",
)
def presence(demand: Demand, scene: Scene, *, sure: float | None = None) -> Verdict:
    """Whether an object of a kind is there.

    Yes where one is seen with a confidence of at least `sure` (by default what its detector says), or is
    known to be there. Cannot tell where
    one is seen less surely, where only a wider kind is seen (a person where a man is asked for), or where
    the kind is not among what the detector looks for; otherwise no.
    """
    check_sure("presence", sure)
    if scene.things is None:
        return nobody_looked("objects")
    return _present(look(scene, demand.wanted.kind, sure))


def _present(seen: Look) -> Verdict:
    kind = seen.kind
    if seen.sure:
        best = max(seen.sure, key=lambda each: 1.0 if each.confidence is None else each.confidence)
        why = f"{plural(len(seen.sure), kind)} {'is' if len(seen.sure) == 1 else 'are'} seen."
        return Verdict(YES, why, best.confidence, marks(seen.sure))
    if seen.doubtful:
        best_of = max(each.confidence or 0.0 for each in seen.doubtful)
        why = f"An object of kind {kind} is seen with a confidence of only {best_of:.2f}."
        return Verdict(CANNOT_TELL, why, best_of, marks(seen.doubtful))
    if seen.perhaps:
        wider = seen.perhaps[0].kind
        why = f"An object of kind {wider} is seen, which may or may not be {kind}."
        return Verdict(CANNOT_TELL, why, None, marks(seen.perhaps))
    if seen.known != "yes":
        return Verdict(CANNOT_TELL, f"Nothing is seen, but {seen.unseen()}.")
    return Verdict(NO, f"No object of kind {kind} is seen.")


@verdict(decides="absence", skills=("negation", "conditional"), source=_SOURCE, licence="Apache-2.0")
def absence(demand: Demand, scene: Scene, *, sure: float | None = None) -> Verdict:
    """Whether no object of a kind is there: the reverse of `presence`, with the same reasons.

    No where one is seen with a confidence of at least `sure`; yes only where one would have been seen.
    """
    check_sure("absence", sure)
    if scene.things is None:
        return nobody_looked("objects")
    seen = _present(look(scene, demand.wanted.kind, sure))
    turned = {YES: NO, NO: YES, CANNOT_TELL: CANNOT_TELL}[seen.verdict]
    return Verdict(turned, seen.why, seen.confidence, seen.boxes)


@verdict(decides="count", skills=("counting", "arithmetic"), source=_SOURCE, licence="Apache-2.0")
def count(demand: Demand, scene: Scene, *, sure: float | None = None) -> Verdict:
    """Whether there are exactly, or at least, as many objects of a kind as asked for.

    Objects seen with a confidence of at least `sure` are there, less sure ones may be: that gives a least
    and a largest number. Cannot tell where the number asked for lies between the two. Where a prompt asks for
    two groups of one kind, those of one colour are counted.
    """
    check_sure("count", sure)
    if scene.things is None:
        return nobody_looked("objects")
    wanted = demand.wanted
    seen = look(scene, wanted.kind, sure)
    least, most = seen.least, seen.most
    shared = [each for each in demand.expects.objects if each.kind == wanted.kind and each != wanted]
    if shared and wanted.colour is not None:
        least = sum(_main_colour(each) == wanted.colour for each in seen.sure)
        may_be = sum(each.colours is None or wanted.colour in each.colours for each in seen.all)
        most = None if most is None else may_be
    return _counted(seen, least, most, wanted.count or 0, wanted.at_least)


def _main_colour(thing: Thing) -> str | None:
    return max(thing.colours, key=thing.colours.__getitem__) if thing.colours else None


def _counted(seen: Look, least: int, most: int | None, asked: int, at_least: bool) -> Verdict:
    boxes = marks(seen.all)
    enough = least >= asked
    too_few = most is not None and most < asked
    too_many = not at_least and least > asked
    certain = least == most
    number = plural(least, seen.kind)
    between = f"{least} to {most}" if most is not None and most != least else f"{least}"
    sure = confidence_of(seen.sure)
    if too_few or too_many:
        return Verdict(NO, f"{_opened(between, seen.kind)}, not {asked}.", sure, boxes)
    if enough and (at_least or certain):
        return Verdict(YES, f"{number} {'is' if least == 1 else 'are'} seen, as asked for.", sure, boxes)
    if most is None:
        return Verdict(CANNOT_TELL, f"{number} seen, but {seen.unseen()}.", sure, boxes)
    why = f"{_opened(between, seen.kind)}, depending on how sure one must be; {asked} asked for."
    return Verdict(CANNOT_TELL, why, sure, boxes)


def _opened(number: str, kind: str) -> str:
    return f"{number} {'object' if number == '1' else 'objects'} of kind {kind} seen"
