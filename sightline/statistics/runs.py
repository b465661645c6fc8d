"""Runs as columns: the order of tied answers, the gains of ranked images, the overlap of engines.

A run has one row per answer: `query` (index from 0), `image` (index from 0), `position`, `score` (NaN = none)
and `name`, any number that orders images as their names do. Nothing here loops over queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import Array, Indices, checked_cutoff, sum_by

Ties = Literal["name", "trec", "given"]
TIES: tuple[str, ...] = get_args(Ties)
SIEVE = 1 << 22
# Rows looked up at a time: they stay in the processor's cache, which doubles the speed.
BLOCK = 1 << 15


def order(
    query: ArrayLike, position: ArrayLike, score: ArrayLike, name: ArrayLike, *, ties: Ties = "name"
) -> Indices:
    """The rows in order of query and rank.

    "name": positions decide, and neighbours of equal score are in descending order of name, as in TREC.
    "trec": scores in single precision decide, ties as before, positions are ignored: what trec_eval does.
    A ranking with a missing score keeps its positions. "given": positions decide, whatever the scores.
    Source: trec_eval 9, form_res_rels; Cabanac et al., CLEF 2010, on what ties do to measures.
    """
    queries, places, scores, names = _columns(query, position, score, name)
    if ties not in TIES:
        raise ValueError(f"ties {ties!r} is none of {', '.join(TIES)}")
    if ties == "trec" and queries.size:
        single, known = _single(queries, places, scores)
        rows = _ties_by_name(_by_query_and_falling(queries, single), queries, single, names, known)
    else:
        rows = _by_query_and_rising(queries, places)
        if ties == "name":
            rows = _ties_by_name(rows, queries, scores, names, None)
    return np.arange(queries.size) if rows is None else rows


def first_places(query: ArrayLike, image: ArrayLike) -> NDArray[np.bool_]:
    """Which rows hold the first occurrence of an image in its ranking; the rows must be in order."""
    queries, images = np.asarray(query, dtype=np.int64), np.asarray(image, dtype=np.int64)
    pair = queries * (int(images.max(initial=0)) + 1) + images
    _, first = np.unique(pair, return_index=True)
    occurs = np.zeros(pair.shape, dtype=bool)
    occurs[first] = True
    return occurs


def gains(
    query: ArrayLike,
    image: ArrayLike,
    judged_query: ArrayLike,
    judged_image: ArrayLike,
    judged_gain: ArrayLike,
) -> Array:
    """The judged gain of every row of a run, NaN where nobody judged the image for the query."""
    queries, images, of_query, of_image = (
        np.asarray(column, dtype=np.int64) for column in (query, image, judged_query, judged_image)
    )
    known = np.asarray(judged_gain, dtype=np.float64)
    width = max(int(images.max(initial=0)), int(of_image.max(initial=0))) + 1
    keys = of_query * width + of_image
    if np.any(np.diff(keys) <= 0):
        rows = np.argsort(keys, kind="stable")
        keys, known = keys[rows], known[rows]
        if np.any(np.diff(keys) == 0):
            raise ValueError("an image is judged twice for one query")
    gain = np.full(queries.shape, np.nan)
    if keys.size == 0:
        return gain
    # Most ranked images were never judged: a table of the keys' last bits rules out most of them cheaply.
    seen = np.zeros(SIEVE, dtype=bool)
    seen[keys & (SIEVE - 1)] = True
    for start in range(0, queries.size, BLOCK):
        wanted = queries[start : start + BLOCK] * width + images[start : start + BLOCK]
        row = np.flatnonzero(seen[wanted & (SIEVE - 1)])
        place = np.minimum(np.searchsorted(keys, wanted[row]), keys.size - 1)
        hit = keys[place] == wanted[row]
        gain[start + row[hit]] = known[place[hit]]
    return gain


@dataclass(frozen=True)
class Judged:
    """Of the images within the first ranks of each query: how many there are, and how many were judged."""

    judged: Indices
    of: Indices


def count_judged(gain: ArrayLike, offsets: ArrayLike, *, k: int | None = None) -> Judged:
    """How many of the first k images (or of all) were judged."""
    column, starts = np.asarray(gain, dtype=np.float64), np.asarray(offsets, dtype=np.int64)
    lengths = np.diff(starts)
    of = lengths if k is None else np.minimum(lengths, checked_cutoff(k))
    counted = np.concatenate([[0], np.cumsum(~np.isnan(column))])
    return Judged(counted[starts[:-1] + of] - counted[starts[:-1]], of)


def overlap(
    first_query: ArrayLike, first_image: ArrayLike, second_query: ArrayLike, second_image: ArrayLike
) -> tuple[Indices, Array]:
    """The queries that two engines answered, and the Jaccard overlap of their images for each."""
    a, b, c, d = (
        np.asarray(each, dtype=np.int64) for each in (first_query, first_image, second_query, second_image)
    )
    queries = np.intersect1d(a, c)
    return queries, jaccard(a, b, c, d, int(max(a.max(initial=-1), c.max(initial=-1))) + 1)[queries]


def jaccard(
    first_query: Indices, first_image: Indices, second_query: Indices, second_image: Indices, queries: int
) -> Array:
    """|A and B| / |A or B| of two sets of images for each query 0 to queries-1; NaN where both are empty.

    Source: P. Jaccard, Bulletin de la Societe vaudoise des sciences naturelles 37 (1901).
    """
    width = max(int(first_image.max(initial=0)), int(second_image.max(initial=0))) + 1
    a, b = np.unique(first_query * width + first_image), np.unique(second_query * width + second_image)
    both = np.intersect1d(a, b, assume_unique=True)
    n_a, n_b, shared = (np.bincount(keys // width, minlength=queries) for keys in (a, b, both))
    either = n_a + n_b - shared
    return np.where(either > 0, shared / np.maximum(either, 1), np.nan)


def _columns(
    query: ArrayLike, position: ArrayLike, score: ArrayLike, name: ArrayLike
) -> tuple[Indices, Indices, Array, Indices]:
    queries, places, names = (np.asarray(each, dtype=np.int64) for each in (query, position, name))
    scores = np.asarray(score, dtype=np.float64)
    if queries.ndim != 1 or not queries.shape == places.shape == names.shape == scores.shape:
        raise ValueError("query, position, score and name must be columns of equal length")
    if queries.size and queries.min() < 0:
        raise ValueError("queries are numbered from 0")
    return queries, places, scores, names


def _single(
    query: Indices, place: Indices, score: Array
) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
    """Scores in single precision and which of them count; negative positions where a ranking lacks any."""
    missing = np.isnan(score)
    known = None
    if missing.any():
        known = sum_by(query, missing)[query] == 0
        score = np.where(known, score, -place.astype(np.float64))
    with np.errstate(over="ignore"):
        # -0 and 0 are the same score.
        return score.astype(np.float32) + np.float32(0), known


def _by_query_and_rising(query: Indices, place: Indices) -> Indices | None:
    """The rows in order; None where they are in order as they stand."""
    same = query[1:] == query[:-1]
    if np.all((query[1:] > query[:-1]) | (same & (place[1:] > place[:-1]))):
        return None
    return np.lexsort((place, query))


def _by_query_and_falling(query: Indices, key: NDArray[np.float32]) -> Indices | None:
    if np.all((query[1:] > query[:-1]) | ((query[1:] == query[:-1]) & (key[1:] <= key[:-1]))):
        return None
    # Query and single-precision score fit into one integer, which sorts several times as fast as two columns:
    # the bits are changed to order as the numbers do, then inverted.
    bits = key.view(np.uint32)
    rising = np.where(bits >> 31 == 1, ~bits, bits | np.uint32(1 << 31))
    packed = (query.astype(np.uint64) << np.uint64(32)) | (~rising).astype(np.uint64)
    return np.asarray(np.argsort(packed), dtype=np.int64)


def _ties_by_name(
    rows: Indices | None,
    query: Indices,
    score: Array | NDArray[np.float32],
    name: Indices,
    known: NDArray[np.bool_] | None,
) -> Indices | None:
    """The rows with every run of equal scores of one query in descending order of name."""
    sorted_query, sorted_score = (query, score) if rows is None else (query[rows], score[rows])
    # A missing score equals no other, so rows without one are never tied.
    alike = (sorted_score[1:] == sorted_score[:-1]) & (sorted_query[1:] == sorted_query[:-1])
    if known is not None:
        alike &= known[1:] if rows is None else known[rows][1:]
    second = np.flatnonzero(alike) + 1
    if not second.size:
        return rows
    ordered = np.arange(query.size) if rows is None else rows.copy()
    tied = np.union1d(second - 1, second)
    # Rows of one tie have the same number of rows before them that begin a tie.
    tie = tied - np.searchsorted(second, tied, side="right")
    # Ties are numbered in order, so the rows of each return to its own places.
    ordered[tied] = ordered[tied][np.lexsort((-name[ordered[tied]], tie))]
    return ordered
