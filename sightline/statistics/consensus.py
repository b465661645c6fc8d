"""Consensus rules that count votes: from the votes on an item to one value.

Votes are columns, as in `votes.py`. Results have one row per item; an item without votes has n = 0 and NaN.
Rules that model annotators are in `opinion_scores.py`, `labels.py` and `preferences.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.intervals import mid_p
from sightline.statistics.votes import Cast, Flags, cast_votes, over


class Counted(TypedDict, total=False):
    """What any rule may be given: how many votes a row stands for, and the number of items."""

    n: ArrayLike | None
    items: int | None


@dataclass(frozen=True)
class Consensus:
    """One value per item with its interval (NaN where the rule gives none) and number of votes."""

    value: Array
    low: Array
    high: Array
    n: Indices


PRIOR_DF = 4.0
"""Judgements' worth of belief that an item's votes scatter as those of the others do."""
PRIOR_SCATTER = 0.2
"""The proportion of the greatest possible variance that votes are taken to have where nothing is known."""


def mean_votes(
    item: ArrayLike,
    value: ArrayLike,
    *,
    low: float | None = None,
    high: float | None = None,
    confidence: float = 0.95,
    **columns: Unpack[Counted],
) -> Consensus:
    """Mean of an item's votes with an interval for what very many votes would give; none for a single vote.

    Few votes say little about how far votes on an item scatter, so that all items are consulted: the variance
    of an item's votes is drawn to the common one with four degrees of freedom (on a scale with ends the
    common proportion of m (1 - m), the most that votes of mean m can vary), and has so many more. Student's
    t, or on a scale with ends the mid-P interval of a proportion that is as uncertain.
    Source: Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004) for the moderation;
    Korn and Graubard, Survey Methodology 24 (1998) for the proportion.
    """
    from scipy.special import ndtri, stdtrit

    votes = cast_votes(item, value, **columns)
    mean = over(votes.total(votes.value), votes.n)
    squares = votes.total((votes.value - mean[votes.item]) ** 2)
    several = votes.n > 1
    degrees = np.where(several, votes.n - 1, np.nan)
    t = stdtrit(degrees + PRIOR_DF, (1 + confidence) / 2)
    if low is None or high is None or high <= low:
        common = float(np.sum(squares[several]) / max(float(np.sum(degrees[several])), 1.0))
        variance = (squares + PRIOR_DF * common) / (degrees + PRIOR_DF)
        half = t * np.sqrt(over(variance, votes.n))
        return Consensus(mean, mean - half, mean + half, votes.counted)
    width = high - low
    place = np.clip((mean - low) / width, 0.0, 1.0)
    scatter = squares / degrees / width**2
    room = place * (1 - place) + over(scatter, votes.n)
    seen = (np.nansum(scatter[several]) + PRIOR_SCATTER) / (np.nansum(room[several]) + 1.0)
    known = votes.n > 0
    middle = float(np.mean(place[known])) if known.any() else 0.5
    # An item's own mean may lie at an end by chance; there is no variance to have there.
    drawn = np.clip((place * votes.n + middle) / (votes.n + 1), 1e-3, 1 - 1e-3)
    most = drawn * (1 - drawn)
    variance = (degrees * scatter + PRIOR_DF * seen * most) / (degrees + PRIOR_DF)
    trials = most * votes.n / variance * (float(ndtri((1 + confidence) / 2)) / t) ** 2
    least, highest = (np.full(mean.shape, np.nan) for _ in range(2))
    least[several], highest[several] = mid_p(place[several], trials[several], confidence=confidence)
    return Consensus(
        mean, np.minimum(low + least * width, mean), np.maximum(low + highest * width, mean), votes.counted
    )


def median_votes(
    item: ArrayLike, value: ArrayLike, *, confidence: float = 0.95, **columns: Unpack[Counted]
) -> Consensus:
    """Median of an item's votes with the interval between two of its order statistics.

    Of n sorted votes, the k-th from below and the k-th from above enclose the population's median with
    probability 1 - 2 P(Binomial(n, 1/2) < k) or more, whatever the distribution; k is the largest for which
    that is at least the confidence. With fewer than six votes there is none at 95 %, so the limits are NaN.
    Source: W. R. Thompson, On confidence ranges for the median, Annals of Mathematical Statistics 7 (1936).
    """
    from scipy.stats import binom

    votes = cast_votes(item, value, **columns)
    order = np.lexsort((votes.value, votes.item))
    ascending = votes.value[order]
    running = np.cumsum(votes.weight[order])
    before = np.cumsum(votes.n) - votes.n

    def number(which: Array) -> Array:
        """Vote number `which` (from 1) of each item: the first whose running total reaches it."""
        votes_there = np.full(votes.items, np.nan)
        there = np.isfinite(which) & (votes.n > 0)
        votes_there[there] = ascending[np.searchsorted(running, (before + which)[there])]
        return votes_there

    middle = (number((votes.n + 1) // 2) + number(votes.n // 2 + 1)) / 2
    tail = (1 - confidence) / 2
    # The smallest k at which P(Binomial <= k) reaches the tail: all smaller k may be cut off.
    cut = np.where(votes.n > 0, binom.ppf(tail * (1 + 1e-12), np.maximum(votes.n, 1), 0.5), 0.0)
    place = np.where(cut >= 1, cut, np.nan)
    return Consensus(middle, number(place), number(votes.n + 1 - place), votes.counted)


def share_for(
    item: ArrayLike, favour: ArrayLike, *, confidence: float = 0.95, **columns: Unpack[Counted]
) -> Consensus:
    """Proportion of an item's votes in favour (1, else 0; NaN = skipped) with Wilson's score interval.

    (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).
    Source: E. B. Wilson, Probable inference, JASA 22 (1927).
    """
    from scipy.special import ndtri

    votes = cast_votes(item, favour, **columns)
    if not np.isin(votes.value, (0, 1)).all():
        raise ValueError("a vote is in favour (1) or not (0)")
    for_it = votes.total(votes.value)
    p = over(for_it, votes.n)
    z = float(ndtri((1 + confidence) / 2))
    cast = np.where(votes.n > 0, votes.n, np.nan)
    scale = 1 + z**2 / cast
    centre = (p + z**2 / (2 * cast)) / scale
    half = z * np.sqrt(p * (1 - p) / cast + z**2 / (4 * cast**2)) / scale
    # At 0 and n the limit equals the proportion exactly; rounding must not push it past.
    low = np.where(for_it == 0, p, centre - half)
    high = np.where(for_it == votes.n, p, centre + half)
    return Consensus(p, low, high, votes.counted)


def relevant_if(
    item: ArrayLike, favour: ArrayLike, against: ArrayLike, *, least: int = 1, **columns: Unpack[Counted]
) -> Consensus:
    """1 where at least `least` votes are in favour and none is against, else 0; a vote may be neither.

    No interval: the value is about these votes, since unanimity becomes rarer with more of them.
    """
    votes = cast_votes(item, np.where(np.asarray(favour, dtype=np.bool_), 1.0, 0.0), **columns)
    opposed = np.asarray(against, dtype=np.bool_)[votes.row]
    holds = (votes.total(votes.value) >= least) & (votes.total(opposed) == 0)
    return _without_interval(np.where(votes.n > 0, holds, np.nan), votes)


def majority(
    item: ArrayLike,
    value: ArrayLike,
    *,
    ties: Literal["none", "highest", "lowest"] = "none",
    **columns: Unpack[Counted],
) -> Consensus:
    """The value with most votes; a tie gives no value, or the highest or lowest of the tied values."""
    if ties not in ("none", "highest", "lowest"):
        raise ValueError(f"ties {ties!r} is none of none, highest, lowest")
    votes = cast_votes(item, value, **columns)
    scale, place = np.unique(votes.value, return_inverse=True)
    cells, cell = np.unique(votes.item * max(1, scale.size) + place, return_inverse=True)
    cast = sum_by(cell, votes.weight)
    of_item, of_value = cells // max(1, scale.size), cells % max(1, scale.size)
    most = np.zeros(votes.items)
    np.maximum.at(most, of_item, cast)
    top = cast == most[of_item]
    result = np.full(votes.items, np.nan)
    # Cells ascend by item and value: the last write per item wins, so the order decides between tied values.
    order = np.flatnonzero(top) if ties != "lowest" else np.flatnonzero(top)[::-1]
    result[of_item[order]] = scale[of_value[order]]
    if ties == "none":
        result[np.bincount(of_item[top], minlength=votes.items) > 1] = np.nan
    return _without_interval(result, votes)


def hbpp(
    item: ArrayLike, value: ArrayLike, *, confidence: float = 0.95, **columns: Unpack[Counted]
) -> Consensus:
    """Human-based prompt performance of an image: the mean vote within the majority group.

    Groups are {2, 1} relevant and {0, -1} not; a tie goes to relevant. The limits are for what very many
    votes would give: with Jeffreys' prior (half a vote for each of the four answers) relevant wins with
    probability w = P(Beta(r + 1, u + 1) >= 1/2) of r votes for relevant and u for not; then the value is 1 +
    Beta(votes for 2 + 1/2, for 1 + 1/2), else -Beta(votes for -1 + 1/2, for 0 + 1/2), and the limits are
    quantiles of this mixture, widened where the value itself lies outside. A bootstrap of the votes would
    fail: three equal votes always resample to themselves.
    Source: PQPP (Poesina et al. 2024), HBPP; Brown, Cai and DasGupta, Interval estimation for a binomial
    proportion, Statistical Science 16 (2001) for the prior.
    """
    votes = cast_votes(item, value, **columns)
    if not np.isin(votes.value, (-1, 0, 1, 2)).all():
        raise ValueError("HBPP is defined for votes of 2, 1, 0 and -1 only")
    high, low, none, unreal = (votes.total(votes.value == grade) for grade in (2, 1, 0, -1))
    wins = high + low >= none + unreal
    mean = np.where(wins, over(2 * high + low, high + low), over(-unreal, none + unreal))
    tail = (1 - confidence) / 2
    limits = [_hbpp_quantile(q, high, low, none, unreal) for q in (tail, 1 - tail)]
    known = votes.n > 0
    least, most = np.fmin(limits[0], mean), np.fmax(limits[1], mean)
    return Consensus(mean, np.where(known, least, np.nan), np.where(known, most, np.nan), votes.counted)


def _hbpp_quantile(q: float, high: Array, low: Array, none: Array, unreal: Array) -> Array:
    from scipy.special import betainc, betaincinv

    # Values below 0 come first on the scale: "not relevant", weighted by its probability of winning.
    loses = betainc(high + low + 1, none + unreal + 1, 0.5)
    within = np.clip(q / loses, 0, 1)
    beyond = np.clip((q - loses) / (1 - loses), 0, 1)
    below = -betaincinv(unreal + 0.5, none + 0.5, 1 - within)
    above = 1 + betaincinv(high + 0.5, low + 0.5, beyond)
    return np.asarray(np.where(q < loses, below, above), dtype=np.float64)


def _without_interval(value: Array | Flags, votes: Cast) -> Consensus:
    result = np.asarray(value, dtype=np.float64)
    return Consensus(result, np.full_like(result, np.nan), np.full_like(result, np.nan), votes.counted)
