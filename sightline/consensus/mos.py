"""Opinion scores that allow for each viewer's bias and care."""

from __future__ import annotations

import numpy as np

from sightline.errors import UsageError
from sightline.extension import consensus
from sightline.records import Settled, Votes
from sightline.statistics.consensus import mos_likelihood


@consensus(scales=("ordinal", "interval"), source="ITU-T P.910 (2022); Li et al. 2020", licence="Apache-2.0")
def mos(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean opinion score by maximum likelihood: votes less their viewer's bias, weighted by care.

    Model: vote = score + bias of the viewer + inconsistency of the viewer x noise. Nobody has to be thrown
    out: a careless viewer weighs little. The interval is score +- z / sqrt(sum of weights). On a scale with
    ends a score beyond them is the end itself: the likelihood falls from its peak to both sides, so that is
    its maximum among the scores that can occur.
    """
    from scipy.special import ndtri

    if not 0 < confidence < 1:
        raise UsageError(f"mos: confidence={confidence} is no share", remedy="For example confidence=0.95.")
    found = mos_likelihood(votes.item, votes.annotator, votes.value, n=votes.n, items=votes.items)
    half = float(ndtri((1 + confidence) / 2)) * found.error
    reasons = ["nobody judged it" if none else None for none in np.isnan(found.mos)]
    ends = (votes.question.low, votes.question.high)
    score, low, high = (_within(ends, each) for each in (found.mos, found.mos - half, found.mos + half))
    return Settled(score, low, high, found.n, reasons)


def _within(ends: tuple[float | None, float | None], scores: np.ndarray) -> np.ndarray:
    return scores if ends == (None, None) else np.clip(scores, *ends)
