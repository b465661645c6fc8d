"""The scale that distances are read on: as they are, or normalised by a reference; and the levels on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sightline import registry
from sightline.errors import SightlineError, UsageError
from sightline.statistics.calibration import PUBLISHED
from sightline.statistics.reference import Reference
from sightline.study.study import Study
from sightline.variability.reference import SAMPLE, find_reference, of_distance, refuse_other
from sightline.variability.set_distances import DISTANCES, best_distance, configured
from sightline.variability.store import StudyScale, kept_scale
from sightline.verbs import option

DISTANCE = option(
    "Compare images by this distance (sightline list distance).",
    metavar="DISTANCE",
    shown="that of the reference, else of the study's scale, else the best that runs here",
)
REFERENCE = option(
    "Normalise distances by this reference: a file of fit-reference, `sample`, an imported one by name, or "
    "`none`.",
    metavar="FILE|NAME",
    shown="that of the study's scale",
)
NO_REFERENCE = "none"
WITHOUT_BLANK = option("Exclude the prompts of a system that have a blank image.")
DREAMSIM = "dreamsim"
"""The distance of W1KP's published reference and cut-offs."""
PUBLISHED_WORDS = ",".join(f"{cut:g}" for cut in PUBLISHED)


def scale_of(
    study: Study,
    distance: str | None,
    reference: str | Reference | None,
    cut_offs: str | None = None,
) -> StudyScale:
    """The scale that is meant: what is given, and for the rest that of the study.

    Another distance is another scale: neither the study's reference nor its cut-offs belong to it. A
    reference of another distance is refused.
    """
    kept = kept_scale(study)
    if reference is None and kept is not None and same_distance(distance or kept.distance, kept.distance):
        found = kept
    elif reference is None or reference == NO_REFERENCE:
        found = StudyScale(distance or (best_distance() if kept is None else kept.distance))
    else:
        found = _given(study, distance, reference, kept)
    if found.reference is not None:
        refuse_other(found.reference, configured(found.distance))
    return found if cut_offs is None else replace(found, cut_offs=cut_offs_of(cut_offs))


def _given(
    study: Study, distance: str | None, reference: str | Reference, kept: StudyScale | None
) -> StudyScale:
    """A scale by this reference; the study's cut-offs stay with it where it is the study's own."""
    if isinstance(reference, Reference):
        found = StudyScale(distance or reference.distance, reference)
    else:
        chosen = distance or of_distance(reference, study) or _sampled(kept)
        found = StudyScale(chosen, find_reference(reference, chosen, study), named=reference)
    if kept is not None and same_distance(found.distance, kept.distance):
        mine, theirs = found.reference, kept.reference
        if mine is not None and theirs is not None and np.array_equal(mine.distances, theirs.distances):
            return replace(found, cut_offs=kept.cut_offs)
    return found


def _sampled(kept: StudyScale | None) -> str:
    """The distance whose sample reference is meant where none is named: the study's, if it has one."""
    if kept is not None:
        try:
            find_reference(SAMPLE, kept.distance)
        except SightlineError:
            return DISTANCES[-1]
        return kept.distance
    return DISTANCES[-1]


def same_distance(one: str, other: str) -> bool:
    """Whether two printed forms are of one distance; one that is not known here is equal to itself alone."""
    if one == other:
        return True
    try:
        first, second = (registry.configure("distance", each) for each in (one, other))
    except SightlineError:
        return False
    return first.identity == second.identity


def cut_offs_of(words: str) -> tuple[float, ...]:
    """Where the levels low, medium and high begin."""
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


def level_notes(scale: StudyScale) -> list[str]:
    """Whose levels these are, where they are those of W1KP."""
    if not scale.published:
        return []
    assert scale.reference is not None
    if not scale.reference.identity and scale.reference.distance == DREAMSIM:
        return ["Scale and levels are those that W1KP published for DreamSim."]
    return ["Levels are by W1KP's cut-offs for DreamSim; calibrate finds those of another distance."]
