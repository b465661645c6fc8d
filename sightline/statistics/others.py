"""Each vote compared with those of everybody else on the same item."""

from __future__ import annotations

import numpy as np

from sightline.statistics.grouping import Array, Indices, sum_by


def mean_of_others(item: Indices, annotator: Indices, value: Array, n: Array) -> Array:
    """For each vote the mean of the votes that others cast on its item, NaN where nobody else did.

    All votes of the annotator on the item are excluded, repetitions included. Anonymous votes (annotator -1)
    count as others for everybody, and each row of them excludes only itself.
    """
    if item.size == 0:
        return np.zeros(0)
    # Every anonymous row counts as a person of its own.
    nobody = int(annotator.max()) + 1 + np.arange(item.size)
    person = np.where(annotator >= 0, annotator, nobody)
    _, own = np.unique(person * (int(item.max()) + 1) + item, return_inverse=True)
    others = sum_by(item, n)[item] - sum_by(own, n)[own]
    # Centred first: the difference of two large sums would lose the small digits.
    centre = float(value.mean())
    total = sum_by(item, n * (value - centre))[item] - sum_by(own, n * (value - centre))[own]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(others > 0, centre + total / others, np.nan)


def majority_of_others(item: Indices, value: Array, n: Array) -> Array:
    """For each vote the value that most of the other votes on its item have; NaN where none, or at a tie.

    Rows are votes of different people, or n anonymous ones; each excludes itself.
    """
    if item.size == 0:
        return np.zeros(0)
    scale, place = np.unique(value, return_inverse=True)
    cells, own = np.unique(item * scale.size + place, return_inverse=True)
    cast = sum_by(own, n)
    of_item = np.bincount(cells // scale.size, minlength=int(item.max()) + 1)
    start = np.cumsum(of_item) - of_item
    # Every vote meets every value given to its item, and is subtracted from the count of its own value.
    width = of_item[item]
    begin = np.cumsum(width) - width
    row = np.repeat(np.arange(item.size), width)
    cell = start[item][row] + np.arange(row.size) - begin[row]
    left = cast[cell] - n[row] * (cell == own[row])
    most = np.maximum.reduceat(left, begin)
    top = (left == most[row]) & (left > 0)
    winners = sum_by(row, top, item.size)
    result = np.full(item.size, np.nan)
    chosen = top & (winners[row] == 1)
    result[row[chosen]] = scale[(cells % scale.size)[cell[chosen]]]
    return result
