"""Excludes whoever does not see that the photo belongs to its prompt."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import screening
from sightline.judging.screening._panel import ROUNDING, answered, by_annotator
from sightline.records import Controls, Exclusion, Votes


@screening(needs_controls=True, source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0")
def reference_photos(
    votes: Votes, controls: Controls | None, *, above: float = 0.95, least: int = 10
) -> Sequence[Exclusion]:
    """Excludes annotators who gave too few reference photos the top value.

    The photo that a prompt was written for is hidden among its images; the proportion that an annotator rates
    as expected (the top of the scale, within the tolerance) must be `above` 95 %. Fewer than `least` rated
    photos are no ground; below twenty a single slip is enough to fail.
    """
    found = answered(votes, controls, ("reference",))
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        n, top = len(own), int(found.right[own].sum())
        if n >= least and top <= above * n + ROUNDING:
            excluded.append(
                Exclusion(
                    annotator,
                    f"{top} of {n} reference photos at the top value ({top / n:.1%}), not above {above:.4g}",
                )
            )
    return excluded
