"""The middle judgement."""

from __future__ import annotations

import numpy as np

from sightline.errors import UsageError
from sightline.extension import consensus
from sightline.judging.consensus import need_confidence, values_of
from sightline.records import Settled, Votes
from sightline.statistics.consensus import median_votes


@consensus(
    scales=("ordinal", "interval"), source="Thompson 1936; Tang et al. 2024 (W1KP)", licence="Apache-2.0",
    version=2,
)  # fmt: skip
def median(votes: Votes, *, top: float | None = None, confidence: float = 0.95) -> Settled:
    """Median of an item's judgements: half are no lower, half no higher; no outlier can move it far.

    An even number gives the middle between the two central ones. Judgements above `top` count as `top`:
    with `top=4` the two highest of five points are one, as W1KP has it. The interval lies between two of
    the judgements, counted from either end, and holds whatever the distribution; at 95 % that takes six, so
    with fewer there is none.
    """
    need_confidence("median", confidence)
    lowest = votes.question.low
    if top is not None and lowest is not None and top < lowest:
        raise UsageError(
            f"median: top={top:g} lies below the scale of {votes.question.name!r}",
            remedy=f"The scale begins at {lowest:g}.",
        )
    value = votes.value if top is None else np.minimum(votes.value, top)
    return values_of(median_votes(votes.item, value, n=votes.n, items=votes.items, confidence=confidence))
