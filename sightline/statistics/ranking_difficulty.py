"""Post-retrieval predictors of query difficulty: from the ranking alone, without judgements.

A run is `score`, the score of every answer in order of query and rank, and `offsets`: query q owns rows
offsets[q] to offsets[q+1]. Every function returns one value per query, NaN where a ranking is too short.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import Array, Indices, checked_offsets, first_ranks, sum_by
from sightline.statistics.runs import jaccard
from sightline.statistics.votes import over


def variance(score: ArrayLike, offsets: ArrayLike, *, k: int = 100) -> Array:
    """Population variance of the first k scores: high where the top of a ranking stands out.

    Source: Perez-Iglesias and Araujo, Standard deviation as a query hardness estimator (2010).
    """
    values, query, count = _top_scores(score, offsets, k)
    mean = over(sum_by(query, values, len(count)), count)
    return over(sum_by(query, (values - mean[query]) ** 2, len(count)), count)


def nqc(score: ArrayLike, offsets: ArrayLike, collection: ArrayLike, *, k: int = 100) -> Array:
    """Normalised query commitment: standard deviation of the first k scores / |score of the collection|.

    `collection` is what each query would give the collection as a whole; the mean score over all its images
    stands for that where vectors are compared. There is no value where it is 0.
    Source: Shtok et al., Predicting query performance by query-drift estimation, TOIS 30 (2012).
    """
    spread = np.sqrt(variance(score, offsets, k=k))
    return over(spread, np.abs(_each_query(collection, len(spread), "collection")))


def wig(
    score: ArrayLike, offsets: ArrayLike, collection: ArrayLike, words: ArrayLike, *, k: int = 5
) -> Array:
    """Weighted information gain: mean of the first k scores less the collection's, / sqrt(words).

    Source: Zhou and Croft, Query performance prediction in web search environments, SIGIR 2007.
    """
    values, query, count = _top_scores(score, offsets, k)
    whole = _each_query(collection, len(count), "collection")
    length = _each_query(words, len(count), "words")
    gain = over(sum_by(query, values, len(count)), count) - whole
    return over(gain, np.sqrt(np.maximum(length, 0)))


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
    values, query, count = _top_scores(score, offsets, k)
    top, _, _ = _top(answer, offsets, k)
    result = np.full(len(count), np.nan)
    for number in np.flatnonzero(count):
        mine = slice(*np.searchsorted(query, [number, number + 1]).tolist())
        trust = np.exp(sharpness * (values[mine] - values[mine].max()))
        captions = said[top[mine]]
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
    tops = [
        _top(np.asarray(each, dtype=np.int64), where, k)
        for each, where in ((image, offsets), (noisy, noisy_offsets))
    ]
    (first, of_first, queries), (second, of_second, others) = tops
    if queries.size != others.size:
        raise ValueError(f"{queries.size} queries in one ranking, {others.size} in the other")
    return jaccard(of_first, first, of_second, second, queries.size)


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


def _top(column: NDArray[Any], offsets: ArrayLike, k: int) -> tuple[NDArray[Any], Indices, Indices]:
    """The values within the first k ranks, the query of each, and how many every query has."""
    row, query, _, queries = first_ranks(offsets, len(column), k)
    return column[row], query, np.bincount(query, minlength=queries)


def _top_scores(score: ArrayLike, offsets: ArrayLike, k: int) -> tuple[Array, Indices, Indices]:
    top, query, count = _top(np.asarray(score, dtype=np.float64), offsets, k)
    if not np.isfinite(top).all():
        raise ValueError("the difficulty of a query cannot be predicted from a ranking without scores")
    return top, query, count


def _each_query(values: ArrayLike, queries: int, what: str) -> Array:
    column = np.broadcast_to(np.asarray(values, dtype=np.float64), (queries,))
    if not np.isfinite(column).all():
        raise ValueError(f"{what} must be finite for every query")
    return column
