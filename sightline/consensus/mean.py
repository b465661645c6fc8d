"""The mean vote."""

from __future__ import annotations

import numpy as np

from sightline.errors import UsageError
from sightline.extension import consensus
from sightline.records import Settled, Votes
from sightline.statistics.consensus import mean_votes


@consensus(scales=("ordinal", "interval"), source="ITU-R BT.500", licence="Apache-2.0")
def mean(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean of an item's votes, with Student's interval where there are two or more."""
    if not 0 < confidence < 1:
        raise UsageError(f"mean: confidence={confidence} is no share", remedy="For example confidence=0.95.")
    found = mean_votes(votes.item, votes.value, n=votes.n, items=votes.items, confidence=confidence)
    reasons = ["nobody judged it" if none else None for none in np.isnan(found.value)]
    return Settled(found.value, found.low, found.high, found.n, reasons)
