"""Power: the smallest true difference that a study's own test finds four times out of five."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sightline.statistics.paired import Spread
from sightline.statistics.significance import varies

Array = NDArray[np.float64]

POWER = 0.8
# Beyond such a t the series of scipy's noncentral distribution do not converge.
FAR_OUT = 1000.0
PLENTY = 60
"""Differences that are not zero from which on the t test has the power of sign flips."""
MOST_PAIRS = 300
"""Pairs whose power is simulated at the most."""
SIMULATED = 600


def detectable_effect(
    differences: Array, spread: Spread, alpha: float, *, many: int = 1, seed: int = 0
) -> tuple[float | None, str | None]:
    """The smallest true mean difference that is found with a power of 80 % at a level, or why there is none.

    Where differences are many, from the noncentral t distribution with the variance over prompts and raters.
    Where they are few or mostly zero, by simulation of the test that is used: differences are drawn from
    those seen, with signs at random, and move by the effect: all of them by a little, or, where most are
    zero, some of them by a whole step.
    """
    known = differences[~np.isnan(differences)]
    moved = int(np.count_nonzero(known))
    if known.size < 2:
        return None, "fewer than two prompts in common"
    if not varies(known):
        return None, "the differences do not vary"
    if 2.0 ** (1 - known.size) >= alpha:
        return None, f"{known.size} prompts allow no p below {2.0 ** (1 - known.size) * many:.2g}"
    if spread.variance.raters or moved >= PLENTY or many > MOST_PAIRS:
        # Two digits of the degrees of freedom decide: pairs that are alike share the work.
        freedom = float(f"{spread.variance.effective_df(alpha / 2):.2g}")
        return _noncentrality(freedom + 1, alpha, POWER) * spread.variance.total**0.5, None
    size = float(np.abs(known).max())
    pool = np.concatenate([np.abs(known), [size, size]]) if spread.sparse else np.abs(known)
    effect = _simulated(pool, known.size, alpha, size, spread.sparse, seed)
    return (effect, None) if effect is not None else (None, f"{known.size} prompts detect no difference")


def _simulated(pool: Array, n: int, alpha: float, size: float, stepwise: bool, seed: int) -> float | None:
    rng = np.random.default_rng(seed)
    drawn = pool[rng.integers(0, pool.size, (SIMULATED, n))] * rng.choice([-1.0, 1.0], (SIMULATED, n))
    chance = rng.random((SIMULATED, n))

    def power(amount: float) -> float:
        if stepwise:
            shifted = np.where(chance < amount, np.minimum(drawn + size, size), drawn)
        else:
            shifted = drawn + amount * size
        return float(np.mean(_p(shifted) < alpha))

    least, most = 0.0, 1.0 if stepwise else 4.0
    if power(most) < POWER:
        return None
    for _ in range(8):
        middle = (least + most) / 2
        least, most = (least, middle) if power(middle) >= POWER else (middle, most)
    if stepwise:
        return float(np.mean(np.where(chance < most, np.minimum(drawn + size, size) - drawn, 0.0)))
    return most * size


def _p(differences: Array) -> Array:
    """Two-sided p of each row: exact signs where all sizes are equal, else Student's, as sign flips give."""
    from scipy.special import bdtr, stdtr

    size = np.abs(differences)
    moved = np.count_nonzero(differences, axis=1)
    floor = 2.0 ** (1 - np.minimum(moved, 60.0))
    equal = (size.max(axis=1) - np.where(size > 0, size, np.inf).min(axis=1)) <= 1e-12 * size.max(axis=1)
    n = differences.shape[1]
    error = differences.std(axis=1, ddof=1) / np.sqrt(n)
    t = np.abs(differences.mean(axis=1)) / np.where(error > 0, error, 1.0)
    student = np.where(error > 0, 2 * stdtr(n - 1, -t), np.where(moved > 0, 0.0, 1.0))
    fewer = np.minimum(np.sum(differences > 0, axis=1), np.sum(differences < 0, axis=1))
    signs = np.minimum(1.0, 2 * bdtr(fewer.astype(np.float64), moved, 0.5))
    return np.asarray(np.maximum(np.where(equal & (moved > 0), signs, student), floor), dtype=np.float64)


def minimum_detectable_effect(
    sd_of_differences: float, n: int, *, alpha: float = 0.05, power: float = POWER
) -> float:
    """The smallest true mean difference that a two-sided paired t test on n units finds with the given power.

    Solves P(|T| > t(1 - alpha/2, n-1)) = power for T noncentral t with noncentrality difference sqrt(n) / sd.
    Source: J. Cohen, Statistical power analysis for the behavioral sciences (1988), chapter 2.
    """
    if n < 2:
        raise ValueError(f"{n} units show no spread; at least 2 are needed")
    if not sd_of_differences >= 0 or not 0 < alpha < power < 1:
        raise ValueError(f"need 0 <= sd, 0 < alpha < power < 1, not {sd_of_differences}, {alpha}, {power}")
    return _noncentrality(float(n), alpha, power) * sd_of_differences / float(np.sqrt(n))


@lru_cache(maxsize=1024)
def _noncentrality(n: float, alpha: float, power: float) -> float:
    """How far off the mean must be, in its standard errors; the same for all pairs on equally many units."""
    from scipy.optimize import brentq
    from scipy.special import stdtrit
    from scipy.stats import chi2, nct

    critical = float(stdtrit(n - 1, 1 - alpha / 2))
    if critical > FAR_OUT:
        # The numerator no longer varies to speak of: |T| exceeds it if chi2 / (n-1) < (noncentrality / it)^2.
        return critical * float(np.sqrt(chi2.ppf(power, n - 1) / (n - 1)))

    def shortfall(noncentrality: float) -> float:
        # Far out in the lower tail scipy has no number, where there is next to no probability either.
        lower = np.nan_to_num(nct.cdf(-critical, n - 1, noncentrality))
        return float(nct.sf(critical, n - 1, noncentrality) + lower) - power

    highest = critical + 1.0
    while shortfall(highest) < 0:
        highest *= 2
    return float(brentq(shortfall, 0.0, highest))
