"""Levels of similarity that mean something to people: cut-offs from graded pairs, and how far they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate
from sightline.statistics.folds import grouped_k_fold, k_fold
from sightline.statistics.grouping import Array, Indices
from sightline.statistics.intervals import (
    block_rows,
    cluster_bootstrap,
    stratified_mean_interval,
    wilson,
    within,
)

LEVELS = ("none", "low", "medium", "high")
COUNT = len(LEVELS)
PUBLISHED = (0.2, 0.4, 0.85)
"""Cut-offs of W1KP for normalised similarity by DreamSim."""
RESAMPLES = 2000


@dataclass(frozen=True)
class CutOffs:
    """Where one level of similarity ends and the next begins, and their accuracy."""

    values: tuple[float, ...]
    accuracy: float
    n: int


@dataclass(frozen=True)
class Calibration:
    """Cut-offs from all pairs, and how well cut-offs from other pairs did on each.

    `micro` is the proportion of correct pairs, `macro` its mean over levels; `confusion` counts pairs by the
    level people gave (rows) and the one predicted (columns); `predicted` has a level a pair.
    """

    cut_offs: CutOffs
    micro: Estimate
    macro: Estimate
    confusion: Indices
    predicted: Indices
    folds: int


@dataclass(frozen=True)
class People:
    """How often single annotators gave the settled level, by pair (`micro`) and by level (`macro`).

    An annotator's own vote is part of what was settled; `others` holds each against the rest alone.
    """

    micro: Estimate
    macro: Estimate
    others: Estimate


def level(similarity: ArrayLike, cut_offs: Sequence[float]) -> Indices:
    """The level of each similarity: how many cut-offs it reaches (0 is none, 3 high)."""
    return np.searchsorted(np.asarray(cut_offs, dtype=np.float64), np.asarray(similarity), side="right")


def cut_offs(similarity: ArrayLike, levels: ArrayLike) -> CutOffs:
    """The cut-offs that put most pairs into the level people gave them, exactly.

    With pairs in order of similarity, the most right among the first j in levels up to l is the largest, over
    i <= j, of the most among the first i in levels up to l - 1 plus the pairs i to j that are of level l: a
    dynamic program, O(pairs x levels). A cut lies midway between two neighbours; of equally good ones the
    lowest is taken. A level that serves nothing is empty: its cut-offs coincide.
    Source: W1KP (Tang et al. 2024), equation 3.
    """
    score, grade = _graded(similarity, levels)
    order = np.argsort(score, kind="stable")
    score, grade = score[order], grade[order]
    # A cut can only lie between different similarities: ends[j] pairs are below place j.
    ends = np.append(0, np.flatnonzero(np.append(np.diff(score) > 0, True)) + 1)
    right = [np.append(0, np.cumsum(grade == each))[ends] for each in range(COUNT)]
    best, came = right[0], []
    for each in range(1, COUNT):
        # best[i] + right[j] - right[i], the largest over i <= j: a running maximum of best - right.
        gain = best - right[each]
        top = np.maximum.accumulate(gain)
        came.append(np.searchsorted(top, top, side="left"))
        best = top + right[each]
    place, cuts = ends.size - 1, []
    for chosen in reversed(came):
        place = int(chosen[place])
        cuts.append(place)
    values = tuple(_cut(score, int(ends[place])) for place in reversed(cuts))
    return CutOffs(values, float(best[-1]) / score.size, score.size)


def calibrate(
    similarity: ArrayLike,
    levels: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
) -> Calibration:
    """Cut-offs with their cross-validated accuracy; rows of one group (pairs of a prompt) stay together.

    Each pair gets its level from cut-offs that were found without its fold; accuracies and the confusion
    table are over all pairs at once. Intervals are over groups; the doubt about the cut-offs themselves is
    not in them: simulated with 40 prompts of 6 pairs they hold the accuracy of the cut-offs in use 88 to 92
    times of 100.
    """
    score, grade = _graded(similarity, levels)
    fold = (
        k_fold(score.size, folds, seed=seed) if groups is None else grouped_k_fold(groups, folds, seed=seed)
    )
    predicted = np.zeros(score.size, dtype=np.int64)
    for each in range(folds):
        held = fold == each
        predicted[held] = level(score[held], cut_offs(score[~held], grade[~held]).values)
    micro, macro = accuracy(grade, predicted, groups, seed=seed)
    confusion = np.bincount(grade * COUNT + predicted, minlength=COUNT**2).reshape(COUNT, COUNT)
    return Calibration(cut_offs(score, grade), micro, macro, confusion, predicted, folds)


def accuracy(
    levels: ArrayLike, predicted: ArrayLike, groups: ArrayLike | None = None, *, seed: int = 0
) -> tuple[Estimate, Estimate]:
    """The proportion of equal levels, and its mean over the levels that occur.

    With `groups` (pairs of a prompt, votes on a pair) rows of one group go together, and the intervals are of
    the cluster bootstrap, which draws whole groups again; where all rows are right, or none, drawing again
    shows no spread, and it is Wilson's over groups. Without, rows are independent: Wilson and stratified t.
    """
    grade, guess = np.asarray(levels), np.asarray(predicted)
    equal = (grade == guess).astype(np.float64)
    if groups is None:
        macro = within(stratified_mean_interval(equal, grade), 0.0, 1.0)
        return wilson(int(equal.sum()), equal.size), macro
    labels, home = np.unique(np.asarray(groups), return_inverse=True)
    if equal.size and np.ptp(equal) == 0:
        alike = wilson(labels.size if equal[0] else 0, labels.size)
        return alike, alike
    return cluster_bootstrap(equal, home, seed=seed), _mean_over_levels(equal, grade, home, seed)


def _mean_over_levels(equal: Array, grade: Array, home: Indices, seed: int) -> Estimate:
    """The mean over levels of the proportion that is right, whole groups being drawn again.

    A level that a draw has no pair of is left out of that draw's mean.
    """
    kinds, kind = np.unique(grade, return_inverse=True)
    n = int(home.max(initial=-1)) + 1
    method = "cluster bootstrap"
    if n == 0:
        return Estimate(None, None, None, 0, method, "no value is known")
    cell, shape = home * kinds.size + kind, (n, kinds.size)
    hits = np.bincount(cell, equal, n * kinds.size).reshape(shape)
    sizes = np.bincount(cell, minlength=n * kinds.size).reshape(shape)
    value = float((hits.sum(axis=0) / sizes.sum(axis=0)).mean())
    if n == 1:
        return Estimate(value, None, None, 1, method, "one cluster shows no spread")
    rng = np.random.default_rng(seed)
    draws = []
    for rows in block_rows(RESAMPLES, n):
        times = rng.multinomial(n, np.full(n, 1 / n), size=rows).astype(np.float64)
        with np.errstate(invalid="ignore"):
            draws.append(np.nanmean((times @ hits) / (times @ sizes), axis=1))
    low, high = np.quantile(np.concatenate(draws), (0.025, 0.975))
    return Estimate(value, float(low), float(high), n, method)


def settle_levels(items: ArrayLike, grades: ArrayLike, *, lowest: float = 1.0) -> Array:
    """The level of each item, 0 up: the median of its grades, grades above the top level counting as it.

    W1KP merges "very similar" and "the same" and takes the median of three. A median between two levels, as
    an even number of votes may give, is NaN: nobody can say which of them it is.
    """
    item = np.asarray(items, dtype=np.int64)
    value = np.minimum(np.asarray(grades, dtype=np.float64) - lowest, COUNT - 1)
    settled = np.full(int(item.max(initial=-1)) + 1, np.nan)
    for rows in _by_item(item, value):
        low, high = _middle(value[rows])
        settled[item[rows[0]]] = low if low == high else np.nan
    return settled


def people(
    items: ArrayLike,
    grades: ArrayLike,
    settled: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    lowest: float = 1.0,
) -> People:
    """The annotators' own accuracy, the yardstick of an automatic one.

    `others` holds each vote against the median of the item's other votes; where that lies between two levels
    either is half right. `groups` has the prompt of every item; without it each item stands for itself.
    """
    item = np.asarray(items, dtype=np.int64)
    value = np.minimum(np.asarray(grades, dtype=np.float64) - lowest, COUNT - 1)
    truth = np.asarray(settled, dtype=np.float64)[item]
    home = item if groups is None else np.asarray(groups)[item]
    known = ~np.isnan(truth)
    micro, macro = accuracy(truth[known], value[known], home[known])
    return People(micro, macro, cluster_bootstrap(_against_others(item, value), home))


def _against_others(item: Indices, value: Array) -> Array:
    """1, a half or 0 for each vote; NaN where nobody else voted."""
    right = np.full(item.size, np.nan)
    for rows in _by_item(item, value):
        for row in rows if rows.size > 1 else ():
            right[row] = np.mean(_middle(value[rows[rows != row]]) == value[row])
    return right


def _by_item(item: Indices, value: Array) -> list[Indices]:
    """The votes on each item, in ascending order of their value."""
    order = np.lexsort((value, item))
    return np.split(order, np.flatnonzero(np.diff(item[order])) + 1) if order.size else []


def _middle(ascending: Array) -> Array:
    """The lower and the upper median."""
    return ascending[[(ascending.size - 1) // 2, ascending.size // 2]]


def _graded(similarity: ArrayLike, levels: ArrayLike) -> tuple[Array, Indices]:
    score = np.asarray(similarity, dtype=np.float64)
    given = np.asarray(levels, dtype=np.float64)
    if score.ndim != 1 or score.shape != given.shape or score.size == 0:
        raise ValueError(
            f"similarities {score.shape} and levels {given.shape} must be columns of equal length"
        )
    if not np.isfinite(score).all() or not np.isin(given, np.arange(COUNT)).all():
        raise ValueError(f"similarities must be finite and levels whole numbers from 0 to {COUNT - 1}")
    return score, given.astype(np.int64)


def _cut(score: Array, below: int) -> float:
    """A cut with so many of the rising similarities below it."""
    if below == 0:
        return float(score[0])
    if below == score.size:
        return float(np.nextafter(score[-1], np.inf))
    middle = (score[below - 1] + score[below]) / 2
    # Of neighbours in the last bit the middle may be the lower one, which would then count as reaching it.
    return float(score[below] if middle <= score[below - 1] else middle)
