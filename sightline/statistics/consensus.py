"""From votes to one value an item: the arithmetic behind the consensus rules.

Votes are columns: `item` (index from 0), `value` (NaN = skipped), `n` how many votes the row stands for (1
unless given), and where it matters `annotator` (index from 0, -1 = anonymous). Results are columns by item;
an item without votes has n = 0 and NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Consensus:
    """One value an item with its limits (NaN where the rule gives none) and number of votes."""

    value: Array
    low: Array
    high: Array
    n: Indices


def mean_votes(
    item: ArrayLike,
    value: ArrayLike,
    *,
    n: ArrayLike | None = None,
    items: int | None = None,
    confidence: float = 0.95,
) -> Consensus:
    """Mean of an item's votes with Student's interval; no limits for a single vote."""
    from scipy.special import stdtrit

    votes = _votes(item, value, n, items)
    mean = _over(votes.total(votes.value), votes.n)
    squares = votes.total((votes.value - mean[votes.item]) ** 2)
    degrees = np.where(votes.n > 1, votes.n - 1, np.nan)
    half = stdtrit(degrees, (1 + confidence) / 2) * np.sqrt(_over(squares / degrees, votes.n))
    return Consensus(mean, mean - half, mean + half, votes.counted)


def majority(
    item: ArrayLike,
    value: ArrayLike,
    *,
    n: ArrayLike | None = None,
    items: int | None = None,
    ties: Literal["none", "highest", "lowest"] = "none",
) -> Consensus:
    """The value most votes were cast for; a tie gives no value, or the highest or lowest of the tied ones."""
    if ties not in ("none", "highest", "lowest"):
        raise ValueError(f"ties {ties!r} is none of none, highest, lowest")
    votes = _votes(item, value, n, items)
    scale, place = np.unique(votes.value, return_inverse=True)
    cells, cell = np.unique(votes.item * max(1, scale.size) + place, return_inverse=True)
    cast = sum_by(cell, votes.weight)
    of_item, of_value = cells // max(1, scale.size), cells % max(1, scale.size)
    most = np.zeros(votes.n.size)
    np.maximum.at(most, of_item, cast)
    top = cast == most[of_item]
    result = np.full(votes.n.size, np.nan)
    # Cells ascend by item and value: the last write an item wins, so the order decides between tied values.
    order = np.flatnonzero(top) if ties != "lowest" else np.flatnonzero(top)[::-1]
    result[of_item[order]] = scale[of_value[order]]
    if ties == "none":
        result[np.bincount(of_item[top], minlength=votes.n.size) > 1] = np.nan
    return Consensus(result, np.full_like(result, np.nan), np.full_like(result, np.nan), votes.counted)


def hbpp(
    item: ArrayLike, value: ArrayLike, *, n: ArrayLike | None = None, items: int | None = None
) -> Consensus:
    """Human-based prompt performance of an image: the mean vote within the majority group.

    Groups are {2, 1} relevant and {0, -1} not; a tie goes to relevant.
    Source: PQPP (Poesina et al. 2024), HBPP.
    """
    votes = _votes(item, value, n, items)
    if not np.isin(votes.value, (-1, 0, 1, 2)).all():
        raise ValueError("HBPP is defined for votes of 2, 1, 0 and -1 only")
    relevant = votes.value > 0
    in_favour = votes.total(relevant)
    wins = in_favour >= votes.n - in_favour
    counted = relevant == wins[votes.item]
    result = _over(votes.total(counted * votes.value), votes.total(counted))
    return Consensus(result, np.full_like(result, np.nan), np.full_like(result, np.nan), votes.counted)


@dataclass(frozen=True)
class MosLikelihood:
    """Opinion scores and their standard errors by item, bias and inconsistency by annotator."""

    mos: Array
    error: Array
    n: Indices
    bias: Array
    inconsistency: Array
    anonymous_inconsistency: float
    rounds: int
    converged: bool


def mos_likelihood(
    item: ArrayLike,
    annotator: ArrayLike,
    value: ArrayLike,
    *,
    n: ArrayLike | None = None,
    items: int | None = None,
    annotators: int | None = None,
    restricted: bool = True,
    least_inconsistency: float = 0.1,
    tolerance: float = 1e-8,
    most_rounds: int = 10_000,
) -> MosLikelihood:
    """Mean opinion scores by maximum likelihood of vote = mos + bias + inconsistency * noise.

    Alternating projection: inconsistency = standard deviation of an annotator's residuals; mos = mean of
    votes minus bias weighted by 1 / inconsistency^2, with standard error 1 / sqrt(sum of weights); bias =
    mean of an annotator's votes minus mos. Biases are centred at 0, since only their differences show.
    Anonymous votes, and those of annotators with a single vote, have bias 0 and share one inconsistency.
    The plain likelihood grows without bound as mos follows one annotator, and with few annotators an item
    it does: an annotator's residuals are shrunk by the annotator's own weight in mos. `restricted` divides
    their squares by the expected shrinkage, sum of 1 - weight / weights of the item, instead of by their
    number, as restricted maximum likelihood does; False is the recommendation to the letter. In both, no
    inconsistency goes below `least_inconsistency` times that of all residuals together.
    Source: ITU-T P.910 (2022), annex on subject bias and inconsistency; Z. Li et al., A simple model for
    subject behavior in subjective experiments, Human Vision and Electronic Imaging (2020).
    """
    votes = _votes(item, value, n, items)
    panel = _panel(votes, annotator, np.shape(value), annotators)
    mos = _over(votes.total(votes.value), votes.n)
    bias = panel.bias(mos)
    weight = np.ones(panel.cast.size)
    spread = np.zeros(panel.cast.size)
    rounds, converged = 0, False
    while not converged and rounds < most_rounds:
        rounds += 1
        spread = panel.spread(mos, bias, weight if restricted else None)
        weight = panel.weight(spread, least_inconsistency)
        cast = weight[panel.who]
        updated = _over(votes.total(cast * (votes.value - bias[panel.who])), votes.total(cast))
        bias = panel.bias(updated)
        converged = bool(np.linalg.norm(np.nan_to_num(updated - mos)) < tolerance)
        mos = updated
    error = np.sqrt(_over(np.full(mos.size, float(np.any(spread))), votes.total(weight[panel.who])))
    if votes.weight.sum() <= np.count_nonzero(votes.n):
        error[:] = np.nan  # one vote an item: nothing shows how far votes scatter
    by_person = np.where(panel.named, [bias, spread], np.nan)
    return MosLikelihood(
        mos,
        error,
        votes.counted,
        by_person[0, :-1],
        by_person[1, :-1],
        float(spread[-1]) if panel.cast[-1] else float("nan"),
        rounds,
        converged,
    )


@dataclass(frozen=True)
class _Panel:
    """Who cast each vote; the last place stands for everybody without a bias of their own."""

    votes: _Votes
    who: Indices
    cast: Array
    named: NDArray[np.bool_]

    def mean(self, what: Array) -> Array:
        return sum_by(self.who, self.votes.weight * what, self.cast.size) / np.maximum(self.cast, 1)

    def bias(self, mos: Array) -> Array:
        bias = np.where(self.named, self.mean(self.votes.value - mos[self.votes.item]), 0.0)
        return np.where(self.named, bias - bias[self.named].mean(), 0.0) if self.named.any() else bias

    def spread(self, mos: Array, bias: Array, weight: Array | None) -> Array:
        residual = self.votes.value - mos[self.votes.item] - bias[self.who]
        variance = np.maximum(self.mean(residual**2) - self.mean(residual) ** 2, 0.0)
        if weight is None:
            return np.sqrt(variance)
        of_item = self.votes.total(weight[self.who])[self.votes.item]
        free = self.mean(1 - weight[self.who] / of_item) * (1 - self.named / np.maximum(self.cast, 1))
        # Whoever judged alone wherever they judged shows no scatter: they get that of all others together.
        known = free > 1e-9
        corrected = variance / np.where(known, free, 1.0)
        pooled = (corrected * self.cast * known).sum() / max(1.0, float((self.cast * known).sum()))
        return np.sqrt(np.where(known | (self.cast == 0), corrected, pooled))

    def weight(self, spread: Array, least: float) -> Array:
        overall = np.sqrt((self.cast * spread**2).sum() / max(1.0, float(self.cast.sum())))
        if overall == 0:
            return np.ones_like(spread)
        return np.asarray(1 / np.maximum(spread, least * overall) ** 2, dtype=np.float64)


def _panel(votes: _Votes, annotator: ArrayLike, shape: tuple[int, ...], annotators: int | None) -> _Panel:
    asked = np.asarray(annotator, dtype=np.int64)
    if asked.shape != shape or np.any(asked < -1):
        raise ValueError("annotator must be a column as long as value, of indices from 0 or -1 for anonymous")
    people = int(asked.max(initial=-1)) + 1 if annotators is None else annotators
    if np.any(asked >= people):
        raise ValueError(f"annotator indices must lie below {people}")
    who = np.where(asked < 0, people, asked)[votes.row]
    several = sum_by(who, votes.weight, people + 1) >= 2
    who = np.where(several[who], who, people)
    cast = sum_by(who, votes.weight, people + 1)
    return _Panel(votes, who, cast, (cast > 0) & (np.arange(people + 1) < people))


def _over(sums: Array, counts: Array) -> Array:
    ratio = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=ratio, where=counts > 0)
    return ratio


@dataclass(frozen=True)
class _Votes:
    row: Indices
    item: Indices
    value: Array
    weight: Array
    n: Array

    @property
    def counted(self) -> Indices:
        return self.n.astype(np.int64)

    def total(self, what: NDArray[np.bool_] | Array) -> Array:
        return sum_by(self.item, self.weight * what, self.n.size)


def _votes(item: ArrayLike, value: ArrayLike, n: ArrayLike | None, items: int | None) -> _Votes:
    values = np.asarray(value, dtype=np.float64)
    index = np.asarray(item, dtype=np.int64)
    weight = np.ones(values.shape) if n is None else np.asarray(n, dtype=np.float64)
    if values.ndim != 1 or values.shape != index.shape or values.shape != weight.shape:
        raise ValueError("item, value and n must be columns of equal length")
    size = int(index.max(initial=-1)) + 1 if items is None else items
    if np.any((index < 0) | (index >= size)):
        raise ValueError(f"item indices must lie within 0 and {size - 1}")
    if np.isinf(values).any() or np.any(weight < 0) or not np.isfinite(weight).all():
        raise ValueError("values must not be infinite, numbers of votes not negative")
    row = np.flatnonzero(~np.isnan(values) & (weight > 0))
    per_item = sum_by(index[row], weight[row], size)
    return _Votes(row, index[row], values[row], weight[row], per_item)
