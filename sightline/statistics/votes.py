"""Votes as columns, validated once: the input of every consensus rule.

The columns are `item` (index from 0), `value` (NaN = skipped), `n`, the number of votes that a row stands for
(1 by default), and where it matters `annotator` (index from 0, -1 = anonymous).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import Array, Indices, sum_by

Flags = NDArray[np.bool_]
CATEGORIES = ("fully_relevant", "majority_relevant", "unsure", "majority_irrelevant", "fully_irrelevant")
"""How far the votes on one item agree."""


@dataclass(frozen=True)
class Cast:
    """The votes that were cast, without skipped ones; `row` is the index in the given columns."""

    row: Indices
    item: Indices
    value: Array
    weight: Array
    n: Array

    @property
    def items(self) -> int:
        return self.n.size

    @property
    def counted(self) -> Indices:
        return self.n.astype(np.int64)

    def total(self, what: Flags | Array) -> Array:
        """The sum over the votes of each item."""
        return sum_by(self.item, self.weight * what, self.items)

    def only(self, which: Flags | Indices) -> Cast:
        """Some of the votes."""
        item, weight = self.item[which], self.weight[which]
        return Cast(self.row[which], item, self.value[which], weight, sum_by(item, weight, self.items))


def cast_votes(
    item: ArrayLike, value: ArrayLike, n: ArrayLike | None = None, items: int | None = None
) -> Cast:
    """The columns, validated, without skipped votes."""
    values = np.asarray(value, dtype=np.float64)
    index = np.asarray(item, dtype=np.int64)
    weight = np.ones(values.shape) if n is None else np.asarray(n, dtype=np.float64)
    if values.ndim != 1 or values.shape != index.shape or values.shape != weight.shape:
        raise ValueError("item, value and n must be columns of equal length")
    size = int(index.max(initial=-1)) + 1 if items is None else items
    if np.any((index < 0) | (index >= size)):
        raise ValueError(f"item indices must lie within 0 and {size - 1}")
    if np.isinf(values).any() or np.any(weight < 0) or not np.isfinite(weight).all():
        raise ValueError("values must not be infinite, numbers of votes not negative")
    row = np.flatnonzero(~np.isnan(values) & (weight > 0))
    per_item = sum_by(index[row], weight[row], size)
    return Cast(row, index[row], values[row], weight[row], per_item)


def who_cast(
    votes: Cast, annotator: ArrayLike, shape: tuple[int, ...], annotators: int | None
) -> tuple[Indices, int]:
    """Who cast each vote, and the number of annotators, which is also the index of anonymous votes."""
    asked = np.asarray(annotator, dtype=np.int64)
    if asked.shape != shape or np.any(asked < -1):
        raise ValueError("annotator must be a column as long as value, of indices from 0 or -1 for anonymous")
    people = int(asked.max(initial=-1)) + 1 if annotators is None else annotators
    if np.any(asked >= people):
        raise ValueError(f"annotator indices must lie below {people}")
    return np.where(asked < 0, people, asked)[votes.row], people


def agreement_categories(relevant: ArrayLike, irrelevant: ArrayLike, unsure: ArrayLike) -> Indices:
    """The index in CATEGORIES of each item, by its numbers of votes; -1 where there is none.

    "fully" where all votes agree, "majority" where more than half of all votes do, else "unsure". Source: our
    rule; the proportions that ConQA prints fit no rule tried.
    """
    yes, no, open_ = (np.asarray(column, dtype=np.float64) for column in (relevant, irrelevant, unsure))
    total = yes + no + open_
    category = np.full(total.shape, CATEGORIES.index("unsure"), dtype=np.int64)
    for name, count in (("relevant", yes), ("irrelevant", no)):
        category[2 * count > total] = CATEGORIES.index(f"majority_{name}")
        category[count == total] = CATEGORIES.index(f"fully_{name}")
    category[total == 0] = -1
    return category


def over(sums: Array, counts: Array | Indices) -> Array:
    """Sums divided by counts, NaN where the count is 0."""
    ratio = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=ratio, where=counts > 0)
    return ratio
