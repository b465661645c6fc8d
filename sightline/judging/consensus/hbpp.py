"""PQPP's rule for relevance on four grades."""

from __future__ import annotations

import numpy as np

from sightline.errors import DataError
from sightline.extension import consensus
from sightline.judging.consensus import need_confidence, values_of
from sightline.records import Settled, Votes
from sightline.statistics import consensus as rules


@consensus(
    scales=("ordinal",), range=(-1, 2), source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0", version=2
)
def hbpp(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean judgement within the majority group, relevant {2, 1} or not {0, -1}; a tie goes to relevant.

    A prompt's human-based performance is the mean of this over its images. The interval is for what very many
    judgements would give (Bayesian, Jeffreys' prior on the four answers): three judgements leave open which
    group has the majority, so it often spans both. Resampling three equal ones would call them certain.
    """
    need_confidence("hbpp", confidence)
    strange = ~np.isin(votes.value, (-1, 0, 1, 2)) & ~np.isnan(votes.value)
    if strange.any():
        raise DataError(
            f"hbpp is defined for judgements of 2, 1, 0 and -1, but {int(strange.sum())} are others, "
            f"such as {votes.value[strange][0]:g}",
            where=f"question {votes.question.name}",
            remedy="Aggregate this question by mean or median.",
        )
    return values_of(rules.hbpp(votes.item, votes.value, n=votes.n, items=votes.items, confidence=confidence))
