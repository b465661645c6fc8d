"""Cache: what is kept so that it need not be computed again, and letting go of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sightline import registry
from sightline.errors import SightlineError, UsageError, near
from sightline.study import reading, scores
from sightline.study.study import Study
from sightline.study.writing.sweeping import Held, held, sweep


@dataclass(frozen=True)
class Kept:
    """The scores of one measure; `current` if the program still computes it this way."""

    measure: str
    kind: str
    version: int
    values: int
    without: int
    current: bool
    identity: str


@dataclass(frozen=True)
class Cached:
    """Scores a measure, and what images, unused images, thumbnails and vectors take on the disk."""

    measures: Sequence[Kept]
    files: Mapping[str, Held]


@dataclass(frozen=True)
class Cleared:
    """How many scores were forgotten and what was removed from the disk."""

    scores: int
    files: Held


def cache(study: Study) -> Cached:
    """What the study keeps of computed things."""
    kept = [
        Kept(
            row["measure"],
            row["kind"],
            row["version"],
            row["values"],
            row["without"],
            _current(row["kind"], row["measure"]) == row["identity"],
            row["identity"],
        )
        for row in reading.measures(study).iter_rows(named=True)
    ]
    return Cached(kept, held(study))


def clear(study: Study, measure: str | None = None, *, files: bool = False) -> Cleared:
    """Forget the scores of a measure, and with `files` remove image files that nothing refers to.

    A bare name stands for the measure with any parameters and of any version.
    """
    if measure is None and not files:
        raise UsageError("it is not said what to clear", remedy="Name a measure, or ask for unused files.")
    gone = 0
    if measure is not None:
        for identity in _meant(study, measure):
            gone += scores.clear(study, identity)
    return Cleared(gone, sweep(study) if files else Held(0, 0))


def _meant(study: Study, measure: str) -> list[str]:
    known = {row["identity"]: row["measure"] for row in reading.measures(study).iter_rows(named=True)}
    asked = "".join(measure.split())
    meant = [
        identity
        for identity, printed in known.items()
        if asked in ("".join(printed.split()), printed.partition("(")[0])
    ]
    if not meant and ("(" in measure or "@" in measure):
        meant = [identity for identity in known if identity == registry.find_measure(measure).identity]
    if not meant:
        names = sorted({printed.partition("(")[0] for printed in known.values()})
        raise UsageError(
            f"no scores of {measure!r} are kept in this study",
            remedy=near(measure, names) or "There are no scores yet.",
        )
    return meant


def _current(kind: str, printed: str) -> str | None:
    try:
        return registry.configure(kind, printed).identity
    except SightlineError:
        return None  # the measure, or a parameter of it, is gone: its scores are of the past
