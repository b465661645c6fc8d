"""Columns by group: sums, and the offsets that say which rows belong to which query."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def sum_by(group: Indices, what: NDArray[np.bool_] | Array, groups: int = 0) -> Array:
    """The sum of `what` over the rows of each group 0 to groups-1, at least to the highest seen."""
    return np.asarray(np.bincount(group, weights=what, minlength=groups), dtype=np.float64)


def checked_offsets(offsets: ArrayLike, rows: int) -> Indices:
    """Offsets by which query q owns rows offsets[q] to offsets[q+1], or a ValueError."""
    starts = np.asarray(offsets, dtype=np.int64)
    if starts.ndim != 1 or not starts.size:
        raise ValueError("offsets must be a column with one entry more than there are queries")
    if starts[0] != 0 or starts[-1] != rows or np.any(np.diff(starts) < 0):
        raise ValueError(f"offsets must rise from 0 to {rows}, the number of rows")
    return starts


def first_ranks(offsets: ArrayLike, rows: int, k: int | None) -> tuple[Indices, Indices, Indices, int]:
    """The rows within the first k ranks (None: all), their query, their rank from 0, and how many queries."""
    starts = checked_offsets(offsets, rows)
    query = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    rank = np.arange(rows) - starts[query]
    row = np.flatnonzero(rank < (rows if k is None else checked_cutoff(k)))
    return row, query[row], rank[row], starts.size - 1


def checked_cutoff(k: int) -> int:
    """A cut-off of rankings, or a ValueError."""
    if k < 1:
        raise ValueError(f"k is {k}; it counts ranks from 1")
    return k
