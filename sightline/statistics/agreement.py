"""Do annotators agree beyond chance? Cohen's and Fleiss' kappa, Krippendorff's alpha.

n counts the items judged at least twice. There is no interval where the judgements do not show how sure a
coefficient is: a perfect agreement, for example, has no spread to estimate an error from. Of two labels the
rarer must have been given to ten items or more (Cohen's kappa: 15): with fewer, intervals cover as little as
.23 in simulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate
from sightline.statistics.agreement_intervals import alpha_bootstrap, jackknife_interval, kappa_interval
from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


LEAST_RARE = 10
"""So many items must have the rarer of two labels for an interval."""
LEAST_RARE_OF_TWO = 15
"""The same for Cohen's kappa, whose error holds for large samples."""

# Resamples behind the interval of alpha by default, and the seed they are drawn with.
RESAMPLES = 1000
SEED = 0


def cohen_kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    weights: Literal["linear", "quadratic"] | None = None,
    scale: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two annotators over the items that both judged (NaN = not judged).

    1 - sum(w O) / sum(w E), w = 1 off the diagonal, |i-j| or (i-j)^2 between the i-th and j-th value of the
    scale; the scale is the set of values seen unless given. Limits by the asymptotic standard error.
    Source: J. Cohen, Educational and Psychological Measurement 20 (1960); Psychological Bulletin 70 (1968);
    Fleiss, Cohen and Everitt, Psychological Bulletin 72 (1969).
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"two columns of equal length are needed, not {first.shape} and {second.shape}")
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    if first.size == 0:
        return Estimate(None, n=0, reason="no item was judged by both")
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
        return Estimate(None, n=first.size, reason="both gave one and the same value to every item")
    value = 1 - float((weight * observed).sum()) / chance
    if seen.size == 2:
        rare = min(int(np.sum((first == each) | (second == each))) for each in seen)
        if rare < LEAST_RARE_OF_TWO:
            return _too_rare(value, rare, first.size, LEAST_RARE_OF_TWO)
    low, high = kappa_interval(observed.astype(np.float64), weight, confidence)
    return Estimate(value, low, high, first.size)


def fleiss_kappa(
    items: ArrayLike, values: ArrayLike, *, n: ArrayLike | None = None, confidence: float = 0.95
) -> Estimate:
    """Fleiss' kappa of votes in columns: item, category, and how many such votes (1 each unless given).

    (P - Pe) / (1 - Pe), P the mean over items of the proportion of agreeing pairs of votes, Pe the sum of
    squared proportions of categories. Items may have different numbers of votes; those with one are ignored.
    Limits by the jackknife over items, kappa +- t(items-1) SE: the published error holds for equal numbers of
    votes only.
    Source: J. L. Fleiss, Psychological Bulletin 76 (1971); B. Efron, The jackknife, the bootstrap and other
    resampling plans (1982), chapter 3.
    """
    table = _count(items, values, n)
    if table is None:
        return Estimate(None, n=0, reason="no item has two votes")
    same = _per_item(table, table.votes * (table.votes - 1)) / (table.per_item * (table.per_item - 1))
    shares = sum_by(table.value, table.votes) / table.votes.sum()
    chance = float((shares**2).sum())
    if table.scale.size == 1:
        return Estimate(None, n=table.per_item.size, reason="all votes are equal")
    value = (float(same.mean()) - chance) / (1 - chance)
    if table.rare < LEAST_RARE:
        return _too_rare(value, table.rare, table.per_item.size)
    low, high = jackknife_interval(value, _fleiss_without_each(table, same), confidence)
    return Estimate(value, low, high, table.per_item.size)


def krippendorff_alpha(
    items: ArrayLike,
    values: ArrayLike,
    *,
    n: ArrayLike | None = None,
    scale: Literal["nominal", "ordinal", "interval"] = "nominal",
    sides: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha of votes in columns: item, value, and how many such votes (1 each unless given).

    1 - Do / De with Do = sum over items of the squared differences of its pairs / (votes of the item - 1),
    De the same over all votes at once. A missing vote is a missing row; items with one vote are left out.
    Nominal differences are 0 or 1; ordinal ones are interval ones of mid-ranks, which equals the published
    sum of category counts between two values; so no coincidence matrix is built. Limits by the bootstrap over
    items, `resamples` times with `seed`; 0 resamples give none. With `sides`, values are choices between two
    sides, 0 to 1, and either might have come first: every item counts both ways round, so that alpha does not
    depend on which did.
    Source: K. Krippendorff, Content analysis, 3rd edition (2013), chapter 12.
    """
    if sides:
        number = 2 * np.unique(np.asarray(items), return_inverse=True)[1].reshape(-1)
        given = np.asarray(values, dtype=np.float64)
        items, values = np.append(number, number + 1), np.append(given, 1 - given)
        n = None if n is None else np.tile(np.asarray(n), 2)
    table = _count(items, values, n)
    if table is None:
        return Estimate(None, n=0, reason="no item has two votes")
    if table.scale.size == 1:
        return Estimate(None, n=table.per_item.size, reason="all votes are equal")
    ways = 2 if sides else 1
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
    value = float(1 - (differing / (table.per_item - 1)).sum() * (total - 1) / overall)
    if table.rare < LEAST_RARE:
        return _too_rare(value, table.rare, table.per_item.size // ways)
    low, high = alpha_bootstrap(
        table.item, table.value, table.votes, table.scale, scale, value, resamples, seed, confidence,
        ways=ways,
    )  # fmt: skip
    return Estimate(value, low, high, table.per_item.size // ways)


def _too_rare(value: float, rare: int, n: int, wanted: int = LEAST_RARE) -> Estimate:
    items = "1 item has" if rare == 1 else f"{rare} items have"
    return Estimate(value, n=n, reason=f"{items} the rarer of the two labels; an interval needs {wanted}")


def _fleiss_without_each(table: _Counts, same: Array) -> Array:
    """Fleiss' kappa without each item in turn, NaN where the rest are all of one value."""
    items, total = table.per_item.size, table.votes.sum()
    of_value = sum_by(table.value, table.votes)
    if items == 1:
        return np.array([np.nan])
    # The squares of (all - own) counts, from those of all: only an item's own cells change them.
    change = _per_item(table, table.votes**2 - 2 * table.votes * of_value[table.value])
    chance = ((of_value**2).sum() + change) / (total - table.per_item) ** 2
    agreeing = (same.sum() - same) / (items - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (agreeing - chance) / (1 - chance)
    return np.where(chance < 1 - 1e-12, without, np.nan)


@dataclass(frozen=True)
class _Counts:
    """Votes by (item, value) for items with two votes or more, both renumbered from 0."""

    item: Indices
    value: Indices
    votes: Array
    per_item: Array
    scale: Array

    @property
    def rare(self) -> int:
        """Items with a vote for the rarer of two values; enough where there are more values."""
        return int(np.bincount(self.value).min()) if self.scale.size == 2 else LEAST_RARE


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
