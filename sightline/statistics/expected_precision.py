"""Expected precision and reciprocal rank where only probabilities of relevance are known.

A run is `probability`, that the image at each rank is relevant, in order of query and rank, and `offsets`:
query q owns rows offsets[q] to offsets[q+1]. Images are relevant independently of each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices, first_ranks, sum_by


def expected_precision(probability: ArrayLike, offsets: ArrayLike, *, k: int = 10) -> Array:
    """Expected proportion of relevant images among the first k: sum of p over them / k.

    Expectation is linear, so this holds whether or not images are relevant independently. As in precision
    itself, ranks past the end of a short ranking count as not relevant.
    """
    p, query, _, queries = _columns(probability, offsets, k)
    return sum_by(query, p, queries) / k


def expected_reciprocal_rank(probability: ArrayLike, offsets: ArrayLike, *, k: int | None = None) -> Array:
    """Expected 1 / rank of the first relevant image: sum over ranks r of (1/r) p_r prod_{s<r} (1 - p_s).

    The product is the chance that none stands further up. Places past `k`, and a ranking without any relevant
    image, add 0. The same sum with p = (2^grade - 1) / 2^(highest grade) is the expected reciprocal rank of
    Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009.
    """
    p, query, rank, queries = _columns(probability, offsets, k)
    return sum_by(query, p * _none_before(p, rank) / (rank + 1), queries)


def _none_before(p: Array, rank: Indices) -> Array:
    """The product of 1 - p over the ranks above each, rank by rank of all rankings at once."""
    before = np.ones(len(p))
    order = np.argsort(rank, kind="stable")
    starts = np.searchsorted(rank[order], np.arange(int(rank.max(initial=-1)) + 2))
    for place in range(1, len(starts) - 1):
        here = order[starts[place] : starts[place + 1]]
        # The rows of a ranking are neighbours: the rank above is the row before.
        before[here] = before[here - 1] * (1 - p[here - 1])
    return before


def _columns(
    probability: ArrayLike, offsets: ArrayLike, k: int | None
) -> tuple[Array, Indices, Indices, int]:
    """Probability, query and rank (from 0) of the rows within the first k ranks, and how many queries."""
    p = np.asarray(probability, dtype=np.float64)
    row, query, rank, queries = first_ranks(offsets, p.size, k)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("a probability lies from 0 to 1")
    return p[row], query, rank, queries
