"""Post-retrieval predictors of query difficulty: from the ranking alone, without judgements.

A run is `score`, the score of every answer in order of query and rank, and `offsets`: query q owns rows
offsets[q] to offsets[q+1]. Every function returns one value per query, NaN where a ranking is too short.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import Array, Indices, checked_cutoff, checked_offsets, sum_by
from sightline.statistics.runs import jaccard


def variance(score: ArrayLike, offsets: ArrayLike, *, k: int = 100) -> Array:
    """Population variance of the first k scores: high where the top of a ranking stands out.

    Source: Perez-Iglesias and Araujo, Standard deviation as a query hardness estimator (2010).
    """
    values, query, count = _top(score, offsets, k)
    mean = sum_by(query, values, len(count)) / _at_least_one(count)
    spread = sum_by(query, (values - mean[query]) ** 2, len(count)) / _at_least_one(count)
    return np.where(count > 0, spread, np.nan)


def nqc(score: ArrayLike, offsets: ArrayLike, collection: ArrayLike, *, k: int = 100) -> Array:
    """Normalised query commitment: standard deviation of the first k scores / |score of the collection|.

    `collection` is what each query would give the collection as a whole; the mean score over all its images
    stands for that where vectors are compared. There is no value where it is 0.
    Source: Shtok et al., Predicting query performance by query-drift estimation, TOIS 30 (2012).
    """
    spread = np.sqrt(variance(score, offsets, k=k))
    whole = np.abs(_each_query(collection, len(spread), "collection"))
    return np.where(whole > 0, spread / np.where(whole > 0, whole, 1), np.nan)


def wig(
    score: ArrayLike, offsets: ArrayLike, collection: ArrayLike, words: ArrayLike, *, k: int = 5
) -> Array:
    """Weighted information gain: mean of the first k scores less the collection's, / sqrt(words).

    Source: Zhou and Croft, Query performance prediction in web search environments, SIGIR 2007.
    """
    values, query, count = _top(score, offsets, k)
    whole = _each_query(collection, len(count), "collection")
    length = _each_query(words, len(count), "words")
    gain = sum_by(query, values, len(count)) / _at_least_one(count) - whole
    known = (count > 0) & (length > 0)
    return np.where(known, gain / np.sqrt(np.where(known, length, 1)), np.nan)


def clarity(
    score: ArrayLike,
    offsets: ArrayLike,
    image: ArrayLike,
    counts: ArrayLike | Any,
    *,
    k: int = 100,
    own: float = 0.6,
    sharpness: float = 1.0,
) -> Array:
    """Divergence, in bits, of the words of the first k images' captions from the words of all captions.

    `counts` (an array or a sparse matrix of scipy) holds how often the captions of an image (row) use a word
    (column), and `image` is the row of every answer. With p(d|q) proportional to exp(sharpness x
    score) among the first k, p(w|d) = own tf/len + (1 - own) p(w), and p(w|q) = sum_d p(w|d) p(d|q), it is
    sum_w p(w|q) log2(p(w|q) / p(w)).
    Source: Cronen-Townsend et al., Predicting query performance, SIGIR 2002.
    """
    said = counts.tocsr() if hasattr(counts, "tocsr") else np.asarray(counts, dtype=np.float64)
    answer = np.asarray(image, dtype=np.int64)
    if said.ndim != 2 or answer.shape != np.shape(score) or not 0 <= own <= 1:
        raise ValueError(
            "counts must have one row per image, image one entry per answer, and own lie in 0 to 1"
        )
    everywhere = np.asarray(said.sum(axis=0), dtype=np.float64).ravel()
    if not everywhere.sum():
        return np.full(len(np.asarray(offsets)) - 1, np.nan)
    usual = everywhere / everywhere.sum()
    values, query, count = _top(score, offsets, k)
    places = _top_rows(np.asarray(offsets, dtype=np.int64), k)
    result = np.full(len(count), np.nan)
    for number in np.flatnonzero(count):
        mine = slice(*np.searchsorted(query, [number, number + 1]).tolist())
        trust = np.exp(sharpness * (values[mine] - values[mine].max()))
        captions = said[answer[places[mine]]]
        # A collection's words are too many for a dense table; those of k images are not.
        captions = captions.toarray() if hasattr(captions, "toarray") else captions
        length = captions.sum(axis=1, keepdims=True)
        # An image without captions has the usual words.
        of_image = np.where(length > 0, own * captions / np.where(length > 0, length, 1), own * usual)
        spoken = (trust / trust.sum()) @ of_image + (1 - own) * usual
        present = spoken > 0
        result[number] = float((spoken[present] * np.log2(spoken[present] / usual[present])).sum())
    return result


def robustness(
    image: ArrayLike, offsets: ArrayLike, noisy: ArrayLike, noisy_offsets: ArrayLike, *, k: int = 100
) -> Array:
    """Jaccard overlap of the first k images with and without noise added to the query's vector.

    An easy query retrieves the same images when it is perturbed. Source: Zhou and Croft, Ranking robustness:
    a novel framework to predict query performance, CIKM 2006; the overlap is that of the PQPP paper's files.
    """
    first, second = _top_images(image, offsets, k), _top_images(noisy, noisy_offsets, k)
    queries, others = (len(np.asarray(each)) - 1 for each in (offsets, noisy_offsets))
    if queries != others:
        raise ValueError(f"{queries} queries in one ranking, {others} in the other")
    return jaccard(*first, *second, queries)


def noisy_queries(vectors: ArrayLike, *, share: float = 0.1, seed: int = 0) -> Array:
    """Each query's vector moved at random by the fraction `share` of its length, then rescaled."""
    rows = np.asarray(vectors, dtype=np.float64)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    step = np.random.default_rng(seed).normal(size=rows.shape)
    step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-300)
    moved = rows + share * length * step
    return np.asarray(moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-300) * length)


def engine_overlap(
    image: ArrayLike, offsets: ArrayLike, query: ArrayLike, engine: ArrayLike, *, k: int = 100
) -> Array:
    """Mean Jaccard overlap of each ranking's first k images with those of every other engine.

    Here a run has one ranking per query and engine: `query` and `engine` are those of each ranking. It is
    high for easy queries. An empty ranking overlaps with nothing; it has no value itself, nor has the only
    ranking of a query.
    """
    answers, asked, own = (np.asarray(each, dtype=np.int64) for each in (image, query, engine))
    starts = checked_offsets(offsets, len(answers))
    if not asked.shape == own.shape == (len(starts) - 1,):
        raise ValueError("query and engine must have one entry per ranking")
    ends = np.minimum(starts[1:], starts[:-1] + k)
    tops = [frozenset(answers[a:b].tolist()) for a, b in zip(starts[:-1], ends, strict=True)]
    of_query: dict[int, list[int]] = {}
    for number, each in enumerate(asked.tolist()):
        of_query.setdefault(each, []).append(number)
    overlaps = np.full(len(tops), np.nan)
    for number, (mine, each) in enumerate(zip(tops, asked.tolist(), strict=True)):
        others = [tops[other] for other in of_query[each] if own[other] != own[number]]
        if mine and others:
            overlaps[number] = np.mean([len(mine & other) / len(mine | other) for other in others])
    return overlaps


def _top_images(image: ArrayLike, offsets: ArrayLike, k: int) -> tuple[Indices, Indices]:
    """The query of each image within the first k ranks, and the image."""
    images = np.asarray(image, dtype=np.int64)
    starts = checked_offsets(offsets, len(images))
    count = np.minimum(np.diff(starts), k)
    return np.repeat(np.arange(len(count)), count), images[_top_rows(starts, k)]


def _top(score: ArrayLike, offsets: ArrayLike, k: int) -> tuple[Array, Indices, Indices]:
    """Scores within the first k ranks, the query of each, and how many every query has."""
    values = np.asarray(score, dtype=np.float64)
    starts = checked_offsets(offsets, len(values))
    count = np.minimum(np.diff(starts), k)
    top = values[_top_rows(starts, k)]
    if not np.isfinite(top).all():
        raise ValueError("the difficulty of a query cannot be predicted from a ranking without scores")
    return top, np.repeat(np.arange(len(count)), count), count


def _top_rows(starts: Indices, k: int) -> Indices:
    lengths = np.diff(starts)
    rank = np.arange(int(lengths.sum())) - np.repeat(starts[:-1] - starts[0], lengths)
    return np.asarray(np.flatnonzero(rank < checked_cutoff(k)) + starts[0], dtype=np.int64)


def _each_query(values: ArrayLike, queries: int, what: str) -> Array:
    column = np.broadcast_to(np.asarray(values, dtype=np.float64), (queries,))
    if not np.isfinite(column).all():
        raise ValueError(f"{what} must be finite for every query")
    return column


def _at_least_one(count: NDArray[np.int64]) -> Indices:
    return np.asarray(np.maximum(count, 1), dtype=np.int64)
