"""How objects look: their colour, their size against others, and what else is said of them."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.demands import CANNOT_TELL, NO, YES, Demand, Scene, Thing, Verdict
from sightline.errors import UsageError
from sightline.extension import verdict
from sightline.skills.verdicts._looking import (
    Look,
    check_sure,
    confidence_of,
    look,
    marks,
    nobody_looked,
)
from sightline.statistics.colours import named_colours

SIZES = {
    **dict.fromkeys(("small", "tiny", "little", "miniature", "smaller"), -1),
    **dict.fromkeys(("large", "big", "huge", "giant", "enormous", "larger", "bigger"), 1),
}


@verdict(
    decides="colour",
    skills=("compositional",),
    source="ours, after Ghosh et al. 2023 (GenEval); Berlin and Kay 1969 (basic colours)",
    licence="Apache-2.0",
)
def colour(
    demand: Demand, scene: Scene, *, sure: float | None = None, plain: float = 0.4, trace: float = 0.15
) -> Verdict:
    """Whether objects of a kind have the colour asked for: one of the eleven basic colours.

    A detector separates the object from what is around its box and states which proportion of it each colour
    covers. Yes where the colour covers at least `plain` of as many objects as asked for, no where it covers
    less than `trace`; in between, and for other colours, cannot tell. Objects count from the confidence
    `sure` on; where none is there, none has the colour.
    """
    check_sure("colour", sure)
    if not 0 <= trace <= plain <= 1:
        raise UsageError(f"colour: plain={plain}, trace={trace}", remedy="For example plain=0.4, trace=0.15.")
    if scene.things is None:
        return nobody_looked("objects")
    wanted, seen = demand.wanted, look(scene, demand.wanted.kind, sure)
    name = " ".join((wanted.colour or "").lower().split())
    basic = named_colours(name)
    name = basic[0] if len(basic) == 1 and len(name.split()) == 1 else name
    if not seen.sure:
        return _none_there(seen, f"{wanted.colour} {wanted.kind}")
    parts = [None if each.colours is None else _covered(each, name, basic) for each in seen.sure]
    having = [each for each, part in zip(seen.sure, parts, strict=True) if part is not None and part >= plain]
    needed = min(wanted.count or 1, len(seen.sure))
    if len(having) >= needed:
        return Verdict(YES, f"{wanted.kind} is {wanted.colour}.", confidence_of(having), marks(having))
    open_ = [part for part in parts if part is None or trace <= part < plain]
    if len(having) + len(open_) >= needed:
        why = f"The colour of {wanted.kind} is not plain enough to call it {wanted.colour}."
        if all(part is None for part in parts):
            why = f"Nobody looked at the colour of {wanted.kind}, or {wanted.colour} is no basic colour."
        return Verdict(CANNOT_TELL, why, None, marks(seen.all))
    worn = ", ".join(dict.fromkeys(_main(each) for each in seen.sure if each.colours))
    return Verdict(
        NO, f"{wanted.kind} is {worn}, not {wanted.colour}.", confidence_of(seen.sure), marks(seen.sure)
    )


def _covered(thing: Thing, name: str, basic: Sequence[str]) -> float | None:
    """The proportion of a thing that a colour covers; None for a colour that nobody can look for."""
    colours = thing.colours or {}
    return colours.get(name, 0.0) if name in colours or len(basic) == 1 else None


def _main(thing: Thing) -> str:
    colours = thing.colours or {}
    return max(colours, key=colours.__getitem__)


@verdict(decides="size", skills=("compositional",), source="ours", licence="Apache-2.0")
def size(demand: Demand, scene: Scene, *, sure: float | None = None, ratio: float = 1.5) -> Verdict:
    """Whether objects of a kind are small or large, as asked for.

    Where the size of an object is known, that decides. Otherwise boxes are compared with those of the
    objects that the prompt wants to be of the other size: yes where the mean area of the large ones is at
    least `ratio` times that of the small ones, no where it is the smaller one by as much; in between, and
    where there is nothing to compare with, cannot tell. Objects count from the confidence `sure` on.
    """
    check_sure("size", sure)
    if not ratio >= 1:
        raise UsageError(f"size: ratio={ratio}", remedy="A number of 1 or more, for example ratio=1.5.")
    if scene.things is None:
        return nobody_looked("objects")
    wanted, seen = demand.wanted, look(scene, demand.wanted.kind, sure)
    asked = f"{wanted.size} {wanted.kind}"
    if not seen.sure:
        return _none_there(seen, asked)
    if all(each.size is not None for each in seen.sure):
        fits = all(_same_size(str(each.size), str(wanted.size)) for each in seen.sure)
        why = f"{wanted.kind} is {seen.sure[0].size}."
        return Verdict(YES if fits else NO, why, confidence_of(seen.sure), marks(seen.sure))
    others = _opposites(demand, scene, sure)
    sign = SIZES.get(str(wanted.size).lower())
    mine, theirs = _mean_area(seen.sure), _mean_area(others)
    boxes = marks((*seen.sure, *others))
    if sign is None or mine is None or theirs is None:
        return Verdict(
            CANNOT_TELL, f"There is nothing to compare the size of {wanted.kind} with.", None, boxes
        )
    larger = mine / theirs if sign > 0 else theirs / mine
    why = f"The boxes of {wanted.kind} have {mine / theirs:.1f} times the area of the others."
    verdict = YES if larger >= ratio else NO if larger <= 1 / ratio else CANNOT_TELL
    return Verdict(verdict, why, confidence_of((*seen.sure, *others)), boxes)


def _same_size(one: str, two: str) -> bool:
    return one == two or (one.lower() in SIZES and SIZES[one.lower()] == SIZES.get(two.lower()))


def _opposites(demand: Demand, scene: Scene, sure: float | None) -> list[Thing]:
    """The objects that the prompt wants to be of the other size."""
    mine = SIZES.get(str(demand.wanted.size).lower(), 0)
    kinds = [
        each.kind for each in demand.expects.objects if mine and SIZES.get(str(each.size).lower()) == -mine
    ]
    return [thing for kind in kinds for thing in look(scene, kind, sure).sure]


def _mean_area(things: Sequence[Thing]) -> float | None:
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (each.box for each in things) if box]
    mean = sum(areas) / len(areas) if areas else 0.0
    return mean or None


@verdict(
    decides="attribute",
    skills=("compositional",),
    source="ours",
    licence="Apache-2.0",
)
def attribute(demand: Demand, scene: Scene, *, sure: float | None = None) -> Verdict:
    """Whether an object of a kind has an attribute, such as a material or a texture.

    Decided where a scene says what its objects are like; no detector of ours does, so that with them it
    cannot tell. `joint_attribute` asks a joint encoder instead. Objects count from the confidence `sure` on.
    """
    check_sure("attribute", sure)
    if scene.things is None:
        return nobody_looked("objects")
    wanted, seen = demand.wanted, look(scene, demand.wanted.kind, sure)
    if not seen.sure:
        return _none_there(seen, f"{demand.text} {wanted.kind}")
    said = [each for each in seen.sure if each.attributes is not None]
    having = [each for each in said if demand.text in (each.attributes or ())]
    if having:
        return Verdict(YES, f"{wanted.kind} is {demand.text}.", confidence_of(having), marks(having))
    if len(said) == len(seen.sure):
        return Verdict(NO, f"{wanted.kind} is not {demand.text}.", confidence_of(said), marks(said))
    why = f"The detector does not say whether {wanted.kind} is {demand.text}."
    return Verdict(CANNOT_TELL, why, None, marks(seen.all))


def _none_there(seen: Look, asked: str) -> Verdict:
    """Where no object of the kind is surely there."""
    if seen.doubtful or seen.perhaps:
        return Verdict(CANNOT_TELL, f"It is not sure that any {seen.kind} is there.", None, marks(seen.all))
    if seen.known != "yes":
        return Verdict(CANNOT_TELL, f"No {seen.kind} is seen, but {seen.unseen()}.")
    return Verdict(NO, f"There is no {asked}: no {seen.kind} is seen.")
