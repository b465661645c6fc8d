"""Rules that aggregate the judgements of an item into one value, and what they share.

A rule takes judgements as columns and returns a value, limits, n and a reason per item. Where only counts
were published, a row stands for n anonymous judgements: rules that only count treat them as n, and rules that
model annotators give all anonymous judgements to one.
"""

from __future__ import annotations

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.records import Settled, Votes
from sightline.statistics.consensus import Consensus

NOBODY = "nobody judged it"


def values_of(found: Consensus) -> Settled:
    """Consensus values, where an item lacks a value only because nobody judged it."""
    reasons = [NOBODY if none else None for none in np.isnan(found.value)]
    return Settled(found.value, found.low, found.high, found.n, reasons)


def need_confidence(rule: str, confidence: float) -> None:
    """Refuse a confidence that is not between 0 and 1."""
    if not 0 < confidence < 1:
        raise UsageError(
            f"{rule}: confidence={confidence} is not between 0 and 1", remedy="For example confidence=0.95."
        )


def in_favour(rule: str, votes: Votes, top: float | None) -> np.ndarray:
    """Which judgements are for the top: 1 for it, 0 not, NaN skipped.

    The top is the highest value of the scale, or from `top` up; of labels without order only `top` itself.
    """
    asked = votes.question
    bound = asked.high if top is None else top
    if bound is None:
        raise DataError(
            f"{rule} asks for the top value, but the scale of this question has no upper end",
            where=f"question {asked.name}",
            remedy=f"Say from where a value counts as the top, as in {rule}(top=1).",
        )
    if (asked.low is not None and bound < asked.low) or (asked.high is not None and bound > asked.high):
        raise UsageError(
            f"{rule}: top={bound:g} is off the scale of {asked.name!r}",
            remedy=f"It runs from {asked.low} to {asked.high}.",
        )
    chosen = votes.value == bound if asked.scale == "nominal" else votes.value >= bound
    return np.where(np.isnan(votes.value), np.nan, chosen.astype(np.float64))


def on_the_scale(votes: Votes, scores: np.ndarray) -> np.ndarray:
    """The scores, those beyond an end of the question's scale put on that end."""
    ends = (votes.question.low, votes.question.high)
    return scores if ends == (None, None) else np.clip(scores, *ends)
