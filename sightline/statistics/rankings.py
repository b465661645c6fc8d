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


def precision(
    gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int, min_rel: float = 1
) -> Array:
    """Share of the first k places that hold a relevant answer; places past a ranking's end hold none.

    Source: trec_eval, P.
    """
    return find_hits(gain, offsets, relevant, min_rel=min_rel).precision(k)


def recall(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int, min_rel: float = 1) -> Array:
    """Share of the relevant images that are within the first k places. Source: trec_eval, recall."""
    return find_hits(gain, offsets, relevant, min_rel=min_rel).recall(k)


def hit_rate(
    gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int, min_rel: float = 1
) -> Array:
    """1 if a relevant answer is within the first k places, else 0: the "Recall@k" of image retrieval.

    Source: trec_eval, success.
    """
    return find_hits(gain, offsets, relevant, min_rel=min_rel).hit_rate(k)


def reciprocal_rank(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, min_rel: float = 1) -> Array:
    """1 / rank of the first relevant answer, 0 if none was retrieved. Source: trec_eval, recip_rank."""
    return find_hits(gain, offsets, relevant, min_rel=min_rel).reciprocal_rank()


def r_precision(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, min_rel: float = 1) -> Array:
    """Precision within the first R places, R the number of relevant images of the query.

    Source: trec_eval, Rprec.
    """
    return find_hits(gain, offsets, relevant, min_rel=min_rel).r_precision()


def average_precision(
    gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int | None = None, min_rel: float = 1
) -> Array:
    """Sum of the precisions at the relevant answers (of the first k places) / number of relevant images.

    Source: trec_eval, map and map_cut.
    """
    return find_hits(gain, offsets, relevant, min_rel=min_rel).average_precision(k)


def ndcg(
    gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, k: int | None = None, min_rel: float = 1
) -> Array:
    """Normalised discounted cumulative gain with binary gain, over the whole ranking or its first k places.

    sum of 1 / log2(rank + 1) over relevant answers, divided by the same sum for an ideal ranking.
    Source: Jarvelin and Kekalainen, ACM TOIS 20 (2002).
    """
    return find_hits(gain, offsets, relevant, min_rel=min_rel).ndcg(k)


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
    gained = _discounted(column, starts, k, gains)
    ideal = _discounted(_best_first(truth, truth_starts), truth_starts, k, gains)
    return gained / np.where(ideal > 0, ideal, np.nan)


def count_relevant(truth_gain: ArrayLike, truth_offsets: ArrayLike, *, min_rel: float = 1) -> Indices:
    """How many judged images of each query reach the min_rel: the `relevant` of the binary measures."""
    truth, starts = _run(truth_gain, truth_offsets)
    return np.diff(np.searchsorted(np.flatnonzero(truth >= min_rel), starts))


@dataclass(frozen=True)
class Hits:
    """The relevant answers only: their query, rank from 1, and number among the query's relevant ones.

    Finding them is most of the work, so that several measures of one run share it: each measure above is a
    method here.
    """

    query: Indices
    rank: Indices
    nth: Indices
    relevant: Array  # a query's number of relevant images, NaN instead of 0
    before: Indices  # how many hits lie before each query

    def precision(self, k: int) -> Array:
        return self._within(k) / k + self._unknown

    def recall(self, k: int) -> Array:
        return self._within(k) / self.relevant

    def hit_rate(self, k: int) -> Array:
        return (self._within(k) > 0) + self._unknown

    def reciprocal_rank(self) -> Array:
        found = np.zeros(self.relevant.size)
        some = np.flatnonzero(np.diff(self.before))
        found[some] = 1 / self.rank[self.before[some]]
        return found + self._unknown

    def r_precision(self) -> Array:
        return self._sum(self.rank <= self.relevant[self.query]) / self.relevant

    def average_precision(self, k: int | None = None) -> Array:
        return self._sum(_within(self.rank, k) * self.nth / self.rank) / self.relevant

    def ndcg(self, k: int | None = None) -> Array:
        most = np.nan_to_num(self.relevant).astype(np.int64)
        depth = most if k is None else np.minimum(most, k)
        discount = _discounts(max(depth.max(initial=0), self.rank.max(initial=0)))
        ideal = np.cumsum(discount)
        gained = self._sum(_within(self.rank, k) * discount[self.rank])
        return gained / np.where(depth > 0, ideal[depth], np.nan)

    def _within(self, k: int) -> Array:
        return self._sum(_within(self.rank, k))

    def _sum(self, what: NDArray[np.bool_] | Array) -> Array:
        return sum_by(self.query, what, self.relevant.size)

    @property
    def _unknown(self) -> Array:
        return np.where(np.isnan(self.relevant), np.nan, 0.0)


def find_hits(gain: ArrayLike, offsets: ArrayLike, relevant: ArrayLike, *, min_rel: float = 1) -> Hits:
    """The answers of a run with a gain of at least `min_rel`."""
    column, starts = _run(gain, offsets)
    known = np.asarray(relevant, dtype=np.float64)
    if known.shape != (starts.size - 1,):
        raise ValueError(f"{starts.size - 1} queries need as many counts of relevant, not {known.shape}")
    row = np.flatnonzero(column >= min_rel)
    before, query, rank = _places(row, starts)
    nth = np.arange(1, row.size + 1) - before[query]
    found = np.diff(before)
    if np.any(found > known):
        worst = int(np.argmax(found - known))
        raise ValueError(
            f"query {worst} ranks {found[worst]} relevant answers of {known[worst]:g} known: "
            "is an image listed twice, or was the truth counted at another min_rel?"
        )
    return Hits(query, rank, nth, np.where(known > 0, known, np.nan), before)


def _run(gain: ArrayLike, offsets: ArrayLike) -> tuple[Array, Indices]:
    column = np.asarray(gain, dtype=np.float64)
    starts = np.asarray(offsets, dtype=np.int64)
    if column.ndim != 1 or starts.ndim != 1 or starts.size == 0:
        raise ValueError("gain and offsets must be columns, offsets one entry longer than there are queries")
    if starts[0] != 0 or starts[-1] != column.size or np.any(np.diff(starts) < 0):
        raise ValueError(f"offsets must rise from 0 to {column.size}, the number of rows")
    return column, starts


def _places(row: Indices, starts: Indices) -> tuple[Indices, Indices, Indices]:
    """How many of these rows lie before each query, and the query and rank of each row."""
    before = np.searchsorted(row, starts)
    query = np.repeat(np.arange(starts.size - 1), np.diff(before))
    return before, query, row - starts[query] + 1


def _within(rank: Indices, k: int | None) -> NDArray[np.bool_]:
    if k is None:
        return np.ones(rank.shape, dtype=bool)
    if k < 1:
        raise ValueError(f"k is {k}; it counts places from 1")
    return np.asarray(rank <= k)


def _best_first(truth: Array, starts: Indices) -> Array:
    falls = truth[1:] <= truth[:-1]
    # Where one query ends and the next begins, anything may follow anything.
    falls[starts[(starts > 0) & (starts < truth.size)] - 1] = True
    if falls.all():
        return truth
    owner = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return np.asarray(truth[np.lexsort((-np.nan_to_num(truth), owner))], dtype=np.float64)


def _discounted(column: Array, starts: Indices, k: int | None, gains: str) -> Array:
    row = np.flatnonzero(column > 0)
    _, query, rank = _places(row, starts)
    if gains == "linear":
        gained = column[row]
    elif gains == "exponential":
        gained = np.exp2(column[row]) - 1
    else:
        raise ValueError(f"gains {gains!r} is none of linear, exponential")
    if k is not None:
        gained = gained * _within(rank, k)
    return sum_by(query, gained * _discounts(rank.max(initial=0))[rank], starts.size - 1)


def _discounts(deepest: int) -> Array:
    """1 / log2(rank + 1) of every rank down to the deepest; that of rank 0 is 0."""
    return np.concatenate([[0.0], 1 / np.log2(np.arange(2, int(deepest) + 2))])
