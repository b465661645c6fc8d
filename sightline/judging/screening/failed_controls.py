"""Excludes whoever fails most of the control tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.judging.screening._panel import ROUNDING, answered, by_annotator, is_trusted, trusted
from sightline.records import Controls, Exclusion, Votes


@screening(needs_controls=True, source="ConQA (2024)", licence="Apache-2.0")
def failed_controls(
    votes: Votes, controls: Controls | None, *, share: float = 0.7, least: int = 3
) -> Sequence[Exclusion]:
    """Excludes annotators who failed too many of their control tasks.

    A judgement passes if it lies within the tolerance of an answer that anybody vouches for; failing a
    proportion of `share` or more (70 %) means out, with all judgements. Fewer than `least` control tasks are
    no ground (ConQA itself set no such limit: `least=1`). Reference photos do not count here; they have a
    rule of their own. Control annotators themselves are never excluded.
    """
    found = answered(votes, controls, ("known", "attention", "annotator"))
    people = trusted(controls)
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        n = np.unique(found.vote[own]).size
        failed = n - np.unique(found.vote[own][found.right[own]]).size
        if n >= least and failed >= share * n - ROUNDING and failed and not is_trusted(annotator, people):
            excluded.append(
                Exclusion(
                    annotator, f"failed {failed} of {n} control tasks ({failed / n:.0%}), limit {share:.4g}"
                )
            )
    return excluded
