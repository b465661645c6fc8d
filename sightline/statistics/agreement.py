"""Do annotators agree beyond chance? Cohen's and Fleiss' kappa, Krippendorff's alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Agreement:
    """A coefficient over n items judged at least twice, or the reason why there is none."""

    value: float | None
    n: int
    reason: str | None = None


def cohen_kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    weights: Literal["linear", "quadratic"] | None = None,
    scale: ArrayLike | None = None,
) -> Agreement:
    """Cohen's kappa of two annotators over the items that both judged (NaN = not judged).

    1 - sum(w O) / sum(w E), w = 1 off the diagonal, |i-j| or (i-j)^2 between the i-th and j-th value of the
    scale; the scale is the set of values seen unless given.
    Source: J. Cohen, Educational and Psychological Measurement 20 (1960); Psychological Bulletin 70 (1968).
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"two columns of equal length are needed, not {first.shape} and {second.shape}")
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    if first.size == 0:
        return Agreement(None, 0, "no item was judged by both")
    seen = np.unique(np.concatenate([first, second]))
    values = seen if scale is None else np.unique(np.asarray(scale, dtype=np.float64))
    if not np.isin(seen, values).all():
        raise ValueError(f"values outside the scale: {seen[~np.isin(seen, values)].tolist()}")
    size = values.size
    cell = np.searchsorted(values, first) * size + np.searchsorted(values, second)
    observed = np.bincount(cell, minlength=size * size).reshape(size, size)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / first.size
    weight = _disagreement(size, weights)
    chance = float((weight * expected).sum())
    if chance == 0:
        return Agreement(None, first.size, "both gave one and the same value to every item")
    return Agreement(1 - float((weight * observed).sum()) / chance, first.size)


def fleiss_kappa(items: ArrayLike, values: ArrayLike, *, n: ArrayLike | None = None) -> Agreement:
    """Fleiss' kappa of votes in columns: item, category, and how many such votes (1 each unless given).

    (P - Pe) / (1 - Pe), P the mean over items of the share of agreeing pairs of votes, Pe the sum of squared
    category shares. Items may have different numbers of votes; those with one are left out.
    Source: J. L. Fleiss, Psychological Bulletin 76 (1971).
    """
    table = _count(items, values, n)
    if table is None:
        return Agreement(None, 0, "no item has two votes")
    same = _per_item(table, table.votes * (table.votes - 1)) / (table.per_item * (table.per_item - 1))
    shares = sum_by(table.value, table.votes) / table.votes.sum()
    chance = float((shares**2).sum())
    if table.scale.size == 1:
        return Agreement(None, table.per_item.size, "all votes are equal")
    return Agreement((float(same.mean()) - chance) / (1 - chance), table.per_item.size)


def krippendorff_alpha(
    items: ArrayLike,
    values: ArrayLike,
    *,
    n: ArrayLike | None = None,
    scale: Literal["nominal", "ordinal", "interval"] = "nominal",
) -> Agreement:
    """Krippendorff's alpha of votes in columns: item, value, and how many such votes (1 each unless given).

    1 - Do / De with Do = sum over items of the squared differences of its pairs / (votes of the item - 1),
    De the same over all votes at once. A missing vote is a missing row; items with one vote are left out.
    Nominal differences are 0 or 1; ordinal ones are interval ones of mid-ranks, which equals the published
    sum of category counts between two values; so no coincidence matrix is built.
    Source: K. Krippendorff, Content analysis, 3rd edition (2013), chapter 12.
    """
    table = _count(items, values, n)
    if table is None:
        return Agreement(None, 0, "no item has two votes")
    if table.scale.size == 1:
        return Agreement(None, table.per_item.size, "all votes are equal")
    total = table.votes.sum()
    of_value = sum_by(table.value, table.votes)
    if scale == "nominal":
        differing = table.per_item**2 - _per_item(table, table.votes**2)
        overall = total**2 - (of_value**2).sum()
    else:
        place = table.scale if scale == "interval" else np.cumsum(of_value) - of_value / 2
        # Centring keeps the difference of two large sums precise.
        place = place - (of_value * place).sum() / total
        at = place[table.value]
        sums, squares = _per_item(table, table.votes * at), _per_item(table, table.votes * at**2)
        differing = table.per_item * squares - sums**2
        overall = total * (of_value * place**2).sum() - (of_value * place).sum() ** 2
    observed = (differing / (table.per_item - 1)).sum()
    return Agreement(float(1 - observed * (total - 1) / overall), table.per_item.size)


@dataclass(frozen=True)
class _Counts:
    """Votes by (item, value) for items with two votes or more, both renumbered from 0."""

    item: Indices
    value: Indices
    votes: Array
    per_item: Array
    scale: Array


def _count(items: ArrayLike, values: ArrayLike, n: ArrayLike | None) -> _Counts | None:
    column = np.asarray(values, dtype=np.float64)
    labels = np.asarray(items)
    votes = np.ones(column.shape) if n is None else np.asarray(n, dtype=np.float64)
    if column.ndim != 1 or column.shape != labels.shape or column.shape != votes.shape:
        raise ValueError("items, values and n must be columns of equal length")
    known = ~np.isnan(column) & (votes > 0)
    if not known.any():
        return None
    _, item = np.unique(labels[known], return_inverse=True)
    enough = (sum_by(item, votes[known]) >= 2)[item]
    if not enough.any():
        return None
    _, item = np.unique(item[enough], return_inverse=True)
    scale, value = np.unique(column[known][enough], return_inverse=True)
    cells, cell = np.unique(item * scale.size + value, return_inverse=True)
    counted = sum_by(cell, votes[known][enough])
    of_item = cells // scale.size
    return _Counts(of_item, cells % scale.size, counted, sum_by(of_item, counted), scale)


def _per_item(table: _Counts, what: Array) -> Array:
    return sum_by(table.item, what)


def _disagreement(size: int, weights: str | None) -> Array:
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    if weights is None:
        return (apart > 0).astype(np.float64)
    if weights == "linear":
        return apart
    if weights == "quadratic":
        return apart**2
    raise ValueError(f"weights {weights!r} is none of linear, quadratic")
