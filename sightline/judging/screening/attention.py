"""Excludes whoever did not look."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import screening
from sightline.judging.screening._panel import answered, by_annotator
from sightline.records import Controls, Exclusion, Votes


@screening(needs_controls=True, source="Tang et al. 2024 (W1KP)", licence="Apache-2.0")
def attention(
    votes: Votes, controls: Controls | None, *, allowed: int = 0, least: int = 1
) -> Sequence[Exclusion]:
    """Excludes annotators who failed more attention checks than allowed.

    The answer to an attention check is obvious (an image compared with itself), so that one failure is
    evidence: none is `allowed` by default. Fewer than `least` checks are no ground.
    """
    found = answered(votes, controls, ("attention",))
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        n, failed = len(own), int((~found.right[own]).sum())
        if n >= least and failed > allowed:
            excluded.append(
                Exclusion(annotator, f"failed {failed} of {n} attention checks, {allowed} allowed")
            )
    return excluded
