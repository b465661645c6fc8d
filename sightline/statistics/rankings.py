"""Measures of rankings over a whole run at once, from columns.

A run is `gain`, the judged gain of every answer in order of query and rank (NaN = unjudged, which counts as
not relevant), and `offsets`: query q owns rows offsets[q] to offsets[q+1]. `relevant` is the number of images
known to be relevant to each query, retrieved or not. Every measure returns one value per query, NaN where no
image is known to be relevant. The work is proportional to the number of relevant answers, after one pass over
the gains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import Array, Indices, checked_cutoff, checked_offsets, sum_by


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
    """How many judged images of each query have a gain of at least `min_rel`."""
    truth, starts = _run(truth_gain, truth_offsets)
    return np.diff(np.searchsorted(np.flatnonzero(truth >= min_rel), starts))


@dataclass(frozen=True)
class Hits:
    """The relevant answers only: their query, rank from 1, and number among the query's relevant ones.

    Finding them is most of the work, so the binary measures of one run, which are its methods, share it.
    """

    query: Indices
    rank: Indices
    nth: Indices
    relevant: Array  # number of relevant images per query, NaN instead of 0
    before: Indices  # how many hits lie before each query

    def precision(self, k: int) -> Array:
        """Proportion of relevant answers among the first k ranks, those past a ranking's end included.

        Source: trec_eval, P.
        """
        return self._within(k) / k + self._unknown

    def recall(self, k: int) -> Array:
        """Proportion of the relevant images within the first k ranks. Source: trec_eval, recall."""
        return self._within(k) / self.relevant

    def hit_rate(self, k: int) -> Array:
        """1 if a relevant answer is within the first k ranks, else 0: the "Recall@k" of image retrieval.

        Source: trec_eval, success.
        """
        return (self._within(k) > 0) + self._unknown

    def reciprocal_rank(self) -> Array:
        """1 / rank of the first relevant answer, 0 if none was retrieved. Source: trec_eval, recip_rank."""
        values = np.zeros(self.relevant.size)
        some = np.flatnonzero(np.diff(self.before))
        values[some] = 1 / self.rank[self.before[some]]
        return values + self._unknown

    def r_precision(self) -> Array:
        """Precision at R, the query's number of relevant images. Source: trec_eval, Rprec."""
        return self._sum(self.rank <= self.relevant[self.query]) / self.relevant

    def average_precision(self, k: int | None = None) -> Array:
        """Sum of the precisions at the relevant answers (of the first k ranks) / number of relevant images.

        Source: trec_eval, map and map_cut.
        """
        return self._sum(_within(self.rank, k) * self.nth / self.rank) / self.relevant

    def ndcg(self, k: int | None = None) -> Array:
        """Normalised discounted cumulative gain with binary gain, over the whole ranking or its first k.

        Sum of 1 / log2(rank + 1) over relevant answers, divided by the same sum for an ideal ranking.
        Source: Jarvelin and Kekalainen, ACM TOIS 20 (2002).
        """
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
    ranked = np.diff(before)
    if np.any(ranked > known):
        worst = int(np.argmax(ranked - known))
        raise ValueError(
            f"query {worst} ranks {ranked[worst]} relevant answers of {known[worst]:g} known: "
            "is an image listed twice, or was the truth counted at another min_rel?"
        )
    return Hits(query, rank, nth, np.where(known > 0, known, np.nan), before)


def _run(gain: ArrayLike, offsets: ArrayLike) -> tuple[Array, Indices]:
    column = np.asarray(gain, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"gain must be a column, not of shape {column.shape}")
    return column, checked_offsets(offsets, column.size)


def _places(row: Indices, starts: Indices) -> tuple[Indices, Indices, Indices]:
    """How many of these rows lie before each query, and the query and rank of each row."""
    before = np.searchsorted(row, starts)
    query = np.repeat(np.arange(starts.size - 1), np.diff(before))
    return before, query, row - starts[query] + 1


def _within(rank: Indices, k: int | None) -> NDArray[np.bool_]:
    if k is None:
        return np.ones(rank.shape, dtype=bool)
    return np.asarray(rank <= checked_cutoff(k))


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
