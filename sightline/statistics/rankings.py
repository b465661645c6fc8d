"""Measures of ranked answers over a whole run at once, from columns.

A run is `gain`, the judged gain of every answer in order of query and rank (NaN = unjudged, which counts as
not relevant), and `offsets`, where query q owns rows offsets[q] to offsets[q+1]. `relevant` is how many
images are known relevant to each query, retrieved or not. Every measure returns one value a query, NaN where
none is known. The work is proportional to the number of relevant answers, after one pass over the gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def precision(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int, level: float = 1) -> Array:
    """Share of the first k places that hold a relevant answer; places past a ranking's end hold none.

    Source: trec_eval, P.
    """
    hits = _hits(gain, offsets, relevant, level)
    return hits.per_query(_within(hits.rank, k)) / k + hits.unknown


def recall(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int, level: float = 1) -> Array:
    """Share of the relevant images that are within the first k places. Source: trec_eval, recall."""
    hits = _hits(gain, offsets, relevant, level)
    return hits.per_query(_within(hits.rank, k)) / hits.relevant


def hit_rate(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int, level: float = 1) -> Array:
    """1 if a relevant answer is within the first k places, else 0: the "Recall@k" of image retrieval.

    Source: trec_eval, success.
    """
    hits = _hits(gain, offsets, relevant, level)
    return (hits.per_query(_within(hits.rank, k)) > 0) + hits.unknown


def reciprocal_rank(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, level: float = 1) -> Array:
    """1 / rank of the first relevant answer, 0 if none was retrieved. Source: trec_eval, recip_rank."""
    hits = _hits(gain, offsets, relevant, level)
    return hits.per_query((hits.nth == 1) / hits.rank) + hits.unknown


def r_precision(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, level: float = 1) -> Array:
    """Precision within the first R places, R the number of relevant images of the query.

    Source: trec_eval, Rprec.
    """
    hits = _hits(gain, offsets, relevant, level)
    return hits.per_query(hits.rank <= hits.relevant[hits.query]) / hits.relevant


def average_precision(
    gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int | None = None, level: float = 1
) -> Array:
    """Sum of the precisions at the relevant answers (of the first k places) / number of relevant images.

    Source: trec_eval, map and map_cut.
    """
    hits = _hits(gain, offsets, relevant, level)
    return hits.per_query(_within(hits.rank, k) * hits.nth / hits.rank) / hits.relevant


def ndcg(
    gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int | None = None, level: float = 1
) -> Array:
    """Normalised discounted cumulative gain with binary gain, over the whole ranking or its first k places.

    sum of 1 / log2(rank + 1) over relevant answers, divided by the same sum for an ideal ranking.
    Source: Jarvelin and Kekalainen, ACM TOIS 20 (2002).
    """
    hits = _hits(gain, offsets, relevant, level)
    gained = hits.per_query(_within(hits.rank, k) / np.log2(hits.rank + 1))
    most = np.nan_to_num(hits.relevant).astype(np.int64)
    depth = most if k is None else np.minimum(most, k)
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, depth.max(initial=0) + 2)))])
    return gained / np.where(depth > 0, ideal[depth], np.nan)


def ndcg_graded(
    gain: ArrayLike,
    offsets: ArrayLike,
    truth_gain: ArrayLike,
    truth_offsets: ArrayLike,
    *,
    k: int | None = None,
    gains: Literal["linear", "exponential"] = "linear",
) -> Array:
    """Normalised discounted cumulative gain with graded gain; `truth_*` hold all judged gains of each query.

    sum of g / log2(rank + 1), g the gain itself (as trec_eval) or 2^gain - 1, divided by the same sum over
    the truth in descending order. Negative gains count as 0.
    Source: Jarvelin and Kekalainen, ACM TOIS 20 (2002); Burges et al., ICML 2005 for the exponential gain.
    """
    column, starts = _run(gain, offsets)
    truth, truth_starts = _run(truth_gain, truth_offsets)
    if starts.size != truth_starts.size:
        raise ValueError(f"{starts.size - 1} queries in the run, {truth_starts.size - 1} in the truth")
    owner = np.repeat(np.arange(truth_starts.size - 1), np.diff(truth_starts))
    best_first = truth[np.lexsort((-np.nan_to_num(truth), owner))]
    gained = _discounted(column, starts, k, gains)
    ideal = _discounted(best_first, truth_starts, k, gains)
    return gained / np.where(ideal > 0, ideal, np.nan)


def count_relevant(truth_gain: ArrayLike, truth_offsets: ArrayLike, *, level: float = 1) -> Indices:
    """How many judged images of each query reach the level: the `relevant` of the binary measures."""
    truth, starts = _run(truth_gain, truth_offsets)
    return np.diff(np.searchsorted(np.flatnonzero(truth >= level), starts))


@dataclass(frozen=True)
class _Hits:
    """The relevant answers only: their query, rank from 1, and number among the query's relevant ones."""

    query: Indices
    rank: Indices
    nth: Indices
    relevant: Array  # a query's number of relevant images, NaN instead of 0

    def per_query(self, what: NDArray[np.bool_] | Array) -> Array:
        return sum_by(self.query, what, self.relevant.size)

    @property
    def unknown(self) -> Array:
        return np.where(np.isnan(self.relevant), np.nan, 0.0)


def _hits(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, level: float) -> _Hits:
    column, starts = _run(gain, offsets)
    known = np.asarray(relevant, dtype=np.float64)
    if known.shape != (starts.size - 1,):
        raise ValueError(f"{starts.size - 1} queries need as many counts of relevant, not {known.shape}")
    row = np.flatnonzero(column >= level)
    query, rank = _places(row, starts)
    before = np.searchsorted(row, starts)
    nth = np.arange(1, row.size + 1) - before[query]
    if np.any(np.diff(before) > known):
        worst = int(np.argmax(np.diff(before) - known))
        raise ValueError(
            f"query {worst} ranks {np.diff(before)[worst]} relevant answers of {known[worst]:g} known: "
            "is an image listed twice, or was the truth counted at another level?"
        )
    return _Hits(query, rank, nth, np.where(known > 0, known, np.nan))


def _run(gain: ArrayLike, offsets: ArrayLike) -> tuple[Array, Indices]:
    column = np.asarray(gain, dtype=np.float64)
    starts = np.asarray(offsets, dtype=np.int64)
    if column.ndim != 1 or starts.ndim != 1 or starts.size == 0:
        raise ValueError("gain and offsets must be columns, offsets one entry longer than there are queries")
    if starts[0] != 0 or starts[-1] != column.size or np.any(np.diff(starts) < 0):
        raise ValueError(f"offsets must rise from 0 to {column.size}, the number of rows")
    return column, starts


def _places(row: Indices, starts: Indices) -> tuple[Indices, Indices]:
    query = np.searchsorted(starts, row, side="right") - 1
    return query, row - starts[query] + 1


def _within(rank: Indices, k: int | None) -> NDArray[np.bool_]:
    if k is None:
        return np.ones(rank.shape, dtype=bool)
    if k < 1:
        raise ValueError(f"k is {k}; it counts places from 1")
    return np.asarray(rank <= k)


def _discounted(column: Array, starts: Indices, k: int | None, gains: str) -> Array:
    row = np.flatnonzero(column > 0)
    query, rank = _places(row, starts)
    if gains == "linear":
        gained = column[row]
    elif gains == "exponential":
        gained = np.exp2(column[row]) - 1
    else:
        raise ValueError(f"gains {gains!r} is none of linear, exponential")
    return sum_by(query, _within(rank, k) * gained / np.log2(rank + 1), starts.size - 1)
