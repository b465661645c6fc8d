"""Statistics without each prompt in turn, for the jackknife, in O(n) or O(n^2) from sums and ranks.

With folds they are those of `within_folds`; without, all prompts are in one.
"""

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


def pearson_without_each(a: Array, b: Array, fold: Indices | None = None) -> Array:
    """Pearson's r without prompt i, for each i; of several folds the mean, weighted by the spread of b."""
    above, below, changed = 0.0, 0.0, np.zeros((2, a.size))
    parts = rows_by_fold(_folds(a, fold))
    size_a, size_b = (max(float(np.abs(column).max()), 1e-300) for column in (a, b))
    for rows in parts:
        n = rows.size
        u, v = (a[rows] - a[rows].mean()) / size_a, (b[rows] - b[rows].mean()) / size_b
        spread = float(np.linalg.norm(v))
        own = np.array([[spread * unit_product(u, v)], [spread]])
        above, below = above + float(own[0, 0]), below + spread
        # Without prompt i, a sum of products about the means is smaller by n/(n-1) of its own product.
        both, of_a, of_b = (x @ y - n / max(1, n - 1) * x * y for x, y in ((u, v), (u, u), (v, v)))
        # Where only prompt i made a column vary, what is left is rounding error.
        varies = (of_a > 1e-12 * (u @ u)) & (of_b > 1e-12 * (v @ v))
        r = _ratio(both, np.where(varies, of_a * of_b, np.nan))
        left = np.sqrt(np.maximum(of_b, 0))
        if len(parts) > 1:
            r, left = np.where(varies, r, 0.0), np.where(of_b > 1e-12 * (v @ v), left, 0.0)
        changed[:, rows] = np.stack([r * left, left]) - own
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip((above + changed[0]) / (below + changed[1]), -1, 1), dtype=np.float64)


def unit_product(u: Array, v: Array) -> float:
    """The cosine of two columns; 0 where either is nothing but rounding."""
    sizes = float(np.linalg.norm(u)) * float(np.linalg.norm(v))
    return 0.0 if sizes <= 1e-13 else float(u @ v) / sizes


def kendall_without_each(a: Array, b: Array, fold: Indices | None = None) -> Array:
    """Kendall's tau-b without prompt i, for each i; over the pairs within folds."""
    agree, tied_a, tied_b, own = (np.empty(a.size) for _ in range(4))
    whole = 0.0
    for rows in rows_by_fold(_folds(a, fold)):
        agree[rows], tied_a[rows], tied_b[rows] = agreeing_pairs(a[rows], b[rows])
        own[rows] = rows.size - 1
        whole += rows.size * (rows.size - 1) / 2
    pairs = whole - own
    untied_a = pairs - (tied_a.sum() / 2 - tied_a)
    untied_b = pairs - (tied_b.sum() / 2 - tied_b)
    return _ratio(agree.sum() / 2 - agree, untied_a * untied_b)


def agreeing_pairs(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """For each prompt: concordant minus discordant pairs with the others, and its ties in either column."""
    n = a.size
    agree, tied_a, tied_b = np.empty(n), np.empty(n), np.empty(n)
    for rows in blocks(n):
        x, y = np.sign(a[rows, None] - a), np.sign(b[rows, None] - b)
        agree[rows] = (x * y).sum(axis=1)
        tied_a[rows] = (x == 0).sum(axis=1) - 1
        tied_b[rows] = (y == 0).sum(axis=1) - 1
    return agree, tied_a, tied_b


def spearman_without_each(a: Array, b: Array, fold: Indices | None = None) -> Array:
    """Spearman's rho without prompt i, for each i: of the mid-ranks among the others of its fold."""

    def products(x: Array, y: Array) -> Array:
        return np.stack([(x * y).sum(axis=1), (x * x).sum(axis=1), (y * y).sum(axis=1)])

    parts = rows_by_fold(_folds(a, fold))
    whole, without = np.zeros((3, 1)), np.zeros((3, a.size))
    for rows in parts:
        x, y = centred_ranks(a[rows])[None], centred_ranks(b[rows])[None]
        # The mean of the ranks 1 to n-1 is n/2; a row's own prompt has a deviation of 0: it does not count.
        moved = _of_ranks_without_each(a[rows], b[rows], products, centre=rows.size / 2)
        whole += products(x, y)
        without[:, rows] = moved / max(1, rows.size - 1) ** 2 - products(x, y)
    both, of_a, of_b = whole + without
    # Where only prompt i made a column vary, what is left is rounding error.
    varies = (of_a > 1e-12 * whole[1]) & (of_b > 1e-12 * whole[2])
    return _ratio(both, np.where(varies, of_a * of_b, np.nan))


def smare_without_each(a: Array, b: Array, fold: Indices | None = None) -> Array:
    """Mean of the scaled rank errors without prompt i, for each i: of mid-ranks among its fold's others."""
    whole, without = 0.0, np.zeros(a.size)
    for rows in rows_by_fold(_folds(a, fold)):
        own = float(np.abs(midranks(a[rows]) - midranks(b[rows])).sum()) / rows.size
        moved = _of_ranks_without_each(a[rows], b[rows], lambda x, y: np.abs(x - y).sum(axis=1)[None])[0]
        whole += own
        without[rows] = moved / max(1, rows.size - 1) - own
    return np.asarray((whole + without) / (a.size - 1), dtype=np.float64)


def centred_ranks(values: Array) -> Array:
    """Mid-ranks as deviations from their mean, divided by how many there are."""
    return (midranks(values) - (values.size + 1) / 2) / values.size


def rows_by_fold(fold: Indices) -> list[Indices]:
    """The rows of each fold."""
    order = np.argsort(fold, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(fold[order])) + 1)


def _folds(a: Array, fold: Indices | None) -> Indices:
    return np.zeros(a.size, dtype=np.int64) if fold is None else fold


def _of_ranks_without_each(
    a: Array, b: Array, statistics: Callable[[Array, Array], Array], centre: float = 0.0
) -> Array:
    """Statistics of the mid-ranks without prompt i, for each i: prompts above it move down by one rank."""
    n = a.size
    ranks = [midranks(a), midranks(b)]
    values = []
    for rows in blocks(n):
        moved = []
        for column, rank in zip((a, b), ranks, strict=True):
            below, level = column[rows, None] < column, column[rows, None] == column
            now = rank - below - 0.5 * level - centre
            now[np.arange(rows.size), rows] = 0.0
            moved.append(now)
        values.append(statistics(moved[0], moved[1]))
    return np.concatenate(values, axis=1)


def rmse_without_each(a: Array, b: Array, fold: Indices | None = None) -> Array:
    """Root of the mean squared error without prompt i, for each i; folds change nothing."""
    squared = (a - b) ** 2
    return np.asarray(np.sqrt(np.maximum(squared.sum() - squared, 0) / (a.size - 1)), dtype=np.float64)


def _ratio(above: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip(above / np.sqrt(np.maximum(below, 0)), -1, 1), dtype=np.float64)


def blocks(n: int) -> list[Indices]:
    """The rows of a square table in blocks that fit into memory."""
    sizes = np.cumsum([0, *block_rows(n, n)])
    return [np.arange(start, end) for start, end in pairwise(sizes)]
