"""Exact search: for each query the rows of a matrix with the highest dot products, in bounded memory.

Products are computed in float32 by BLAS, block by block, and compared with the query's k-th best so far, so
that almost all of them are read once and never sorted. The remaining ones are computed again in float64, term
by term, so that the order depends neither on the size of the blocks, nor on the number of threads, nor on the
BLAS: equal rows have equal products, and equal products keep the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.cores import cores
from sightline.errors import DataError, UsageError
from sightline.statistics.grouping import Array, Indices

Single = NDArray[np.float32]

QUERIES = 1024
"""At most this many queries per block: with ROWS a block of products of 4 MB, which fits the cache."""
ROWS = 1024
AGAIN = 2048
"""Rows that are computed again at once: 2,048 x 512 numbers of 8 bytes are 8 MB."""
UNIT = 2.0**-24
"""Half the distance from 1 to the next float32."""


def top_k(
    queries: ArrayLike,
    rows: ArrayLike,
    k: int,
    *,
    threads: int | None = None,
    block: tuple[int, int] | None = None,
) -> tuple[Indices, Array]:
    """The k rows with the highest dot product with each query, best first, ties by the order of the rows.

    Returns indices (-1 past the last row) and products (NaN there), queries x k. `rows` may be memory-mapped.
    Vectors are used as float32. `block` is how many queries and rows are multiplied at once; results do not
    depend on it.
    """
    from threadpoolctl import threadpool_limits

    # A memory map's own class is slow to index; the view below it reads the same file.
    asked, known = np.asarray(_matrix(queries, "queries")), np.asarray(_matrix(rows, "rows"))
    if k < 1:
        raise UsageError(f"k is {k}", remedy="Ask for 1 or more.")
    count = cores() if threads is None else threads
    if count < 1:
        raise UsageError(f"{count} threads", remedy="1 or more.")
    if len(asked) and len(known) and asked.shape[1] != known.shape[1]:
        raise DataError(
            f"queries have {asked.shape[1]} dimensions and rows {known.shape[1]}",
            remedy="Embed both with the same encoder.",
        )
    indices = np.full((len(asked), k), -1, dtype=np.int64)
    scores = np.full((len(asked), k), np.nan)
    if not len(asked) or not len(known):
        return indices, scores
    lengths = _longest(asked, "query", each=True)
    slack = _slack(lengths, float(_longest(known, "row").max()), known.shape[1])
    most = min(k, len(known))
    high, wide = block or (min(QUERIES, ceil(len(asked) / count)), ROWS)

    def search(start: int) -> None:
        part = slice(start, start + high)
        _Block(asked[part], known, slack[part], indices[part, :most], scores[part, :most]).search(wide)

    # Each block with one thread of BLAS, so that selection overlaps with products.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(count) as pool:
        list(pool.map(search, range(0, len(asked), high)))
    return indices, scores


def top_k_owners(queries: ArrayLike, rows: ArrayLike, owner: ArrayLike, k: int) -> tuple[Indices, Array]:
    """The k best owners of rows for each query, an owner as good as its best row; ties by owner.

    `owner` numbers the owner of each row and does not fall. The best rows give owners in the right order;
    where they give fewer than k, twice as many rows are searched.
    """
    asked, numbers = np.asarray(queries), np.asarray(owner, dtype=np.int64)
    if np.any(np.diff(numbers) < 0):
        raise ValueError("rows must be ordered by their owners")
    indices = np.full((len(asked), max(k, 0)), -1, dtype=np.int64)
    scores = np.full(indices.shape, np.nan)
    left = np.arange(len(asked))
    owners = min(k, len(np.unique(numbers)))
    wide = 2 * k
    while left.size and owners:
        wide = min(wide, len(numbers))
        unfinished = []
        # A part at a time: where one owner has very many rows, the lists get long.
        for start in range(0, left.size, size := max(1, 4_000_000 // wide)):
            part = left[start : start + size]
            best, values = top_k(asked[part], rows, wide)
            for query, row, value in zip(part, numbers[best], values, strict=True):
                first = np.sort(np.unique(row, return_index=True)[1])[:k]
                if len(first) < owners:
                    unfinished.append(query)
                    continue
                indices[query, : len(first)], scores[query, : len(first)] = row[first], value[first]
        left, wide = np.array(unfinished, dtype=np.int64), 2 * wide
    return indices, scores


def top_k_of(queries: ArrayLike, rows: ArrayLike, chosen: ArrayLike, k: int) -> tuple[Indices, Array]:
    """The same as `top_k`, but of each query's `chosen` rows only: queries x any number, -1 for none.

    Where the true first k are among the chosen, the result equals that of `top_k` to the last bit.
    """
    asked, known = np.asarray(_matrix(queries, "queries")), np.asarray(_matrix(rows, "rows"))
    numbers = np.asarray(chosen, dtype=np.int64)
    indices = np.full((len(asked), k), -1, dtype=np.int64)
    scores = np.full((len(asked), k), np.nan)
    slack = _slack(_longest(asked, "query", each=True), 1.0, known.shape[1])
    for number, mine in enumerate(numbers):
        # In the order of the file, which is how a memory map is read fastest.
        mine = np.unique(mine[mine >= 0])
        near = known[mine].astype(np.float32, copy=False)
        if len(mine) > k:
            # Rounded products part the clearly worse from the rest; the rest is computed exactly.
            rough = near @ asked[number]
            longest = float(np.sqrt(np.einsum("ij,ij->i", near, near).max()))
            kept = rough >= np.partition(rough, -k)[-k] - 2 * slack[number] * max(longest, 1.0)
            mine, near = mine[kept], near[kept]
        true = _products(asked[number], near, np.arange(len(mine)))
        order = np.lexsort((mine, -true))[:k]
        indices[number, : len(order)], scores[number, : len(order)] = mine[order], true[order]
    return indices, scores


def merged(parts: Sequence[tuple[Indices, Array]], k: int) -> tuple[Indices, Array]:
    """The first k of rankings of the same queries over different rows: by product, ties by row."""
    indices, scores = (np.concatenate([part[side] for part in parts], axis=1) for side in (0, 1))
    order = np.lexsort((indices, np.where(indices >= 0, -scores, np.inf)), axis=1)[:, :k]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(scores, order, axis=1)


def owners_above(
    queries: ArrayLike, rows: ArrayLike, owner: ArrayLike, least: float, *, block: int = 64
) -> Iterator[tuple[Indices, Array]]:
    """For each query the owners with a product above `least`, best first, ties by owner, and their products.

    An owner is as good as its best row; `owner` numbers the owner of each row.
    """
    asked, known = _matrix(queries, "queries"), _matrix(rows, "rows")
    numbers = np.asarray(owner, dtype=np.int64)
    _longest(asked, "query"), _longest(known, "row")
    for start in range(0, len(asked), block):
        none = np.zeros(0, dtype=np.int64)
        parts: list[tuple[Indices, Indices, Array]] = [(none, none, np.zeros(0))]
        for first in range(0, len(known), wide := 64 * ROWS):
            products = asked[start : start + block] @ known[first : first + wide].astype(np.float32).T
            query, row = np.nonzero(products > least)
            parts.append((query, numbers[row + first], products[query, row].astype(np.float64)))
        asking, owning, product = map(np.concatenate, zip(*parts, strict=True))
        for number in range(min(block, len(asked) - start)):
            owners, score = owning[asking == number], product[asking == number]
            order = np.lexsort((owners, -score))
            best = np.sort(np.unique(owners[order], return_index=True)[1])
            yield owners[order][best], score[order][best]


def unit(vectors: ArrayLike) -> Single:
    """Rows of length 1, so that dot products are cosines; a row of zeros stays as it is."""
    rows = np.asarray(vectors, dtype=np.float32)
    scaled: Single = np.empty_like(rows)
    # In float64 and rounded once, but a few rows at a time: all of them would be twice as big as the result.
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS].astype(np.float64)
        length = np.sqrt(np.einsum("ij,ij->i", part, part))
        scaled[start : start + ROWS] = part / np.where(length > 0, length, 1)[:, None]
    return scaled


class _Block:
    """The search of one block of queries over all rows: pending products, and the exact best so far.

    `slack` bounds the rounding error of the float32 product of each query with any row. `best` and `exact`,
    queries x k, are filled with the best rows in order (-1 where there is none yet) and their true products.
    """

    def __init__(
        self, queries: Single, rows: NDArray[Any], slack: Array, best: Indices, exact: Array
    ) -> None:
        self.queries, self.rows, self.slack, self.best, self.exact = queries, rows, slack, best, exact
        self._n, self._k = best.shape
        self._pending: list[tuple[Indices, Indices, Single]] = []
        self._held = self._seen = 0
        self._most = self._n * max(self._k, 64)
        self._limit = np.full(self._n, -np.inf, dtype=np.float32)

    def search(self, size: int) -> None:
        """Multiply so many rows at once, and leave the best in `best` and `exact`."""
        products = np.empty((len(self.queries), min(size, len(self.rows))), dtype=np.float32)
        for start in range(0, len(self.rows), size):
            part = np.ascontiguousarray(self.rows[start : start + size], dtype=np.float32)
            # Only the last part is narrower.
            out = products if len(part) == products.shape[1] else np.empty((len(products), len(part)), "f4")
            np.matmul(self.queries, part.T, out=out)
            self._add(out, start)
        self.rank()

    def _add(self, products: Single, start: int) -> None:
        """Keep of a block of products what may be better than the k-th best."""
        self._seen += products.shape[1]
        if self._limit[0] == -np.inf and self._k <= products.shape[1]:
            self._raise(self._kth(products) - 2 * self.slack)
        flat = np.flatnonzero(products >= self._limit[:, None])
        query, column = np.divmod(flat, products.shape[1])
        self._pending.append((query, column + start, products.ravel()[flat]))
        self._held += len(flat)
        if self._held > self._most and self._seen >= self._k:
            self._thin()

    def _kth(self, products: Single) -> Single:
        place = products.shape[1] - self._k
        return np.partition(products, place, axis=1)[:, place]

    def _raise(self, limit: Array) -> None:
        # Rounded down, so that nothing is lost on the way to float32.
        lower = np.nextafter(limit.astype(np.float32), np.float32(-np.inf))
        self._limit = np.maximum(self._limit, lower)

    def _thin(self) -> None:
        """Drop what is certainly worse than the k-th best of all pending products."""
        query, row, product = self._together()
        counts = np.bincount(query, minlength=self._n)
        width = max(int(counts.max()), self._k)
        # One row per query, padded with -inf: then one partition serves all queries.
        order = np.argsort(query.astype(np.uint16), kind="stable")
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = np.full((self._n, width), -np.inf, dtype=np.float32)
        table[query[order], place] = product[order]
        self._raise(self._kth(table) - 2 * self.slack)
        kept = product >= self._limit[query]
        self._pending = [(query[kept], row[kept], product[kept])]
        self._held = int(kept.sum())
        self._most = max(self._most, 2 * self._n * self._k)
        if self._held > 2 * self._most:
            # Very many rows are nearly equal: only exact products order them.
            self.rank()

    def _together(self) -> tuple[Indices, Indices, Single]:
        query, row, product = map(np.concatenate, zip(*self._pending, strict=True))
        return query, row, product

    def rank(self) -> None:
        """Compute the pending products exactly and keep the k best, ties by the order of the rows."""
        if not self._pending:
            return
        query, row, _ = self._together()
        order = np.lexsort((row, query))
        starts = np.searchsorted(query[order], np.arange(self._n + 1))
        for number in range(self._n):
            fresh = row[order[starts[number] : starts[number + 1]]]
            if not len(fresh):
                continue
            mine = self.best[number] >= 0
            rows = np.concatenate([self.best[number][mine], fresh])
            products = _products(self.queries[number], self.rows, fresh)
            true = np.concatenate([self.exact[number][mine], products])
            first = np.lexsort((rows, -true))[: self._k]
            self.best[number, : len(first)], self.exact[number, : len(first)] = rows[first], true[first]
        # A later row must be better than the k-th: an equal one ranks behind it.
        full = self.best[:, -1] >= 0
        self._raise(np.where(full, self.exact[:, -1], -np.inf) - self.slack)
        self._pending, self._held = [], 0


def _products(query: Single, rows: NDArray[Any], chosen: Indices) -> Array:
    """True products: every term is exact in float64, and a row's sum depends on that row alone."""
    asked = query.astype(np.float64)
    parts = [
        np.multiply(np.asarray(rows[chosen[start : start + AGAIN]], "f4"), asked).sum(axis=1)
        for start in range(0, len(chosen), AGAIN)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _matrix(vectors: ArrayLike, what: str) -> NDArray[Any]:
    matrix = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise DataError(f"the {what} are no matrix of numbers, but {matrix.dtype} of shape {matrix.shape}")
    return matrix.astype(np.float32) if what == "queries" or matrix.dtype.kind != "f" else matrix


def _longest(vectors: NDArray[Any], what: str, *, each: bool = False) -> Array:
    """The lengths of vectors, or the greatest of every block of them; refuses what is not finite."""
    lengths = []
    for start in range(0, len(vectors), ROWS):
        part = np.asarray(vectors[start : start + ROWS], dtype=np.float32)
        squares = np.einsum("ij,ij->i", part, part).astype(np.float64)
        if not np.isfinite(squares).all():
            bad = start + int(np.argmin(np.isfinite(squares)))
            raise DataError(
                f"the vector of {what} {bad} is not finite",
                remedy="An encoder gave NaN or infinity; embed it again, or leave it out.",
            )
        lengths.append(np.sqrt(squares) if each else np.sqrt(squares.max(keepdims=True)))
    return np.concatenate(lengths) if lengths else np.zeros(0)


def _slack(lengths: Array, longest: float, dimensions: int) -> Array:
    """Bound on the rounding of a float32 dot product in any order: n u |q| |x| (Higham 2002, section 3.1)."""
    # Four more than the terms: the lengths themselves were rounded.
    n = (dimensions + 4) * UNIT
    return n / (1 - n) * lengths * longest
