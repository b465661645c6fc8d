"""PQPP's rule for relevance on four grades."""

from __future__ import annotations

import numpy as np

from sightline.errors import DataError
from sightline.extension import consensus
from sightline.records import Settled, Votes
from sightline.statistics import consensus as rules


@consensus(scales=("ordinal",), range=(-1, 2), source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0")
def hbpp(votes: Votes) -> Settled:
    """Mean vote within the majority group, relevant {2, 1} or not {0, -1}; a tie goes to relevant.

    A prompt's human-based performance is the mean of this over its images.
    """
    strange = ~np.isin(votes.value, (-1, 0, 1, 2)) & ~np.isnan(votes.value)
    if strange.any():
        raise DataError(
            f"hbpp is defined for votes of 2, 1, 0 and -1, but {int(strange.sum())} are others, "
            f"such as {votes.value[strange][0]:g}",
            where=f"question {votes.question.name}",
            remedy="Settle this question by mean or median.",
        )
    found = rules.hbpp(votes.item, votes.value, n=votes.n, items=votes.items)
    reasons = ["nobody judged it" if none else None for none in np.isnan(found.value)]
    return Settled(found.value, found.low, found.high, found.n, reasons)
