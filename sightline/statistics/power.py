"""Power: the smallest true difference that a study's own test finds four times out of five."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sightline.statistics.crossed import Variance
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

    It comes from how far the differences scatter around their mean, however large that is. Where they are
    many, from the noncentral t distribution with the variance over prompts and raters. Where they are few, by
    simulation of the test that is used: residuals are drawn with signs at random and move by the effect. Yes
    and no, and differences that are mostly zero, move by whole steps: where one side is significantly rarer,
    as many prompts differ to either side without an effect as now differ to that one.
    """
    known = differences[~np.isnan(differences)]
    size = float(np.abs(known).max(initial=0.0))
    if known.size < 2:
        return None, "fewer than two prompts in common"
    if not varies(known):
        return None, "the differences do not vary"
    if 2.0 ** (1 - known.size) >= alpha:
        return None, f"{known.size} prompts allow no p below {2.0 ** (1 - known.size) * many:.2g}"
    moved = known[known != 0]
    if bool(np.all(np.abs(np.abs(moved) - size) <= 1e-9 * size)):
        effect = _of_signs(known, size, alpha, seed)
        effect = None if effect is None else max(effect, noncentral_effect(spread.variance, alpha))
    elif spread.variance.raters or moved.size >= PLENTY or many > MOST_PAIRS:
        return noncentral_effect(spread.variance, alpha), None
    elif spread.sparse:
        either = _either(known)
        zeros = np.zeros(known.size - either.size)
        effect = _simulated(np.concatenate([either, zeros, [size, size]]), known.size, alpha, size, seed)
    else:
        residuals = (known - known.mean()) * (known.size / (known.size - 1)) ** 0.5
        effect = _simulated(np.abs(residuals), known.size, alpha, None, seed)
    if effect is None:
        return None, f"{known.size} prompts detect no difference"
    return effect, None


def noncentral_effect(variance: Variance, alpha: float) -> float:
    """The mean difference that the t test with a variance over prompts and raters finds with 80 % power."""
    # Two digits of the degrees of freedom decide: pairs that are alike share the work.
    freedom = float(f"{variance.effective_df(alpha / 2):.2g}")
    return _noncentrality(freedom + 1, alpha, POWER) * variance.total**0.5


def _either(known: Array) -> Array:
    """The sizes of the differences to expect without an effect: all, or twice those of the rarer side."""
    from scipy.special import bdtr

    above, below = known[known > 0], -known[known < 0]
    rarer = min(above, below, key=len)
    if 2 * bdtr(float(rarer.size), above.size + below.size, 0.5) < 0.05:
        return np.concatenate([rarer, rarer])
    return np.concatenate([above, below])


def _of_signs(known: Array, size: float, alpha: float, seed: int) -> float | None:
    """The same where all differences that are not zero have one size: signs are counted.

    A proportion q of prompts differs without an effect, half of them to either side; of a proportion a, the
    effect moves those that lost to zero and those at zero to the better side.
    """
    from scipy.special import bdtr

    n = known.size
    q = (_either(known).size + 2) / (n + 2)

    def power(amount: float) -> float:
        better, worse = q / 2 + amount * (1 - q), q / 2 * (1 - amount)
        counts = np.random.default_rng(seed).multinomial(n, (better, worse, 1 - better - worse), SIMULATED)
        above, below = counts[:, 0], counts[:, 1]
        signs = np.minimum(1.0, 2 * bdtr(np.minimum(above, below).astype(np.float64), above + below, 0.5))
        return float(np.mean(signs < alpha))

    amount = _least(power, 1.0)
    return None if amount is None else amount * (1 - q / 2) * size


def _simulated(pool: Array, n: int, alpha: float, step: float | None, seed: int) -> float | None:
    """The effect by differences drawn from a pool of sizes: all move a little, or some of them by a step."""
    rng = np.random.default_rng(seed)
    drawn = pool[rng.integers(0, pool.size, (SIMULATED, n))] * rng.choice([-1.0, 1.0], (SIMULATED, n))
    chance = rng.random((SIMULATED, n))

    def shifted(amount: float) -> Array:
        if step is None:
            return drawn + amount
        return np.where(chance < amount, np.minimum(drawn + step, step), drawn)

    amount = _least(
        lambda each: float(np.mean(_p(shifted(each)) < alpha)), 1.0 if step else 4 * float(pool.max())
    )
    return None if amount is None else float(np.mean(shifted(amount) - drawn))


def _least(power: Callable[[float], float], most: float) -> float | None:
    """The smallest amount with enough power, or None if the most has not."""
    least = 0.0
    if power(most) < POWER:
        return None
    for _ in range(8):
        middle = (least + most) / 2
        least, most = (least, middle) if power(middle) >= POWER else (middle, most)
    return most


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
