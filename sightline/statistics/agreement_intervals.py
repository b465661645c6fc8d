"""Confidence intervals of agreement: the error of kappa, the jackknife, and the bootstrap of alpha."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.intervals import block_rows
from sightline.statistics.leave_one_out import jackknife_error

Limits = tuple[float | None, float | None]

UNKNOWN: Limits = (None, None)
# More items than this are resampled in bundles: the interval hardly changes, and the work stays bounded.
MOST_UNITS = 10_000


def kappa_interval(observed: Array, disagreement: Array, confidence: float) -> Limits:
    """Limits of Cohen's kappa, plain or weighted, from the table of both annotators' values.

    kappa +- z SE with, for agreement weights w = 1 - disagreement / its maximum and proportions p,
    SE^2 = {sum p_ij [w_ij (1-pe) - (w_i. + w_.j)(1-po)]^2 - (po pe - 2 pe + po)^2} / (n (1-pe)^4).
    Source: Fleiss, Cohen and Everitt, Large sample standard errors of kappa and weighted kappa,
    Psychological Bulletin 72 (1969).
    """
    from scipy.special import ndtri

    n = observed.sum()
    cells, weight = observed / n, 1 - disagreement / disagreement.max()
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    agreed, chance = float((weight * cells).sum()), float(rows @ weight @ columns)
    of_margins = (weight @ columns)[:, None] + (rows @ weight)[None, :]
    spread = (cells * (weight * (1 - chance) - of_margins * (1 - agreed)) ** 2).sum()
    variance = (spread - (agreed * chance - 2 * chance + agreed) ** 2) / (n * (1 - chance) ** 4)
    # Rounding leaves about 1e-17 where the error is 0, as in a perfect agreement.
    if variance * n <= 1e-12:
        return UNKNOWN
    half = float(ndtri((1 + confidence) / 2) * np.sqrt(variance))
    kappa = (agreed - chance) / (1 - chance)
    return max(-1.0, kappa - half), min(1.0, kappa + half)


def jackknife_interval(value: float, without: Array, confidence: float) -> Limits:
    """value +- t(n-1) SE, SE^2 = (n-1)/n times the squared deviations of the values without each item.

    None where a value without an item is not defined, or where leaving any out changes nothing.
    Source: B. Efron, The jackknife, the bootstrap and other resampling plans (1982), chapter 3.
    """
    from scipy.special import stdtrit

    n = without.size
    if n < 2 or np.isnan(without).any():
        return UNKNOWN
    error = jackknife_error(without)
    if error <= 1e-12:
        return UNKNOWN
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return max(-1.0, value - half), min(1.0, value + half)


def alpha_bootstrap(
    item: Indices,
    value: Indices,
    votes: Array,
    scale_values: Array,
    scale: str,
    alpha: float,
    resamples: int,
    seed: int,
    confidence: float,
    ways: int = 1,
) -> Limits:
    """Limits of Krippendorff's alpha: expanded percentiles over items drawn with replacement.

    Cells of (item, value) hold numbers of votes; items and values are numbered from 0, cells ordered by item
    and value. Expected disagreement and, on an ordinal scale, the ranks are those of each resample. Beyond
    MOST_UNITS items, bundles of items put together at random are drawn instead of single ones. The tails are
    Phi(-sqrt(n/(n-1)) t(n-1)) instead of .025: plain percentiles are too narrow for few items. With
    several `ways`, so many items in a row are one and are drawn together.
    Source: T. Hesterberg, What teachers should know about the bootstrap, American Statistician 69 (2015).
    """
    from scipy.special import ndtr, stdtrit

    items = (int(item[-1]) + 1) // ways
    if resamples < 1 or items < 2:
        return UNKNOWN
    rng = np.random.default_rng(seed)
    units = min(items, MOST_UNITS)
    unit = np.repeat(rng.permutation(items) % units if items > units else np.arange(items), ways)
    of_scale = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[scale]
    width, alphas_of = of_scale(item, value, votes, scale_values, unit, units)
    draws = []
    for rows in block_rows(resamples, width):
        drawn = rng.integers(0, units, (units, rows)) * rows + np.arange(rows)
        times = np.bincount(drawn.ravel(), minlength=units * rows).reshape(units, rows)
        draws.append(alphas_of(times.astype(np.float64)))
    known = np.concatenate(draws)
    known = known[~np.isnan(known)]
    if known.size <= resamples // 2:
        return UNKNOWN
    tail = float(ndtr(-np.sqrt(units / (units - 1)) * stdtrit(units - 1, (1 + confidence) / 2)))
    low, high = (float(limit) for limit in np.quantile(known, [tail, 1 - tail]))
    if high - low <= 1e-12:
        return UNKNOWN
    return min(low, alpha), max(high, alpha)


Resampled = tuple[int, Callable[[Array], Array]]


def _nominal(
    item: Indices, value: Indices, votes: Array, scale_values: Array, unit: Indices, units: int
) -> Resampled:
    per_item = sum_by(item, votes)
    differing = (per_item**2 - sum_by(item, votes**2)) / (per_item - 1)
    observed = sum_by(unit, differing, units)
    counts = _sparse(votes, value, unit[item], scale_values.size, units)

    def alphas(times: Array) -> Array:
        of_value = counts @ times
        total = of_value.sum(axis=0)
        return _alpha(observed @ times, total, total**2 - (of_value**2).sum(axis=0))

    return max(units, scale_values.size), alphas


def _interval(
    item: Indices, value: Indices, votes: Array, scale_values: Array, unit: Indices, units: int
) -> Resampled:
    at = ((scale_values - scale_values.mean()) / np.ptp(scale_values))[value]
    per_item, sums, squares = (sum_by(item, what) for what in (votes, votes * at, votes * at**2))
    differing = (per_item * squares - sums**2) / (per_item - 1)
    parts = np.stack([sum_by(unit, what, units) for what in (differing, per_item, sums, squares)])

    def alphas(times: Array) -> Array:
        observed, total, sums, squares = parts @ times
        return _alpha(observed, total, total * squares - sums**2)

    return units, alphas


def _ordinal(
    item: Indices, value: Indices, votes: Array, scale_values: Array, unit: Indices, units: int
) -> Resampled:
    size = scale_values.size
    counts = _sparse(votes, value, unit[item], size, units)
    first, second = _pairs_of_cells(item)
    weight = votes[first] * votes[second] / (sum_by(item, votes) - 1)[item[first]]
    # An ordinal difference depends on the ranks of the resample, so pairs of values are counted separately.
    kinds, kind = np.unique(value[first] * size + value[second], return_inverse=True)
    pairs = _sparse(weight, kind, unit[item[first]], kinds.size, units)

    def alphas(times: Array) -> Array:
        of_value = counts @ times
        total = of_value.sum(axis=0)
        place = np.cumsum(of_value, axis=0) - of_value / 2 - total / 2
        apart = (place[kinds // size] - place[kinds % size]) ** 2
        observed = ((pairs @ times) * apart).sum(axis=0)
        sums, squares = (of_value * place).sum(axis=0), (of_value * place**2).sum(axis=0)
        return _alpha(observed, total, total * squares - sums**2)

    return max(units, size, kinds.size), alphas


def _alpha(observed: Array, total: Array, overall: Array) -> Array:
    """Alpha of each resample; NaN where all its votes are equal."""
    varied = overall > 1e-12 * total**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varied, 1 - observed * (total - 1) / overall, np.nan)


def _pairs_of_cells(item: Indices) -> tuple[Indices, Indices]:
    """Every two cells of the same item, given cells in the order of items."""
    first, second = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for lag in range(1, int(np.bincount(item).max())):
        start = np.flatnonzero(item[:-lag] == item[lag:])
        first.append(start)
        second.append(start + lag)
    return np.concatenate(first), np.concatenate(second)


def _sparse(what: Array, row: Indices, column: Indices, rows: int, columns: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((what, (row, column)), shape=(rows, columns))
