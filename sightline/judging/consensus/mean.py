"""The mean judgement."""

from __future__ import annotations

from sightline.extension import consensus
from sightline.judging.consensus import need_confidence, values_of
from sightline.records import Settled, Votes
from sightline.statistics.consensus import mean_votes


@consensus(
    scales=("ordinal", "interval"),
    source="ITU-R BT.500",
    licence="Apache-2.0",
    aliases=("mos", "mean_opinion_score"),
)
def mean(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean of an item's judgements, with Student's interval where there are two or more."""
    need_confidence("mean", confidence)
    return values_of(mean_votes(votes.item, votes.value, n=votes.n, items=votes.items, confidence=confidence))
