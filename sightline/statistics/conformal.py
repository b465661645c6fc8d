"""Intervals of predictions that hold as often as they say, for high predictions as for low ones.

Errors of a bounded or discrete truth differ in size and shape with the prediction. One width for all then
covers too few where errors are large, too many where they are small, and is right only on average. Here
examples with about the same prediction, and of the same group, set each other's interval. All that is asked
is that the examples calibrated on and the new one could have come in any other order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

BINS = 10
LEAST_IN_BIN = 50
"""Smaller bins are merged with the next; a group too small for two bins is calibrated together with all."""
FOLDS = 5
SLACK = 0.02
"""A discrete truth may overshoot in one bin what it lacks in another, by so much at most."""
STEP = 0.005
EQUAL = 1e-9


@dataclass(frozen=True)
class Bins:
    """Where the truth lies by predicted value: bin by bin from `low` to `high`.

    `cuts` divide the predicted values. Where `moves`, low and high are distances from the prediction.
    """

    cuts: Array
    low: Array
    high: Array
    moves: bool

    def around(self, predicted: Array) -> tuple[Array, Array]:
        """The ends of each prediction's interval, which the prediction lies in."""
        at = np.searchsorted(self.cuts, predicted, side="right")
        base = predicted if self.moves else 0.0
        return np.minimum(self.low[at] + base, predicted), np.maximum(self.high[at] + base, predicted)


@dataclass(frozen=True)
class Intervals:
    """Intervals by predicted value, of each group of examples on its own."""

    groups: Sequence[Bins]

    def around(self, predicted: ArrayLike, group: ArrayLike | None = None) -> tuple[Array, Array]:
        """The ends of each prediction's interval; a group that was not calibrated on counts as the last."""
        values, owner = _grouped(predicted, group)
        owner = np.minimum(owner, len(self.groups) - 1)
        low, high = np.empty_like(values), np.empty_like(values)
        for number, bins in enumerate(self.groups):
            mine = owner == number
            low[mine], high[mine] = bins.around(values[mine])
        return low, high

    @property
    def vary(self) -> bool:
        """Whether intervals hold by predicted value; otherwise they hold over all examples together."""
        return all(bins.cuts.size for bins in self.groups)

    def state(self) -> list[dict[str, Any]]:
        """Plain numbers; None where an end is infinite."""
        return [
            {
                "cuts": bins.cuts.tolist(),
                "ends": [
                    [None if np.isinf(end) else end for end in ends]
                    for ends in (bins.low.tolist(), bins.high.tolist())
                ],
                "moves": bins.moves,
            }
            for bins in self.groups
        ]

    @classmethod
    def restored(cls, state: Sequence[dict[str, Any]]) -> Self:
        """The intervals that gave this state."""
        groups = []
        for each in state:
            low, high = each["ends"]
            bins = Bins(
                np.array(each["cuts"], dtype=np.float64),
                np.array([-np.inf if end is None else end for end in low], dtype=np.float64),
                np.array([np.inf if end is None else end for end in high], dtype=np.float64),
                bool(each["moves"]),
            )
            if not len(bins.low) == len(bins.high) == len(bins.cuts) + 1:
                raise ValueError("a bin has no interval")
            groups.append(bins)
        if not groups:
            raise ValueError("there is no interval")
        return cls(groups)


def calibrated(
    predicted: ArrayLike, truth: ArrayLike, group: ArrayLike | None = None, *, coverage: float = 0.9
) -> Intervals:
    """Intervals from examples that were held out when they were predicted.

    The n examples of a group are cut into up to BINS bins of equal size by their prediction. The interval of
    a bin is the shortest that holds a level of its examples, and the level, the same for all bins, is the
    lowest (from coverage - SLACK on) at which intervals set by the other folds hold ceil((n + 1) coverage)
    of the examples. It is one of the truth itself, or of its distance from the prediction, whichever is
    shorter on average. Where n is too small for two bins, it is the prediction plus and minus `half_width`.
    Groups are numbered from 0.
    Source: Vovk, Lindsay, Nouretdinov and Gammerman, Mondrian confidence machine (2003); Lei et al.,
    Distribution-free predictive inference for regression, JASA 113 (2018); Vovk, Cross-conformal predictors,
    Annals of Mathematics and Artificial Intelligence 74 (2015).
    """
    values, owner = _grouped(predicted, group)
    true = _column(truth, "truth")
    if true.shape != values.shape:
        raise ValueError("a truth for every prediction is needed")
    groups = [owner == number for number in range(int(owner.max(initial=0)) + 1)]
    together = np.ones(len(values), dtype=bool)
    chosen = [mine if mine.sum() >= 2 * LEAST_IN_BIN else together for mine in groups]
    return Intervals([_bins(values[mine], true[mine], coverage) for mine in chosen])


def held_across(
    predicted: ArrayLike,
    truth: ArrayLike,
    fold: ArrayLike,
    group: ArrayLike | None = None,
    *,
    coverage: float = 0.9,
) -> Flags:
    """Which truths lie within the intervals that the examples of the other folds set.

    Intervals that all examples set together hold them too easily, having seen them.
    """
    values, owner = _grouped(predicted, group)
    true, part = _column(truth, "truth"), np.asarray(fold)
    if not part.shape == true.shape == values.shape:
        raise ValueError("a truth and a fold for every prediction are needed")
    inside = np.zeros(len(values), dtype=bool)
    for each in np.unique(part):
        mine, others = part == each, part != each
        set_by_others = calibrated(values[others], true[others], owner[others], coverage=coverage)
        inside[mine] = _within(true[mine], *set_by_others.around(values[mine], owner[mine]))
    return inside


def half_width(errors: ArrayLike, *, coverage: float = 0.9) -> float:
    """The ceil((n + 1) coverage)-th smallest absolute error of n examples that were held out.

    A prediction plus and minus this covers the truth of the next example with at least that probability. It
    is infinite where n is too small for any finite width to: n < coverage / (1 - coverage).
    Source: Lei et al., Distribution-free predictive inference for regression, JASA 113 (2018).
    """
    sizes = np.sort(np.abs(_column(errors, "errors")))
    place = _place_above(len(sizes), coverage)
    return float(sizes[place - 1]) if place <= len(sizes) else float("inf")


def _bins(predicted: Array, truth: Array, coverage: float) -> Bins:
    n = len(predicted)
    if n < 2 * LEAST_IN_BIN:
        width = half_width(truth - predicted, coverage=coverage)
        return Bins(np.zeros(0), np.array([-width]), np.array([width]), moves=True)
    order = np.argsort(predicted, kind="stable")
    cuts = _cuts(predicted[order])
    fold = np.empty(n, dtype=np.int64)
    fold[order] = np.arange(n) % FOLDS
    made = [_shortest_that_hold(predicted, truth, cuts, fold, moves, coverage) for moves in (False, True)]
    return min(made, key=lambda bins: _mean_width(bins, predicted, truth))


def _shortest_that_hold(
    predicted: Array, truth: Array, cuts: Array, fold: NDArray[np.int64], moves: bool, coverage: float
) -> Bins:
    at = np.searchsorted(cuts, predicted, side="right")
    values = truth - predicted if moves else truth

    def at_level(level: float, ordered: Sequence[Array]) -> Bins:
        low, high = np.array([_shortest(each, level) for each in ordered]).T
        return Bins(cuts, low, high, moves)

    def by_bin(rows: Flags) -> list[Array]:
        return [np.sort(values[rows & (at == place)]) for place in range(len(cuts) + 1)]

    parts = [(fold == each, by_bin(fold != each)) for each in range(FOLDS)]

    def enough(level: float) -> bool:
        held = (
            _within(truth[mine], *at_level(level, ordered).around(predicted[mine])) for mine, ordered in parts
        )
        return sum(int(each.sum()) for each in held) >= _place_above(len(truth), coverage)

    levels = np.append(np.arange(max(coverage - SLACK, STEP), 1, STEP), 1.0).tolist()
    level = levels[min(bisect_left(levels, True, key=enough), len(levels) - 1)]
    return at_level(level, by_bin(np.ones(len(truth), dtype=bool)))


def _cuts(ordered: Array) -> Array:
    """Where bins begin: of equal size but for ties, which stay together; too small a bin is merged."""
    n = len(ordered)
    count = min(BINS, n // LEAST_IN_BIN)
    kept: list[float] = []
    begun = 0
    for number in range(1, count):
        cut = ordered[number * n // count]
        start = int(np.searchsorted(ordered, cut))
        if start - begun >= LEAST_IN_BIN and n - start >= LEAST_IN_BIN:
            kept.append(float(cut))
            begun = start
    return np.array(kept, dtype=np.float64)


def _shortest(ordered: Array, level: float) -> tuple[float, float]:
    """The shortest interval that holds this proportion; of equally short ones that which holds most."""
    inside = max(1, int(np.ceil(round(len(ordered) * level, 9))))
    lows, highs = ordered[: len(ordered) - inside + 1], ordered[inside - 1 :]
    widths = highs - lows
    short = np.flatnonzero(widths <= widths.min() + EQUAL)
    held = np.searchsorted(ordered, highs[short] + EQUAL) - np.searchsorted(ordered, lows[short] - EQUAL)
    best = short[held.argmax()]
    return float(lows[best]), float(highs[best])


def _mean_width(bins: Bins, predicted: Array, truth: Array) -> float:
    low, high = (np.clip(end, truth.min(), truth.max()) for end in bins.around(predicted))
    return float((high - low).mean())


def _within(truth: Array, low: Array, high: Array) -> Flags:
    return np.asarray((low - EQUAL <= truth) & (truth <= high + EQUAL))


def _grouped(predicted: ArrayLike, group: ArrayLike | None) -> tuple[Array, NDArray[np.int64]]:
    values = _column(predicted, "predictions")
    owner = np.zeros(len(values), dtype=np.int64) if group is None else np.asarray(group, dtype=np.int64)
    if owner.shape != values.shape or owner.min(initial=0) < 0:
        raise ValueError("a group, 0 or above, for every prediction is needed")
    return values, owner


def _place_above(n: int, coverage: float) -> int:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage is {coverage}; it lies between 0 and 1")
    # Without the last digit 10 x 0.9 would be 9.000000000000002 somewhere, and one place too far.
    return int(np.ceil(round((n + 1) * coverage, 9)))


def _column(values: ArrayLike, what: str) -> Array:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError(f"{what} must be a column of finite numbers")
    return column
