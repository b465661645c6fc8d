"""Pairs of nearly equal hashes among very many, without comparing all with all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import UsageError
from sightline.statistics.grouping import Indices

BITS = 64
Hashes = NDArray[np.uint64]


def near_pairs(hashes: ArrayLike, *, within: int) -> Iterator[tuple[Indices, Indices, Indices]]:
    """Every pair of 64-bit hashes that differ in at most `within` bits, each once, in batches.

    A batch is three columns: the indices of both hashes, and the number of bits in which they differ. The
    bits are divided into within + 1 bands; two hashes that differ in `within` bits at most agree in a whole
    band (pigeonhole), so only hashes that share one are compared (Norouzi et al. 2012, multi-index hashing).
    Memory grows with the number of hashes, never with the number of pairs; where most hashes are alike, time
    grows with the number of pairs.
    """
    if not 0 <= within < BITS:
        raise UsageError(f"hashes of {BITS} bits cannot be compared within {within}")
    column: Hashes = np.ascontiguousarray(hashes, dtype=np.uint64)
    masks = _bands(within + 1)
    for number, mask in enumerate(masks):
        key = column & mask
        order = np.argsort(key, kind="stable")
        yield from _in_band(column[order], key[order], order.astype(np.int64), masks[:number], within)


def _in_band(
    column: Hashes, key: Hashes, order: Indices, earlier: list[np.uint64], within: int
) -> Iterator[tuple[Indices, Indices, Indices]]:
    """Compare each hash with the next one of its band, then with the one after it, until the bands end."""
    ends = np.searchsorted(key, key, side="right")
    begin = np.arange(len(key))
    ahead = 1
    while True:
        begin = begin[begin + ahead < ends[begin]]
        if not len(begin):
            return
        differing = column[begin] ^ column[begin + ahead]
        bits = np.bitwise_count(differing)
        near = np.flatnonzero(bits <= within)
        # A pair that also shares an earlier band was yielded there.
        for mask in earlier:
            near = near[(differing[near] & mask) != 0]
        if len(near):
            a, b = order[begin[near]], order[begin[near] + ahead]
            yield np.minimum(a, b), np.maximum(a, b), bits[near].astype(np.int64)
        ahead += 1


def _bands(count: int) -> list[np.uint64]:
    borders = [BITS * number // count for number in range(count + 1)]
    return [np.uint64(((1 << end) - 1) ^ ((1 << begin) - 1)) for begin, end in pairwise(borders)]
