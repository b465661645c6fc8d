"""Statistics without each prompt in turn, for the jackknife, in O(n) or O(n^2) from sums and ranks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from sightline.statistics.correlation import midranks
from sightline.statistics.grouping import Array, Indices
from sightline.statistics.intervals import block_rows


def jackknife_error(without_each: Array) -> float:
    """Jackknife standard error: sqrt((n-1)/n sum (f_i - mean f)^2), f_i the statistic without prompt i."""
    n = without_each.size
    return float(np.sqrt((n - 1) / n * np.sum((without_each - without_each.mean()) ** 2)))


def pearson_without_each(a: Array, b: Array) -> Array:
    """Pearson's r without prompt i, for each i."""
    # Without prompt i, a sum of products about the means is smaller by n/(n-1) of its own product.
    n = a.size
    u, v = a - a.mean(), b - b.mean()
    both, of_a, of_b = (x @ y - n / (n - 1) * x * y for x, y in ((u, v), (u, u), (v, v)))
    # Where only prompt i made a column vary, what is left is rounding error.
    varies = (of_a > 1e-12 * (u @ u)) & (of_b > 1e-12 * (v @ v))
    return _ratio(both, np.where(varies, of_a * of_b, np.nan))


def kendall_without_each(a: Array, b: Array) -> Array:
    """Kendall's tau-b without prompt i, for each i."""
    n = a.size
    agree, tied_a, tied_b = np.empty(n), np.empty(n), np.empty(n)
    for rows in blocks(n):
        x, y = np.sign(a[rows, None] - a), np.sign(b[rows, None] - b)
        agree[rows] = (x * y).sum(axis=1)
        tied_a[rows] = (x == 0).sum(axis=1) - 1
        tied_b[rows] = (y == 0).sum(axis=1) - 1
    pairs = (n - 1) * (n - 2) / 2
    untied_a = pairs - (tied_a.sum() / 2 - tied_a)
    untied_b = pairs - (tied_b.sum() / 2 - tied_b)
    return _ratio(agree.sum() / 2 - agree, untied_a * untied_b)


def spearman_without_each(a: Array, b: Array) -> Array:
    """Spearman's rho without prompt i, for each i: of the mid-ranks among the others."""

    def of(x: Array, y: Array) -> Array:
        return _ratio((x * y).sum(axis=1), (x * x).sum(axis=1) * (y * y).sum(axis=1))

    # The mean of the ranks 1 to n-1 is n/2; a row's own prompt has a deviation of 0, so it does not count.
    return _of_ranks_without_each(a, b, of, centre=a.size / 2)


def smare_without_each(a: Array, b: Array) -> Array:
    """Mean of the scaled rank errors without prompt i, for each i: of the mid-ranks among the others."""
    n = a.size
    return _of_ranks_without_each(a, b, lambda x, y: np.abs(x - y).sum(axis=1) / (n - 1) ** 2)


def _of_ranks_without_each(
    a: Array, b: Array, statistic: Callable[[Array, Array], Array], centre: float = 0.0
) -> Array:
    """A statistic of the mid-ranks without prompt i, for each i: prompts above it move down by one rank."""
    n = a.size
    ranks = [midranks(a), midranks(b)]
    values = np.empty(n)
    for rows in blocks(n):
        moved = []
        for column, rank in zip((a, b), ranks, strict=True):
            below, level = column[rows, None] < column, column[rows, None] == column
            now = rank - below - 0.5 * level - centre
            now[np.arange(rows.size), rows] = 0.0
            moved.append(now)
        values[rows] = statistic(moved[0], moved[1])
    return values


def rmse_without_each(a: Array, b: Array) -> Array:
    """Root of the mean squared error without prompt i, for each i."""
    squared = (a - b) ** 2
    return np.asarray(np.sqrt(np.maximum(squared.sum() - squared, 0) / (a.size - 1)), dtype=np.float64)


def _ratio(above: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip(above / np.sqrt(np.maximum(below, 0)), -1, 1), dtype=np.float64)


def blocks(n: int) -> list[Indices]:
    """The rows of a square table in blocks that fit into memory."""
    sizes = np.cumsum([0, *block_rows(n, n)])
    return [np.arange(start, end) for start, end in pairwise(sizes)]
