"""Partial pooling: the means of small groups drawn to the mean of all, by as much as chance calls for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.estimate import Estimate
from sightline.statistics.crossed import Variance
from sightline.statistics.intervals import mean_interval

Array = NDArray[np.float64]


METHOD = "partial pooling"


def partial_pooling(
    groups: Sequence[Array],
    *,
    low: float | None = None,
    high: float | None = None,
    raters: Sequence[Variance | None] | None = None,
    confidence: float = 0.95,
) -> list[Estimate]:
    """The mean of each group, drawn to the common mean: mean + B (m - mean).

    B = (k - 3) / (k - 1) e / (T + e) for k groups, e = v / n the error of a mean with the variance v within
    groups, T the variance between them (Paule and Mandel), m the mean weighted by 1 / (T + e). The variance
    is (1 - B) e + B^2 var(m) + 2 / (k - 3) B^2 (mean - m)^2, the last since T is an estimate. With fewer than
    four groups, or none with two values, means stay as they are. `raters` holds the variance of each mean
    over prompts and raters: what raters add is common to all groups, so that pooling does not lessen it.
    Source: Morris, JASA 78 (1983); Paule and Mandel, J. Res. NBS 87 (1982).
    """
    crossed = [None] * len(groups) if raters is None else list(raters)
    sizes = np.array([len(each) for each in groups], dtype=np.float64)
    within = sum(float(np.sum((each - each.mean()) ** 2)) for each in groups if len(each))
    freedom = float(np.sum(np.maximum(sizes - 1, 0)))
    if len(groups) < 4 or freedom < 1 or within == 0:
        return [
            mean_interval(each, low=low, high=high, variance=variance, confidence=confidence)
            for each, variance in zip(groups, crossed, strict=True)
        ]
    means = np.array([each.mean() for each in groups])
    errors = within / freedom / sizes
    between = _between(means, errors)
    weights = 1 / (between + errors)
    centre = float(np.sum(weights * means) / np.sum(weights))
    k = len(groups)
    drawn = errors / (between + errors) * (k - 3) / (k - 1)
    kept = 1 - drawn
    pooled = centre + kept * (means - centre)
    unsure = 2 / (k - 3) * (drawn * (means - centre)) ** 2
    variance = kept * errors + drawn**2 / np.sum(weights) + unsure
    made = []
    for number, each in enumerate(groups):
        shifted = np.array([pooled[number], pooled[number]])
        spread = Variance(float(variance[number]), 0.0, freedom)
        who = crossed[number]
        if who is not None and who.raters:
            spread = spread._replace(raters=who.raters, rater_df=who.rater_df)
        interval = mean_interval(shifted, low=low, high=high, variance=spread, confidence=confidence)
        method = f"{METHOD} over prompts and raters" if spread.raters else METHOD
        made.append(Estimate(pooled[number], interval.low, interval.high, len(each), method))
    return made


def _between(means: Array, errors: Array) -> float:
    """The variance between groups at which their weighted squares are as many as their degrees of freedom."""

    def excess(between: float) -> float:
        weights = 1 / (between + errors)
        centre = np.sum(weights * means) / np.sum(weights)
        return float(np.sum(weights * (means - centre) ** 2)) - (len(means) - 1)

    if excess(0.0) <= 0:
        return 0.0
    from scipy.optimize import brentq

    return float(brentq(excess, 0.0, 10 * float(means.var(ddof=1)) + 1e-12))
