"""Could a difference be chance? Tests, corrections for many of them, and what a study could have seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.intervals import block_rows, known_values

Array = NDArray[np.float64]
Alternative = Literal["two-sided", "greater", "less"]
Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Computes a function of each input, in their order, as `map` does; perhaps by several processes."""

# 2^16 sign patterns are listed in a millisecond; beyond, drawing 10,000 is cheaper and precise enough.
MOST_FOR_EXACT = 16
# Beyond so many differences, none of which is more than 1/EVEN of the sum of squares, drawing gains nothing.
MOST_DRAWN_FOR = 200
EVEN = 20
# Columns of one part: signs are drawn anew for each, which takes a twentieth of its time.
COLUMNS = 1024


@dataclass(frozen=True)
class Test:
    """A test's statistic, p-value, number of units and method, or the reason why there is no p-value."""

    __test__ = False  # pytest would otherwise take the class for a test case

    statistic: float | None
    p: float | None
    n: int
    method: str
    reason: str | None = None


def sign_flip(
    differences: ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    permutations: int = 10_000,
    seed: int = 0,
) -> Test:
    """Paired permutation test of a zero mean difference: how often random signs reach the observed sum.

    Exact over all 2^m sign patterns while the m non-zero differences are few; otherwise p = (b+1)/(m+1) over
    m drawn patterns, and over 200 and more of about equal size by the normal distribution with Edgeworth's
    correction. Zero differences change no sum, NaN ones are left out.
    Source: Fisher, The design of experiments (1935), section 21; Phipson and Smyth, SAGMB 9 (2010) for (b+1).
    """
    known = known_values(differences)
    if known.size == 0:
        return Test(None, None, 0, "sign-flip", "no difference is known")
    exact = np.count_nonzero(known) <= MOST_FOR_EXACT
    p = sign_flip_columns(known[:, None], alternative=alternative, permutations=permutations, seed=seed)[0]
    method = "sign-flip, exact" if exact else f"sign-flip, at most {permutations} drawn"
    return Test(float(known.mean()), float(p), known.size, method)


def sign_flip_columns(
    differences: Array,
    *,
    alternative: Alternative = "two-sided",
    permutations: int = 10_000,
    seed: int = 0,
    each: Each | None = None,
) -> Array:
    """`sign_flip` of every column (units x comparisons, NaN = missing): p-values, NaN if empty.

    `each` computes parts of the columns, with the same signs and so the same p-values as all at once.
    """
    missing = np.isnan(differences)
    filled = np.where(missing, 0.0, differences)
    p = np.full(filled.shape[1], np.nan)
    moved = np.count_nonzero(filled, axis=0)
    some = ~missing.all(axis=0)
    for column in np.flatnonzero(some & (moved <= MOST_FOR_EXACT)):
        values = filled[:, column]
        p[column] = _exact_p(values[values != 0], alternative)
    # Where no difference stands out, sums are as good as normal, with what they lack in their fourth moment.
    squares = np.sum(filled**2, axis=0)
    even = (moved > MOST_DRAWN_FOR) & (np.max(filled**2, axis=0, initial=0.0) * EVEN < squares)
    p[even] = _normal_p(filled[:, even], alternative)
    many = np.flatnonzero(some & (moved > MOST_FOR_EXACT) & ~even)
    if many.size:
        how = (alternative, permutations, seed, max(filled.shape[0], many.size))
        size = many.size if each is None else COLUMNS
        parts = [filled[:, many[start : start + size]] for start in range(0, many.size, size)]
        p[many] = np.concatenate(list((each or map)(partial(_drawn_p, how), parts)))
    return p


def paired_bootstrap(
    differences: ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 0,
) -> Test:
    """Bootstrap-t test of a zero mean difference: how often centred differences give a t as far off.

    t = mean / (sd / sqrt(n)), p = (b+1)/(m+1) over m resamples of differences minus their mean, each with
    its own sd; a mean alone would be called significant far too often where differences are few. A resample
    of one value only counts as far off. Without spread there is no t, and no p unless all differences are 0.
    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), section 16.4.
    """
    known = known_values(differences)
    method = f"paired bootstrap, {resamples} drawn"
    if known.size < 2:
        return Test(None, None, known.size, method, "fewer than two differences show no spread")
    observed = float(known.mean())
    if not known.any():
        return Test(observed, 1.0, known.size, method)
    if not varies(known):
        return Test(observed, None, known.size, method, "all differences are equal: no spread to draw from")
    centred = known - observed
    t = observed / float(known.std(ddof=1))
    rng = np.random.default_rng(seed)
    reached = 0
    for rows in block_rows(resamples, known.size):
        drawn = centred[rng.integers(0, known.size, (rows, known.size))]
        spread = drawn.std(axis=1, ddof=1)
        flat = spread <= _slack(np.abs(centred).max())
        far = _reaches(drawn.mean(axis=1) / np.where(flat, 1.0, spread), t, _slack(abs(t)), alternative)
        reached += int(np.count_nonzero(far | flat))
    return Test(observed, (reached + 1) / (resamples + 1), known.size, method)


def varies(values: Array) -> bool:
    """Whether values differ by more than the last bits, which differences of equal size may differ in."""
    return bool(np.ptp(values) > _slack(float(np.abs(values).max()))) if values.size else False


def mann_whitney(x: ArrayLike, y: ArrayLike, *, alternative: Alternative = "two-sided") -> Test:
    """Mann-Whitney U of two independent groups; "less" asks whether x tends to be smaller than y.

    Exact for small samples without ties, tie-corrected normal approximation otherwise (scipy).
    Source: Mann and Whitney, Annals of Mathematical Statistics 18 (1947).
    """
    from scipy.stats import mannwhitneyu

    a, b = known_values(x), known_values(y)
    if a.size == 0 or b.size == 0:
        return Test(None, None, a.size + b.size, "mann-whitney", "one of the groups is empty")
    if np.ptp(np.concatenate([a, b])) == 0:
        return Test(a.size * b.size / 2, None, a.size + b.size, "mann-whitney", "all values are equal")
    result = mannwhitneyu(a, b, alternative=alternative, method="auto")
    return Test(float(result.statistic), float(result.pvalue), a.size + b.size, "mann-whitney")


def holm(p: ArrayLike) -> Array:
    """p-values adjusted to bound the chance of any false alarm.

    Running maximum of (m - i + 1) p(i), at most 1.
    NaN stays NaN and is not counted among the m.
    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    return _adjust(p, lambda ordered: np.maximum.accumulate(ordered * np.arange(ordered.size, 0, -1)))


def benjamini_hochberg(p: ArrayLike) -> Array:
    """p-values adjusted to bound the proportion of false alarms (scipy); NaN stays NaN and is not counted.

    Source: Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995).
    """
    from scipy.stats import false_discovery_control

    return _adjust(p, false_discovery_control)


def _exact_p(values: Array, alternative: Alternative) -> float:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    reached = _reaches(sums, float(values.sum()), _slack(np.abs(values).sum()), alternative)
    return float(np.mean(reached))


def _normal_p(columns: Array, alternative: Alternative) -> Array:
    """Tails of the sums over all sign patterns by Edgeworth's series with their fourth cumulant.

    Differences that are multiples of a step give sums two steps apart: continuity is corrected by one.
    """
    from scipy.special import ndtr

    squares = np.sum(columns**2, axis=0)
    total = columns.sum(axis=0)
    fourth = -2 * np.sum(columns**4, axis=0) / squares**2
    sign = -1.0 if alternative == "less" else 1.0
    at = (np.abs(total) if alternative == "two-sided" else sign * total) - _step(columns)
    at = (np.maximum(at, 0.0) if alternative == "two-sided" else at) / np.sqrt(squares)
    density = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    tail = ndtr(-at) + fourth / 24 * (at**3 - 3 * at) * density
    return np.clip(tail * (2 if alternative == "two-sided" else 1), np.finfo(np.float64).tiny, 1.0)


def _step(columns: Array) -> Array:
    """The largest step that all values are multiples of, down to a twelfth of the least; else 0."""
    size = np.abs(columns)
    least = np.where(size > 0, size, np.inf).min(axis=0)
    step = np.zeros(columns.shape[1])
    for parts in range(12, 0, -1):
        whole = size * parts / least
        step[np.max(np.abs(whole - np.round(whole)), axis=0) < 1e-6] = parts
    return np.where(step > 0, least / np.maximum(step, 1), 0.0)


def _drawn_p(how: tuple[Alternative, int, int, int], columns: Array) -> Array:
    # One set of signs serves every column: each column's own test stays valid, and one product does them all.
    # How many are drawn at a time decides which: it is that of all columns, whichever part these are.
    alternative, permutations, seed, width = how
    rng = np.random.default_rng(seed)
    observed = columns.sum(axis=0)
    slack = _slack(np.abs(columns).sum(axis=0))
    reached = np.zeros(columns.shape[1])
    for rows in block_rows(permutations, width):
        kept = rng.integers(0, 2, (rows, columns.shape[0]), dtype=np.int8).astype(np.float64)
        reached += np.count_nonzero(
            _reaches(2 * (kept @ columns) - observed, observed, slack, alternative), axis=0
        )
    return np.asarray((reached + 1) / (permutations + 1), dtype=np.float64)


def _slack(scale: Array | float) -> Array | float:
    # Equal sums added up in another order differ in the last bits; they count as reached.
    return 1e-12 * scale


def _reaches(
    drawn: Array, observed: Array | float, slack: Array | float, alternative: Alternative
) -> NDArray[np.bool_]:
    if alternative == "greater":
        return np.asarray(drawn >= observed - slack)
    if alternative == "less":
        return np.asarray(drawn <= observed + slack)
    if alternative == "two-sided":
        return np.asarray(np.abs(drawn) >= np.abs(observed) - slack)
    raise ValueError(f"alternative {alternative!r} is none of two-sided, greater, less")


def _adjust(p: ArrayLike, rule: Callable[[Array], Array]) -> Array:
    column = np.asarray(p, dtype=np.float64)
    if column.ndim != 1 or np.any((column < 0) | (column > 1)):
        raise ValueError("p-values form one column within 0 and 1")
    adjusted = np.full(column.shape, np.nan)
    known = np.flatnonzero(~np.isnan(column))
    order = known[np.argsort(column[known], kind="stable")]
    adjusted[order] = np.minimum(rule(column[order]), 1.0)
    return adjusted
