"""Prediction-powered means: few judged values and a measure of everything, narrower than people alone.

Sources: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Prediction-powered inference, Science 382 (2023);
Angelopoulos, Duchi and Zrnic, PPI++ (2023) for power tuning; Zrnic and Candès, Cross-prediction-powered
inference, PNAS 121 (2024) for cross-fitting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate
from sightline.statistics.crossed import Variance
from sightline.statistics.intervals import mean_interval

Array = NDArray[np.float64]

MIN_JUDGED = 5
"""Judged units below which the slope of the measure cannot be estimated: people alone count."""

TOO_ALIKE = 1e-3
"""The proportion of the measure's variance below which judged units show no slope."""


class Powered(NamedTuple):
    """A mean from n judged of N units: its variance, the weight of the measure, and what it explains.

    `weight` is between 0 (people alone) and 1. `spread` is the variance of the judged values, `explained` the
    proportion of it that the measure, fitted on the other units, accounts for.
    """

    value: float
    variance: Variance
    weight: float
    n: int
    units: int
    spread: float
    explained: float

    def at(self, n: int) -> tuple[float, float]:
        """The variances over units of the mean of people alone, and with the measure, if n were judged."""
        alone = self.spread / n
        return alone, self.spread * ((1 - self.explained) / n + self.explained / self.units)

    @property
    def worth(self) -> float:
        """How many judged units would be as good without the measure."""
        return self.spread / self.variance.prompts if self.variance.prompts > 0 else float(self.n)


def power_tuned(
    values: Array, judged: Array, unjudged: Array, weight: float | None = None
) -> tuple[float, float, float]:
    """The prediction-powered mean, its variance, and the weight w of the predictions (PPI++).

    mean(values - w judged) + w mean(unjudged), with variance V(values - w judged) / n + w^2 V(unjudged) / N;
    unless given, w = C(values, judged) / n / (V(judged) / n + V(unjudged) / N), which minimises it, within 0
    and 1. `judged` are predictions of the judged `values`, `unjudged` those of all others.
    """
    n, many = values.size, unjudged.size
    mean = float(unjudged.mean()) if many else 0.0
    other = float(unjudged.var(ddof=1)) / many if many > 1 else 0.0
    if weight is None:
        together = float(np.cov(values, judged)[0, 1]) / n
        noise = float(judged.var(ddof=1)) / n + other
        weight = min(1.0, max(0.0, together / noise)) if noise > 0 else 0.0
    rest = values - weight * judged
    return float(rest.mean()) + weight * mean, float(rest.var(ddof=1)) / n + weight**2 * other, weight


def powered_mean(
    truth: ArrayLike, measure: ArrayLike, measure_of_judged: ArrayLike | None = None
) -> Powered | None:
    """The mean of `truth` over all units, from those judged (not NaN) and a measure of all.

    A unit is a family of prompts. `measure_of_judged` is the measure of those answers of a unit that were
    judged, where they are not all: a judged unit then counts (N m_judged - n m_all) / (N - n), which makes
    the mean what it would be if judged and unjudged answers were of different units. The measure is rescaled
    to the truth by a straight line fitted on the other judged units (leave-one-out), so that a unit does not
    predict itself, and then power-tuned. The residuals' variance and the degrees of freedom count the slope
    by its weight: n - 1 - w. None with fewer than MIN_JUDGED judged units, where they do not vary, or where
    nothing is unjudged.
    """
    y, whole = np.asarray(truth, dtype=np.float64), np.asarray(measure, dtype=np.float64)
    own = whole if measure_of_judged is None else np.asarray(measure_of_judged, dtype=np.float64)
    known = ~np.isnan(whole)
    seen = known & ~np.isnan(y) & ~np.isnan(own)
    n, units = int(seen.sum()), int(known.sum())
    if n < MIN_JUDGED or (units == n and np.array_equal(own[seen], whole[seen])):
        return None
    values = y[seen]
    spread = float(values.var(ddof=1))
    if spread == 0:
        return None
    centre = float(whole[known].mean())
    usual = float(whole[known].var()) if np.ptp(whole[known]) > 0 else np.inf
    slopes = _slopes_without(own[seen] - centre, values, usual)
    part, all_of = slopes * (own[seen] - centre), slopes * (whole[seen] - centre)
    # Where no unit is unjudged, what a unit's judged answers lack of all of its answers is the correction.
    judged = (units * part - n * all_of) / (units - n) if units > n else part - all_of
    unjudged = float(slopes.mean()) * (whole[known & ~seen] - centre)
    value, _, weight = power_tuned(values, judged, unjudged)
    other = float(unjudged.var(ddof=1)) / unjudged.size if unjudged.size > 1 else 0.0
    freedom = n - 1 - weight
    residual = values - weight * judged
    inside = float(np.sum((residual - residual.mean()) ** 2)) / freedom / n
    explained = _explained(values, part) if weight > 0 else 0.0
    return Powered(
        value, Variance(inside + weight**2 * other, 0.0, freedom), weight, n, units, spread, explained
    )


def powered_estimate(
    fit: Powered, variance: Variance, scale: tuple[float | None, float | None], *, yes_no: bool = False
) -> Estimate:
    """The powered mean with an interval that keeps to the scale, as that of people alone does.

    Where judgements are at the two ends only, it is that of a proportion in as many trials as it is worth.
    """
    low, high = scale
    value = place = fit.value
    if low is not None and high is not None:
        value = min(high, max(low, value))
        # At the very end of the scale a proportion has no spread, while this mean has one.
        edge = (high - low) / (2 * fit.n)
        place = min(high - edge, max(low + edge, value))
        if yes_no and not variance.raters:
            variance = Variance((place - low) * (high - place) / fit.worth, 0.0, np.inf)
    interval = mean_interval(np.array([place, place]), low=low, high=high, variance=variance)
    assert interval.low is not None and interval.high is not None
    return Estimate(value, min(interval.low, value), max(interval.high, value), fit.n, "prediction-powered")


def _slopes_without(x: Array, y: Array, usual: float) -> Array:
    """The slope of y on x without each unit in turn; 0 where the others vary next to nothing in x.

    `usual` is the variance of x in all units: a slope through a thousandth of it says nothing about them.
    """
    n = x.size
    x, y = x - x.mean(), y - y.mean()
    away = n / (n - 1)
    squares = np.sum(x**2) - away * x**2
    products = np.sum(x * y) - away * x * y
    varies = squares > TOO_ALIKE * n * usual
    return np.where(varies, products / np.where(varies, squares, 1.0), 0.0)


def _explained(values: Array, predicted: Array) -> float:
    if values.std() == 0 or predicted.std() == 0:
        return 0.0
    return max(0.0, float(np.corrcoef(values, predicted)[0, 1])) ** 2
