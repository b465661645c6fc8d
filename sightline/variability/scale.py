"""The scale that distances are read on: as they are, or normalised by a reference; and the levels on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sightline.errors import UsageError
from sightline.statistics.calibration import PUBLISHED
from sightline.statistics.reference import Reference
from sightline.study.study import Study
from sightline.variability.reference import SAMPLE, find_reference, read_reference, refuse_other
from sightline.variability.set_distances import DISTANCES, best_distance, configured
from sightline.verbs import option

DISTANCE = option(
    "Compare images by this distance (sightline list distance).",
    metavar="DISTANCE",
    shown="that of the reference file, else the best that runs here",
)
REFERENCE = option(
    "Normalise distances by this reference: a file of fit-reference, `sample`, or an imported one by name.",
    metavar="FILE|NAME",
)
WITHOUT_BLANK = option("Exclude the prompts of a system that have a blank image.")
PUBLISHED_WORDS = ",".join(f"{cut:g}" for cut in PUBLISHED)


def scale_of(
    study: Study, distance: str | None, reference: str | Reference | None
) -> tuple[str, Reference | None]:
    """The distance, and the reference it is normalised by; one of another distance is refused."""
    if isinstance(reference, Reference):
        chosen = distance or reference.distance
        refuse_other(reference, configured(chosen))
        return chosen, reference
    if distance is None:
        if reference == SAMPLE:
            distance = DISTANCES[-1]
        elif reference is not None and Path(reference).is_file():
            distance = read_reference(reference).distance
        else:
            distance = best_distance()
    return distance, None if reference is None else find_reference(reference, distance, study)


def cut_offs_of(words: str | None) -> tuple[float, ...]:
    """Where the levels low, medium and high begin; those that W1KP published unless they are given."""
    if words is None:
        return PUBLISHED
    try:
        cuts = [float(word) for word in words.split(",")]
    except ValueError:
        cuts = []
    # Compared this way round, nan is refused as well.
    if len(cuts) != 3 or not -math.inf < cuts[0] <= cuts[1] <= cuts[2] <= 1:
        raise UsageError(
            f"cannot read --cut-offs {words!r}",
            remedy=f"Three rising numbers, 1 at the most: {PUBLISHED_WORDS}",
        )
    return tuple(cuts)


def reference_facts(reference: Reference | None) -> dict[str, Any] | None:
    """A reference as JSON has it."""
    if reference is None:
        return None
    return {name: getattr(reference, name) for name in ("distance", "identity", "n", "date")}


def reference_notes(reference: Reference | None) -> list[str]:
    """Which scale similarities are on, and a warning if the reference is small."""
    if reference is None:
        return ["Distances are not normalised; --reference does so (`sample`, or a file of fit-reference)."]
    date = f", {reference.date}" if reference.date else ""
    notes = [f"Scale: {reference.distance} over {reference.n:,} pairs of one prompt{date}."]
    return [*notes, f"Warning: {reference.warning}."] if reference.warning else notes


def missing_notes(without: Mapping[str, int]) -> list[str]:
    """What has no value, and why."""
    return [f"Without a value: {n:,} ({reason})" for reason, n in without.items()]


def level_notes(published: bool) -> list[str]:
    """That nobody has calibrated the levels, where they are those of W1KP."""
    said = "Levels are by W1KP's cut-offs for DreamSim; calibrate finds those of another distance."
    return [said] if published else []
