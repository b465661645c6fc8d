"""What precision and reciprocal rank are to be expected where relevance is only probable.

A run is `probability`, how probably the image at each place is relevant, in order of query and rank, and
`offsets`, where query q owns rows offsets[q] to offsets[q+1]. Images are relevant independently.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def expected_precision(probability: ArrayLike, offsets: ArrayLike, *, k: int = 10) -> Array:
    """Expected share of the first k places that hold a relevant image: sum of p over them / k.

    Expectation is linear, so that this holds whether or not images are relevant independently. A place past
    the end of a short ranking holds nothing, as in precision itself.
    """
    p, query, rank, queries = _columns(probability, offsets, k)
    first = rank < k
    return sum_by(query[first], p[first], queries) / k


def expected_reciprocal_rank(probability: ArrayLike, offsets: ArrayLike, *, k: int | None = None) -> Array:
    """Expected 1 / rank of the first relevant image: sum over places r of (1/r) p_r prod_{s<r} (1 - p_s).

    The product is the chance that none stands further up. Places past `k`, and a ranking without any relevant
    image, add 0. The same sum with p = (2^grade - 1) / 2^(highest grade) is the expected reciprocal rank of
    Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009.
    """
    p, query, rank, queries = _columns(probability, offsets, 1 if k is None else k)
    if k is not None:
        first = rank < k
        p, query, rank = p[first], query[first], rank[first]
    return sum_by(query, p * _none_before(p, rank) / (rank + 1), queries)


def _none_before(p: Array, rank: Indices) -> Array:
    """The product of 1 - p over the places above each, place by place of all rankings at once."""
    before = np.ones(len(p))
    order = np.argsort(rank, kind="stable")
    starts = np.searchsorted(rank[order], np.arange(int(rank.max(initial=-1)) + 2))
    for place in range(1, len(starts) - 1):
        here = order[starts[place] : starts[place + 1]]
        # The places of a ranking are neighbours: the one above stands in the row before.
        before[here] = before[here - 1] * (1 - p[here - 1])
    return before


def _columns(probability: ArrayLike, offsets: ArrayLike, k: int) -> tuple[Array, Indices, Indices, int]:
    p = np.asarray(probability, dtype=np.float64)
    starts = np.asarray(offsets, dtype=np.int64)
    if k < 1:
        raise ValueError(f"k is {k}; it counts places from 1")
    if (
        p.ndim != 1
        or not len(starts)
        or starts[0] != 0
        or starts[-1] != len(p)
        or (np.diff(starts) < 0).any()
    ):
        raise ValueError(f"offsets must rise from 0 to {p.size}, the number of answers")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("a probability lies from 0 to 1")
    lengths = np.diff(starts)
    query = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(len(p)) - np.repeat(starts[:-1], lengths)
    return p, query, rank, len(lengths)
