"""How strongly two columns go together: Pearson, Spearman and Kendall, each with interval and p-value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate

Array = NDArray[np.float64]

LEAST_PAIRS = 3


MARKS = ((0.001, "\N{DOUBLE DAGGER}"), (0.01, "\N{DAGGER}"))


@dataclass(frozen=True)
class EstimateWithTest(Estimate):
    """An estimate with the p-value of its null hypothesis, None where it was not tested."""

    p: float | None = None

    @property
    def mark(self) -> str:
        """A dagger where p < 0.01, a double dagger where p < 0.001, else nothing."""
        return next((sign for below, sign in MARKS if self.p is not None and self.p < below), "")


@dataclass(frozen=True)
class Correlation(EstimateWithTest):
    """A coefficient of n pairs with its interval and two-sided p-value, or the reason for none."""


def pearson(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Correlation:
    """Pearson's r of the pairs in which neither value is NaN.

    p from t = r sqrt((n-2) / (1-r^2)) with n-2 degrees of freedom; interval tanh(atanh r +- z / sqrt(n-3)).
    Source: R. A. Fisher, On the probable error of a coefficient of correlation, Metron 1 (1921).
    """
    a, b = _pairs(x, y)
    reason = _why_undefined(a, b)
    if reason:
        return Correlation(None, n=a.size, reason=reason)
    r = _product_moment(a, b)
    spread = 1 / np.sqrt(a.size - 3) if a.size > 3 else np.inf
    low, high = _interval_on_z(r, spread, confidence)
    return Correlation(r, low, high, a.size, p=_p_from_t(r, a.size))


def spearman(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Correlation:
    """Spearman's rho: Pearson's r of the mid-ranks.

    p by the t approximation of `pearson`; interval tanh(atanh rho +- z sqrt((1 + rho^2/2) / (n-3))).
    Source: Bonett and Wright, Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations, Psychometrika 65 (2000).
    """
    a, b = _pairs(x, y)
    reason = _why_undefined(a, b)
    if reason:
        return Correlation(None, n=a.size, reason=reason)
    rho = _product_moment(midranks(a), midranks(b))
    spread = np.sqrt((1 + rho**2 / 2) / (a.size - 3)) if a.size > 3 else np.inf
    low, high = _interval_on_z(rho, spread, confidence)
    return Correlation(rho, low, high, a.size, p=_p_from_t(rho, a.size))


def kendall(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Correlation:
    """Kendall's tau-b: (concordant - discordant) / sqrt((pairs - ties in x)(pairs - ties in y)).

    p exact for small samples without ties, by the tie-corrected normal approximation otherwise (scipy);
    interval tanh(atanh tau +- z sqrt(0.437 / (n-4))).
    Source: Fieller, Hartley and Pearson, Tests for rank correlation coefficients I, Biometrika 44 (1957).
    """
    from scipy.stats import kendalltau

    a, b = _pairs(x, y)
    reason = _why_undefined(a, b)
    if reason:
        return Correlation(None, n=a.size, reason=reason)
    result = kendalltau(a, b, variant="b")
    tau = float(np.clip(result.statistic, -1, 1))
    spread = np.sqrt(0.437 / (a.size - 4)) if a.size > 4 else np.inf
    low, high = _interval_on_z(tau, spread, confidence)
    return Correlation(tau, low, high, a.size, p=float(result.pvalue))


def midranks(values: Array) -> Array:
    """Ranks from 1, equal values sharing the mean of the ranks they cover."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(middle[inverse], dtype=np.float64)


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    a = np.asarray(x, dtype=np.float64)
    b = np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two columns of equal length are needed, not shapes {a.shape} and {b.shape}")
    if np.isinf(a).any() or np.isinf(b).any():
        raise ValueError("an infinite value has no place in a correlation")
    known = ~(np.isnan(a) | np.isnan(b))
    return a[known], b[known]


def _why_undefined(a: Array, b: Array) -> str | None:
    if a.size < LEAST_PAIRS:
        return f"{a.size} pairs; a correlation needs {LEAST_PAIRS}"
    first, second = _is_constant(a), _is_constant(b)
    if first and second:
        return "both columns are constant"
    if first or second:
        return f"the {'first' if first else 'second'} column is constant"
    return None


def _is_constant(values: Array) -> bool:
    # Sums such as 0.1 + 0.2 and 0.3 differ in the last bit only: that is rounding, not variation.
    return bool(np.ptp(values) <= 1e-13 * np.abs(values).max())


def _product_moment(a: Array, b: Array) -> float:
    u, v = _unit(a), _unit(b)
    return float(np.clip(u @ v, -1, 1))


def _unit(values: Array) -> Array:
    # Scaling first keeps squares of very large or very small values within range.
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    return np.asarray(centred / np.linalg.norm(centred), dtype=np.float64)


def _p_from_t(r: float, n: int) -> float:
    from scipy.special import stdtr

    if abs(r) == 1:
        return 0.0
    t = abs(r) * np.sqrt((n - 2) / ((1 - r) * (1 + r)))
    return float(2 * stdtr(n - 2, -t))


def _interval_on_z(value: float, spread: float, confidence: float) -> tuple[float, float]:
    from scipy.special import ndtri

    if not np.isfinite(spread):
        return -1.0, 1.0
    if abs(value) == 1:
        return value, value
    half = ndtri((1 + confidence) / 2) * spread
    return float(np.tanh(np.arctanh(value) - half)), float(np.tanh(np.arctanh(value) + half))
