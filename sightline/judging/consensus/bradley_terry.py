"""Preferences that borrow strength from each other."""

from __future__ import annotations

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.extension import consensus
from sightline.judging.consensus import NOBODY, need_confidence
from sightline.records import Settled, Votes
from sightline.statistics.grouping import sum_by
from sightline.statistics.preferences import bradley_terry as fit
from sightline.statistics.preferences import pooled_preferences

ITSELF = "A and B are the same"


@consensus(
    scales=("nominal", "ordinal", "interval"),
    range=(0, 1),
    source="Bradley and Terry 1952",
    licence="Apache-2.0",
    version=2,
    aliases={"elo": "Elo ratings depend on the order of comparisons; this fits all of them at once."},
)
def bradley_terry(votes: Votes, *, prior: float | None = None, confidence: float = 0.95) -> Settled:
    """Probability that one side of a pair is preferred, from the choices between all pairs together.

    It is the side X that the top of the question's scale speaks for: the second of a pair (1 on a scale from
    0 to 1), A of a triplet. Each side has a strength s and P(X is preferred to Y) = 1 / (1 + exp(-(s_X -
    s_Y))): what X did against others counts as well, so that few votes per pair suffice. The bottom of the
    scale is a vote for Y, what lies between part of a win for either: the middle is a tie, half a win each.
    How far strengths lie apart is estimated from all pairs together, or given as their SD by `prior`. It
    keeps who always won finite. The interval is made of quantiles of the posterior, which counts
    how unsure that SD is; with a given `prior` it comes from the observed information, on the
    scale of s_X - s_Y.
    """
    need_confidence("bradley_terry", confidence)
    if prior is not None and prior <= 0:
        raise UsageError(f"bradley_terry: prior={prior:g} is no SD", remedy="Say a number above 0.")
    if votes.pairs is None:
        raise DataError(
            "bradley_terry compares two sides, and these items are not pairs",
            where=f"question {votes.question.name}",
            remedy="It is for questions about two images; aggregate others by mean or majority.",
        )
    part = _part_of_a(votes)
    known = ~np.isnan(part)
    part, item, weight = part[known], votes.item[known], np.asarray(votes.n[known], dtype=np.float64)
    sides = np.unique(votes.pairs, return_inverse=True)[1].reshape(-1, 2).astype(np.int64)
    a, b = sides[item, 0], sides[item, 1]
    won, lost = np.concatenate([a, b]), np.concatenate([b, a])
    times = np.concatenate([weight * part, weight * (1 - part)])
    players = int(sides.max(initial=-1)) + 1
    if prior is None:
        pooled = pooled_preferences(
            won, lost, times, a=sides[:, 0], b=sides[:, 1], players=players, confidence=confidence
        )
        value, low, high = pooled.value, pooled.low, pooled.high
    else:
        found = fit(won, lost, times, players=players, prior=prior)
        value, low, high = found.preference(sides[:, 0], sides[:, 1], confidence=confidence)
    count = sum_by(item, weight, votes.items)
    itself = sides[:, 0] == sides[:, 1]
    absent = itself | (count == 0)
    reasons = [
        NOBODY if not cast else ITSELF if same else None for cast, same in zip(count, itself, strict=True)
    ]
    value, low, high = (np.where(absent, np.nan, each) for each in (value, low, high))
    return Settled(value, low, high, count.astype(np.int64), reasons)


def _part_of_a(votes: Votes) -> np.ndarray:
    low, high = votes.question.low, votes.question.high
    if low is None or high is None or low >= high:
        raise DataError(
            "bradley_terry takes the ends of the scale as votes for the two sides, and this scale has no two "
            "ends",
            where=f"question {votes.question.name}",
            remedy="Give the question its ends, such as low 0 (the first) and high 1 (the second).",
        )
    part = (votes.value - low) / (high - low)
    if ((part < 0) | (part > 1)).any():
        raise DataError(
            f"{int(((part < 0) | (part > 1)).sum())} votes lie off the scale {low:g} to {high:g}",
            where=f"question {votes.question.name}",
            remedy="Correct them, or the ends of the question.",
        )
    return np.asarray(part, dtype=np.float64)
