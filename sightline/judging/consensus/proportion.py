"""The proportion of votes for one side."""

from __future__ import annotations

from sightline.extension import consensus
from sightline.judging.consensus import in_favour, need_confidence, values_of
from sightline.records import Settled, Votes
from sightline.statistics.consensus import share_for


@consensus(
    scales=("nominal", "ordinal", "interval"), range=(0, 1), source="Wilson 1927", licence="Apache-2.0"
)
def proportion(votes: Votes, *, top: float | None = None, confidence: float = 0.95) -> Settled:
    """Proportion of an item's votes for the top value of the scale: of a forced choice, how many chose A.

    `top` takes votes from there up together, or names another label of a question without order. The
    interval is Wilson's: it never leaves 0 to 1 and says something even where all agree.
    """
    need_confidence("proportion", confidence)
    favour = in_favour("proportion", votes, top)
    return values_of(share_for(votes.item, favour, n=votes.n, items=votes.items, confidence=confidence))
