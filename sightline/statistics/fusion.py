"""Rank fusion: several rankings of the same queries into one, from columns.

The columns have equal length: `query`, `engine` and `item` are integers, `score` and `rank` (from 1) those of
the item in that engine's ranking. An engine lists an item at most once per query.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices

Scaling = Literal["minmax", "z"]
SCALINGS = ("minmax", "z")


def rrf(
    query: ArrayLike, item: ArrayLike, rank: ArrayLike, *, k: float = 60
) -> tuple[Indices, Indices, Array]:
    """Reciprocal rank fusion: the sum over engines of 1 / (k + rank), whatever the scores.

    Returns query, item and value in order of query, descending value and item.
    Source: Cormack, Clarke and Buettcher, SIGIR 2009.
    """
    if k < 0:
        raise ValueError(f"k is {k}; it is 0 or more")
    return _fused(query, item, 1 / (k + np.asarray(rank, dtype=np.float64)))[:3]


def comb_sum(
    query: ArrayLike, engine: ArrayLike, item: ArrayLike, score: ArrayLike, *, scaling: Scaling = "minmax"
) -> tuple[Indices, Indices, Array]:
    """CombSUM: the sum over engines of the scaled scores; an engine that does not list an item adds 0.

    Source: Fox and Shaw, TREC-2, 1994.
    """
    return _fused(query, item, scaled(query, engine, score, scaling=scaling))[:3]


def comb_mnz(
    query: ArrayLike, engine: ArrayLike, item: ArrayLike, score: ArrayLike, *, scaling: Scaling = "minmax"
) -> tuple[Indices, Indices, Array]:
    """CombMNZ: CombSUM times the number of engines that list the item. Source: Fox and Shaw, TREC-2, 1994."""
    queries, items, total, lists = _fused(query, item, scaled(query, engine, score, scaling=scaling))
    value = total * lists
    order = np.lexsort((items, -value, queries))
    return queries[order], items[order], value[order]


def scaled(query: ArrayLike, engine: ArrayLike, score: ArrayLike, *, scaling: Scaling = "minmax") -> Array:
    """Scores of each engine and query on a common scale whose 0 is the lowest score of that list.

    minmax: (s - min) / (max - min). z: (s - min) / SD, the z-score shifted so that an item an engine does not
    list counts like its last, not like its average. Equal scores all become 1.
    """
    if scaling not in SCALINGS:
        raise ValueError(f"scaling {scaling!r} is none of {', '.join(SCALINGS)}")
    values = np.asarray(score, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a score is missing or not finite; only rrf works without scores")
    if not values.size:
        return values
    pairs = np.stack([np.asarray(query, dtype=np.int64), np.asarray(engine, dtype=np.int64)])
    _, group = np.unique(pairs, axis=1, return_inverse=True)
    group = group.ravel()
    count = np.bincount(group)
    low, high = np.full(count.size, np.inf), np.full(count.size, -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    above = values - low[group]
    if scaling == "minmax":
        spread = high - low
    else:
        mean = np.bincount(group, above) / count
        spread = np.sqrt(np.bincount(group, (above - mean[group]) ** 2) / count)
    flat = high == low
    return np.where(flat[group], 1.0, above / np.where(flat, 1.0, spread)[group])


def _fused(query: ArrayLike, item: ArrayLike, part: Array) -> tuple[Indices, Indices, Array, Indices]:
    """The sum of the parts of each query and item, best first within a query, ties by item."""
    pairs = np.stack([np.asarray(query, dtype=np.int64), np.asarray(item, dtype=np.int64)])
    if pairs.shape[1] != part.size:
        raise ValueError("the columns are of different lengths")
    if not part.size:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, part, empty
    unique, group = np.unique(pairs, axis=1, return_inverse=True)
    # Added in order of size, so that the sum does not depend on the order of the rows.
    order = np.lexsort((part, group.ravel()))
    value = np.bincount(group.ravel()[order], part[order]).astype(np.float64)
    lists = np.bincount(group.ravel()).astype(np.int64)
    best = np.lexsort((unique[1], -value, unique[0]))
    return unique[0][best], unique[1][best], value[best], lists[best]
