"""Opinion scores that allow for each viewer's bias and care."""

from __future__ import annotations

import numpy as np

from sightline.extension import consensus
from sightline.judging.consensus import NOBODY, need_confidence, on_the_scale
from sightline.records import Settled, Votes
from sightline.statistics.opinion_scores import mos_likelihood


@consensus(
    scales=("ordinal", "interval"),
    source="ITU-T P.910 (2022); Li et al. 2020; Smyth 2004 for the moderation",
    licence="Apache-2.0",
    version=2,
)
def mos_mle(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean opinion score by maximum likelihood: judgements less their viewer's bias, weighted by consistency.

    Model: judgement = score + bias of the viewer + inconsistency of the viewer x noise. Nobody has to be
    excluded: a careless viewer weighs little. Biases are drawn to 0 and inconsistencies to a common one by as
    much as few judgements per viewer call for, so that where viewers are alike it is no worse than the mean.
    The interval is score +- z / sqrt(sum of weights). On a scale with ends a score beyond them is the end
    itself: the likelihood falls from its peak to both sides, so that is its maximum among the scores that can
    occur. Anonymous judgements have no bias and one common inconsistency.
    """
    from scipy.special import ndtri

    need_confidence("mos_mle", confidence)
    found = mos_likelihood(votes.item, votes.annotator, votes.value, n=votes.n, items=votes.items)
    half = float(ndtri((1 + confidence) / 2)) * found.error
    reasons = [NOBODY if none else None for none in np.isnan(found.mos)]
    limits = (found.mos, found.mos - half, found.mos + half)
    score, low, high = (on_the_scale(votes, each) for each in limits)
    return Settled(score, low, high, found.n, reasons)
