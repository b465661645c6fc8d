"""How sure a single figure is: intervals for means, shares and any statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate
from sightline.statistics.crossed import Variance
from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]
Statistic = Callable[..., Any]

# Cells of one block of resamples: 32 MB of float64, so that memory does not grow with the study.
BLOCK_CELLS = 4_000_000
ROUNDING = 1e-24
"""The variance of a mean on a scale from 0 to 1 up to which its values are equal but for rounding."""


def mean_interval(
    values: ArrayLike,
    *,
    low: float | None = None,
    high: float | None = None,
    variance: Variance | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Mean of the values that are not NaN with an interval that keeps to their scale.

    Without a scale: Student's, mean +- t sqrt(V). On a scale from `low` to `high`: the exact binomial
    interval (mid-P) at the mean's place on the scale, with the number of trials n* = m (1 - m) / V times
    (z / t)^2, at which a proportion would be as uncertain as this mean is; where values lie at the two
    ends only, or do not vary, n* is their number. V is that of the mean over values, or `variance`.
    Sources: Student, Biometrika 6 (1908); Korn and Graubard, Survey Methodology 24 (1998) for n*; Berry and
    Armitage, The Statistician 44 (1995) for mid-P. docs/statistics.md has the simulated coverage.
    """
    from scipy.special import ndtri

    known = known_values(values)
    bounded = low is not None and high is not None and high > low
    method = ("mid-P" if bounded else "t") + (
        " over prompts and raters" if variance and variance.raters else ""
    )
    if known.size == 0:
        return Estimate(None, None, None, 0, method, "no value is known")
    mean = float(known.mean())
    if known.size == 1:
        return Estimate(mean, None, None, 1, method, "one value shows no spread")
    spread = variance or Variance(float(known.var(ddof=1)) / known.size, 0.0, known.size - 1)
    ratio = spread.quantile((1 - confidence) / 2)
    if low is None or high is None or high <= low:
        half = ratio * spread.total**0.5
        return within(Estimate(mean, mean - half, mean + half, known.size, method), low, high)
    place = min(1.0, max(0.0, (mean - low) / (high - low)))
    trials = float(known.size)
    total = spread.total / (high - low) ** 2
    if total > ROUNDING and not (spread.raters == 0 and bool(np.isin(known, (low, high)).all())):
        trials = place * (1 - place) / total * (float(ndtri((1 + confidence) / 2)) / ratio) ** 2
    least, most = mid_p(np.array([place]), np.array([max(trials, 1e-3)]), confidence=confidence)
    ends = (low + float(end[0]) * (high - low) for end in (least, most))
    return Estimate(mean, min(next(ends), mean), max(next(ends), mean), known.size, method)


def published_interval(
    mean: float, sd: float, n: int, *, low: float | None = None, high: float | None = None
) -> tuple[float, float] | None:
    """Student's 95 % interval of a mean that was published with its standard deviation and count.

    mean +- t(n - 1) sd / sqrt(n), within the ends of the scale; None of fewer than two.
    """
    from scipy.special import stdtrit

    if n < 2:
        return None
    half = float(stdtrit(n - 1, 0.975)) * sd / n**0.5
    ends = mean - half, mean + half
    return (ends[0] if low is None else max(low, ends[0])), (ends[1] if high is None else min(high, ends[1]))


def mid_p(share: Array, trials: Array, *, confidence: float = 0.95) -> tuple[Array, Array]:
    """Limits of proportions by the mid-P exact binomial test, for any positive numbers of trials.

    The upper limit solves P(X < x) + P(X = x) / 2 = (1 - confidence) / 2 with x = share * trials, the lower
    one likewise from below. At a proportion of 0 or 1 the limit on that side is the proportion itself.
    """
    # Few votes on a scale of few steps give the same pair again and again.
    distinct, where = np.unique(
        np.concatenate([share, 1 - share]) + 1j * np.tile(trials, 2), return_inverse=True
    )
    upper = _mid_p_upper(distinct.real, distinct.imag, (1 - confidence) / 2)[where]
    return 1 - upper[share.size :], upper[: share.size]


def _mid_p_upper(share: Array, trials: Array, tail: float) -> Array:
    from scipy.special import betaincc, betainccinv, betaln, xlog1py, xlogy

    x = share * trials
    rest = np.maximum(trials - x, 1e-9)
    some = np.maximum(x, 1e-9)
    # Between the exact limits of one success less and of x: P(X <= x) is a tail of a beta distribution.
    least = np.where(x <= 1e-9, 0.0, betainccinv(some, rest + 1, tail))
    most = np.asarray(betainccinv(x + 1, rest, tail))
    limit = (least + most) / 2
    pending = np.flatnonzero(share < 1)
    for _ in range(40):
        if not pending.size:
            break
        at, k, other = limit[pending], x[pending], rest[pending]
        few, above = k <= 1e-9, some[pending]
        fewer = np.where(few, 0.0, betaincc(above, other + 1, at))
        excess = (betaincc(k + 1, other, at) + fewer) / 2 - tail
        low, high = np.where(excess > 0, at, least[pending]), np.where(excess > 0, most[pending], at)
        density = np.exp(xlogy(k, at) + xlog1py(other - 1, -at) - betaln(k + 1, other))
        density += np.where(
            few, 0.0, np.exp(xlogy(above - 1, at) + xlog1py(other, -at) - betaln(above, other + 1))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = at + 2 * excess / density
        better = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        least[pending], most[pending], limit[pending] = low, high, better
        pending = pending[np.abs(better - at) > 1e-9]
    return np.asarray(np.where(share >= 1, 1.0, limit), dtype=np.float64)


def negated(estimate: Estimate) -> Estimate:
    """The estimate of the same values times -1."""
    if estimate.value is None:
        return estimate
    low = None if estimate.high is None else -estimate.high
    high = None if estimate.low is None else -estimate.low
    return replace(estimate, value=-estimate.value, low=low, high=high)


def within(estimate: Estimate, low: float | None, high: float | None) -> Estimate:
    """The part of an interval that can occur on a scale from `low` to `high`.

    What lies beyond the scale cannot be the truth, so cutting it off costs no coverage.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    least = estimate.low if low is None else min(max(estimate.low, low), estimate.value)
    most = estimate.high if high is None else max(min(estimate.high, high), estimate.value)
    return replace(estimate, low=least, high=most)


def stratified_mean_interval(values: ArrayLike, strata: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Mean of the means of fixed groups, each weighing the same, with the spread inside the groups.

    m = (1/S) sum of group means; its variance (1/S^2) sum s_g^2 / n_g; Student's t with Satterthwaite's
    degrees of freedom. Groups are not a sample here (the systems compared are the systems meant), so how
    far they lie apart says nothing about how sure the mean is. n counts values. No interval where a group
    has a single value.
    """
    known = np.asarray(values, dtype=np.float64)
    group = np.asarray(strata)
    keep = ~np.isnan(known)
    known, group = known[keep], group[keep]
    if len(known) == 0:
        return Estimate(None, None, None, 0, "stratified t", "no value")
    _, place = np.unique(group, return_inverse=True)
    sizes = np.bincount(place).astype(np.float64)
    means = np.bincount(place, known) / sizes
    value = float(means.mean())
    if (sizes < 2).any():
        return Estimate(value, None, None, len(known), "stratified t", "a group has a single value")
    variances = np.bincount(place, (known - means[place]) ** 2) / (sizes - 1)
    parts = variances / sizes / len(sizes) ** 2
    total = float(parts.sum())
    if total == 0:
        return Estimate(value, value, value, len(known), "stratified t")
    from scipy.special import stdtrit

    freedom = total**2 / float((parts**2 / (sizes - 1)).sum())
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * total**0.5
    return Estimate(value, value - half, value + half, len(known), "stratified t")


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """Proportion of successes with Wilson's score interval.

    (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).
    Source: E. B. Wilson, Probable inference, JASA 22 (1927).
    """
    from scipy.special import ndtri

    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return Estimate(None, None, None, 0, "wilson", "no trial was made")
    share = successes / n
    z = float(ndtri((1 + confidence) / 2))
    scale = 1 + z**2 / n
    centre = (share + z**2 / (2 * n)) / scale
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / scale
    # At 0 and n the limit equals the share exactly; rounding must not push it past.
    low = 0.0 if successes == 0 else float(centre - half)
    high = 1.0 if successes == n else float(centre + half)
    return Estimate(share, low, high, n, "wilson")


def bootstrap(
    values: ArrayLike,
    statistic: Statistic = np.mean,
    *,
    method: Literal["percentile", "bca"] = "percentile",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """A statistic of the values that are not NaN with its bootstrap interval.

    `statistic(values, axis=...)` works along an axis, as numpy's do. Percentile: quantiles of the statistic
    over resamples. BCa: the quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 the bias of the median
    and a the acceleration from the jackknife.
    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapters 13 and 14.
    """
    known = known_values(values)
    if known.size == 0:
        return Estimate(None, None, None, 0, method, "no value is known")
    value = float(statistic(known, axis=-1))
    if known.size == 1:
        return Estimate(value, None, None, 1, method, "one value shows no spread")
    rng = np.random.default_rng(seed)
    n = known.size
    draws = np.concatenate(
        [statistic(known[rng.integers(0, n, (rows, n))], axis=-1) for rows in block_rows(resamples, n)]
    )
    tail = (1 - confidence) / 2
    tails = np.array([tail, 1 - tail])
    if method == "bca":
        tails = _bca_tails(tails, draws, value, _leave_one_out(known, statistic))
    low, high = np.quantile(draws, tails)
    return Estimate(value, float(low), float(high), known.size, method)


def cluster_bootstrap(
    values: ArrayLike,
    clusters: ArrayLike,
    statistic: Statistic | None = None,
    *,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """A statistic of values that come in clusters (answers within prompts), whole clusters being resampled.

    The default statistic is the mean over all values, so large clusters weigh more. Any other is called with
    one column at a time. n counts clusters, since they are the independent units. Percentile interval.
    Source: Davison and Hinkley, Bootstrap methods and their application (1997), section 3.8.
    """
    column = np.asarray(values, dtype=np.float64)
    labels = np.asarray(clusters)
    if column.ndim != 1 or column.shape != labels.shape:
        raise ValueError(f"values {column.shape} and clusters {labels.shape} must be columns of equal length")
    known = ~np.isnan(column)
    column = column[known]
    _, cluster, sizes = np.unique(labels[known], return_inverse=True, return_counts=True)
    n = sizes.size
    method = "cluster bootstrap"
    if n == 0:
        return Estimate(None, None, None, 0, method, "no value is known")
    value = float(column.mean() if statistic is None else statistic(column))
    if n == 1:
        return Estimate(value, None, None, 1, method, "one cluster shows no spread")
    rng = np.random.default_rng(seed)
    if statistic is None:
        totals = sum_by(cluster, column)
        draws = np.concatenate(
            [
                _mean_of_clusters(rng.integers(0, n, (rows, n)), totals, sizes)
                for rows in block_rows(resamples, n)
            ]
        )
    else:
        members = np.split(column[np.argsort(cluster, kind="stable")], np.cumsum(sizes)[:-1])
        draws = np.array(
            [
                float(statistic(np.concatenate([members[i] for i in rng.integers(0, n, n)])))
                for _ in range(resamples)
            ]
        )
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), n, method)


def known_values(values: ArrayLike) -> Array:
    """The column without its NaN; infinite values are refused."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"one column is needed, not shape {column.shape}")
    if np.isinf(column).any():
        raise ValueError("an infinite value has no mean or interval")
    return column[~np.isnan(column)]


def block_rows(rows: int, width: int) -> Iterator[int]:
    """Sizes of the blocks in which `rows` rows of `width` cells are worked off within BLOCK_CELLS."""
    most = max(1, BLOCK_CELLS // max(1, width))
    while rows > 0:
        yield min(rows, most)
        rows -= most


def _mean_of_clusters(draw: NDArray[np.int64], totals: Array, sizes: NDArray[np.int64]) -> Array:
    return np.asarray(totals[draw].sum(axis=1) / sizes[draw].sum(axis=1), dtype=np.float64)


def _leave_one_out(values: Array, statistic: Statistic) -> Array:
    n = values.size
    if statistic is np.mean:
        return np.asarray((values.sum() - values) / (n - 1), dtype=np.float64)
    others = np.arange(n - 1)
    start, blocks = 0, []
    for rows in block_rows(n, n):
        left_out = np.arange(start, start + rows)[:, None]
        blocks.append(np.asarray(statistic(values[others + (others >= left_out)], axis=-1), dtype=np.float64))
        start += rows
    return np.concatenate(blocks)


def _bca_tails(tails: Array, draws: Array, value: float, jackknife: Array) -> Array:
    from scipy.special import ndtr, ndtri

    # Draws equal to the value count half: with few distinct values the median bias would be overstated.
    below = (np.sum(draws < value) + 0.5 * np.sum(draws == value)) / draws.size
    if below in (0.0, 1.0):
        return tails
    shift = ndtri(below)
    deviation = jackknife.mean() - jackknife
    spread = np.sum(deviation**2) ** 1.5
    acceleration = np.sum(deviation**3) / (6 * spread) if spread > 0 else 0.0
    z = shift + ndtri(tails)
    return np.asarray(ndtr(shift + z / (1 - acceleration * z)), dtype=np.float64)
