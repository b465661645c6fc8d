"""The five-parameter logistic that maps a measure onto opinion scores before Pearson's r is taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.correlation import Correlation, pearson
from sightline.statistics.grouping import Array

LEAST_PAIRS = 6
# Steepness in standard deviations of x: from nearly straight to nearly a step.
_STEEPNESS = (0.05, 200.0)
_STARTS_STEEP = (0.3, 1.0, 3.0, 10.0, 40.0)
_STARTS_MIDDLE = (0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98)
_POLISHED = 8


@dataclass(frozen=True)
class Logistic:
    """a1 (1/2 - 1/(1 + exp(a2 (x - a3)))) + a4 x + a5, with n pairs and the sum of squares it leaves."""

    a1: float
    a2: float
    a3: float
    a4: float
    a5: float
    n: int
    residual_sum_of_squares: float

    def __call__(self, x: ArrayLike) -> Array:
        """The mapped values, NaN staying NaN."""
        values = np.asarray(x, dtype=np.float64)
        return self.a1 * curve(self.a2 * (values - self.a3)) + self.a4 * values + self.a5


def curve(z: ArrayLike) -> Array:
    """1/2 - 1/(1 + exp(z)) as tanh(z/2)/2, which no z can overflow."""
    return np.asarray(np.tanh(np.asarray(z, dtype=np.float64) / 2) / 2)


def fit_logistic(x: ArrayLike, y: ArrayLike, near: Logistic | None = None) -> Logistic:
    """The least-squares five-parameter logistic of y on x over the pairs in which neither value is NaN.

    For fixed a2 and a3 the rest is linear, so the search is over these two alone (variable projection, Golub
    and Pereyra 1973), from every pair of 5 steepnesses and 9 quantiles of x, the best 8 of them refined.
    `near` is a fit to similar data: the search then starts there alone.
    With a1 = 0 the model is a straight line: whatever a2 and a3 are, the fit is never worse than that line.
    Source: Sheikh, Sabir and Bovik, IEEE Transactions on Image Processing 15 (2006).
    """
    from scipy.optimize import least_squares

    a, b = _pairs(x, y)
    middle, width = float(a.mean()), float(a.std())
    scaled = (a - middle) / width
    low, high = float(scaled.min()), float(scaled.max())
    bounds = ([np.log(_STEEPNESS[0]), low], [np.log(_STEEPNESS[1]), high])

    def left(at: Array) -> Array:
        return b - _straightened(scaled, b, at)[0]

    starts = [
        np.array([np.log(steep), where])
        for steep in _STARTS_STEEP
        for where in np.quantile(scaled, _STARTS_MIDDLE)
    ]
    if near is not None:
        starts = [np.array([np.log(near.a2 * width), (near.a3 - middle) / width])]
    starts.sort(key=lambda at: float((left(at) ** 2).sum()))
    candidates = starts[:_POLISHED]
    # The solver needs starts strictly inside the bounds; quantiles can be the extremes.
    inside = [np.clip(start, np.add(bounds[0], 1e-9), np.subtract(bounds[1], 1e-9)) for start in candidates]
    candidates += [least_squares(left, start, bounds=bounds).x for start in inside]
    best = min(candidates, key=lambda at: float((left(at) ** 2).sum()))
    rest, (a1, a4, a5) = left(best), _straightened(scaled, b, best)[1]
    steep, where = float(np.exp(best[0])), float(best[1])
    return Logistic(
        a1,
        steep / width,
        middle + width * where,
        a4 / width,
        a5 - a4 * middle / width,
        a.size,
        float(rest @ rest),
    )


def mapped_pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """PLCC: Pearson's r of y with x mapped by the fitted logistic, or the reason for none.

    The interval ignores that the mapping was fitted; with few pairs it is too narrow.
    """
    raw = pearson(x, y)
    if raw.value is None:
        return raw
    if raw.n < LEAST_PAIRS:
        reason = f"{raw.n} pairs; five parameters need {LEAST_PAIRS}"
        return Correlation(None, n=raw.n, reason=reason)
    return pearson(fit_logistic(x, y)(x), y)


def _straightened(x: Array, y: Array, at: Array) -> tuple[Array, tuple[float, float, float]]:
    """The best fit for fixed log steepness and middle, with its linear coefficients a1, a4, a5."""
    design = np.column_stack([curve(np.exp(at[0]) * (x - at[1])), x, np.ones(x.size)])
    solved = np.linalg.lstsq(design, y, rcond=None)[0]
    a1, a4, a5 = solved.tolist()
    return design @ solved, (a1, a4, a5)


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two columns of equal length are needed, not shapes {a.shape} and {b.shape}")
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    if a.size < LEAST_PAIRS:
        raise ValueError(f"{a.size} pairs; five parameters need {LEAST_PAIRS}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a fit needs finite values")
    if np.ptp(a) <= 1e-13 * np.abs(a).max():
        raise ValueError("x is constant")
    return a, b
