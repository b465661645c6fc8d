"""What verdicts share: which objects of a scene are meant, how surely they are there, and their boxes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sightline.demands import CANNOT_TELL, Mark, Scene, Thing, Verdict
from sightline.errors import UsageError
from sightline.language.kinds import Coverage, coverage, kind_of, same_kind


@dataclass(frozen=True)
class Look:
    """The objects of a scene that are of one kind, or may be.

    `sure` are of that kind, `doubtful` of that kind with a confidence below what counts, `perhaps` of a kind
    above it (a person where a man is asked for). `known` says whether an object of this kind would have been
    seen: "yes", "perhaps" where only some of its kinds are looked for, "no".
    """

    kind: str
    sure: tuple[Thing, ...]
    doubtful: tuple[Thing, ...]
    perhaps: tuple[Thing, ...]
    known: str

    @property
    def all(self) -> tuple[Thing, ...]:
        return (*self.sure, *self.doubtful, *self.perhaps)

    @property
    def least(self) -> int:
        """The least number of such objects that there can be."""
        return len(self.sure)

    @property
    def most(self) -> int | None:
        """The largest number of such objects that there can be; None where more may be there unseen."""
        return len(self.all) if self.known == "yes" else None

    def unseen(self) -> str:
        """Why nothing can be said of what was not seen."""
        if self.known == "perhaps":
            return f"only some kinds of {self.kind} are among what the detector looks for"
        return f"{self.kind} is not among what the detector looks for"


def look(scene: Scene, kind: str, sure: float | None) -> Look:
    """The objects of this kind in a scene somebody looked at for objects.

    They count from the confidence `sure` on, by default from that of the detector.
    """
    sure = scene.sure if sure is None else sure
    things = scene.things or ()
    own = [each for each in things if same_kind(kind, each.kind) or kind_of(each.kind, kind)]
    above = [each for each in things if kind_of(kind, each.kind)]
    covered = (
        Coverage(frozenset((kind,)), frozenset(), frozenset())
        if scene.vocabulary is None
        else coverage(kind, scene.vocabulary)
    )
    known = "yes" if covered.same or covered.broader else "perhaps" if covered.narrower else "no"
    # Whoever looks for persons has looked for men too, without knowing them from others.
    return Look(
        kind,
        tuple(each for each in own if confident(each, sure)),
        tuple(each for each in own if not confident(each, sure)),
        tuple(above),
        known,
    )


def confident(thing: Thing, sure: float) -> bool:
    """Whether an object counts as seen; one that is known to be there always does."""
    return thing.confidence is None or thing.confidence >= sure


def marks(things: Iterable[Thing]) -> tuple[Mark, ...]:
    """The boxes of objects, each once."""
    made = [Mark(each.kind, each.box, each.confidence) for each in things if each.box is not None]
    return tuple(dict.fromkeys(made))


def confidence_of(things: Sequence[Thing]) -> float | None:
    """How surely all of these are there: as surely as the least sure; None where none has a confidence."""
    given = [each.confidence for each in things if each.confidence is not None]
    return min(given, default=None)


def nobody_looked(what: str) -> Verdict:
    """Where no detector of objects, or of text, was run."""
    return Verdict(CANNOT_TELL, f"No detector looked for {what}.")


def check_sure(name: str, sure: float | None) -> None:
    """Refuse what is no confidence."""
    if sure is not None and not 0 <= sure <= 1:
        raise UsageError(f"{name}: sure={sure} is no confidence", remedy="For example sure=0.5.")


def plural(n: int, kind: str) -> str:
    """A number of objects in words: "1 object of kind cat", "3 objects of kind cat"."""
    return f"{n} {'object' if n == 1 else 'objects'} of kind {kind}"
