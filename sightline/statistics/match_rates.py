"""Match rates: proportions of images that match their prompt, over systems and tasks, and what they owe.

All of it works on rows of yes (1) and no (0), whoever said so: people, a verdict, or a published table.
Sources: E. B. Wilson, JASA 22 (1927); Korn and Graubard, Survey Methodology 24 (1998) for the number of
independent trials; Q. McNemar, Psychometrika 12 (1947); Achterberg et al. 2023 (GIMBRR) for the regressions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate
from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.intervals import wilson
from sightline.statistics.significance import Test, sign_flip

Group = TypeVar("Group", bound=Hashable)


class Slope(NamedTuple):
    """The slope of a straight line with its interval and p, over n points; none where they show none."""

    slope: Estimate
    p: float | None
    n: int


class Interaction(NamedTuple):
    """y on x, a kind and their product: does the slope differ between kinds?

    `main_squares` is the type-I sum of squares of x entering first, with its p; `slope` that of the model
    without interaction, with its p.
    """

    p: float
    df: int
    main_squares: float
    main_p: float
    slope: float
    slope_p: float


class LinkedPoint(NamedTuple):
    """A task's match rate of a system, and that of the distinct simpler prompts its prompts build on."""

    task: str
    system: str
    simpler: float
    rate: float


def match_rate(match: ArrayLike, unit: ArrayLike | None = None, *, confidence: float = 0.95) -> Estimate:
    """The proportion of matches (NaN is left out), n counting the units.

    Wilson's interval where each unit (prompt) has one row. Otherwise rows of a unit are no independent
    trials: the interval is Wilson's of m (1 - m) / V trials times (z / t)^2, with V the variance of the
    proportion over whole units, and no more trials than rows. Without variation the trials are the units.
    """
    from scipy.special import ndtri, stdtrit

    values = np.asarray(match, dtype=np.float64)
    known = ~np.isnan(values)
    values = values[known]
    if unit is None or not values.size:
        return wilson(int(values.sum()), values.size, confidence=confidence)
    of = np.unique(np.asarray(unit)[known], return_inverse=True)[1].reshape(-1).astype(np.int64)
    units = int(of.max()) + 1
    if units == values.size:
        return wilson(int(values.sum()), values.size, confidence=confidence)
    share = float(values.mean())
    if units < 2:
        return Estimate(share, n=units, method="wilson over units", reason="one prompt shows no spread")
    residual = sum_by(of, values - share)
    variance = float(residual @ residual) / values.size**2 * units / (units - 1)
    trials = float(units)
    if variance > 0:
        z, t = float(ndtri((1 + confidence) / 2)), float(stdtrit(units - 1, (1 + confidence) / 2))
        trials = min(float(values.size), share * (1 - share) / variance) * (z / t) ** 2
    low, high = _wilson_ends(share, trials, confidence)
    return Estimate(share, low, high, units, "wilson over units")


def rates_by(
    match: ArrayLike, group: Sequence[Group | None], unit: ArrayLike | None = None
) -> dict[Group, Estimate]:
    """The match rate of each group, in the order in which groups first come; the group None is left out."""
    values = np.asarray(match, dtype=np.float64)
    units = None if unit is None else np.asarray(unit)
    rows: dict[Group, list[int]] = {}
    for row, name in enumerate(group):
        if name is not None:
            rows.setdefault(name, []).append(row)
    return {
        name: match_rate(values[own], None if units is None else units[own]) for name, own in rows.items()
    }


def mcnemar(first: ArrayLike, second: ArrayLike) -> Test:
    """Do two systems match equally often on the same prompts? p-value over the prompts where they differ.

    McNemar's exact test where each prompt has one answer per system, a yes or a no: twice the smaller tail
    of a binomial distribution of discordant prompts. Where prompts have proportions of several samples,
    signs of the differences are flipped, which is the same test for a single one.
    """
    from scipy.stats import binomtest

    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    gap = gap[~np.isnan(gap)]
    if not gap.size:
        return Test(None, None, 0, "McNemar", "no prompt was answered by both")
    if not np.isin(gap, (-1.0, 0.0, 1.0)).all():
        return sign_flip(gap)
    better, worse = int(np.sum(gap > 0)), int(np.sum(gap < 0))
    p = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    return Test(float(gap.mean()), p, int(gap.size), "McNemar, exact")


def linked_points(
    match: ArrayLike,
    prompt: Sequence[int],
    system: Sequence[str],
    task: Sequence[str],
    links: Mapping[int, frozenset[int]],
    simple: Sequence[bool],
    *,
    tasks: Sequence[str],
    systems: Sequence[str],
) -> list[LinkedPoint]:
    """A point per task and system: its rate, and that over the rows of the distinct prompts it builds on.

    `simple` marks the rows that count as simpler ones; `links` has the prompts that a prompt builds on.
    """
    values = np.asarray(match, dtype=np.float64)
    own: dict[tuple[str, str], list[float]] = {}
    of_simple: dict[tuple[str, int], list[float]] = {}
    built_on: dict[str, set[int]] = {}
    for value, number, name, asked, is_simple in zip(values, prompt, system, task, simple, strict=True):
        if np.isnan(value):
            continue
        own.setdefault((asked, name), []).append(float(value))
        built_on.setdefault(asked, set()).update(links.get(number, ()))
        if is_simple:
            of_simple.setdefault((name, number), []).append(float(value))
    points = []
    for asked in tasks:
        for name in systems:
            linked = sorted(built_on.get(asked, ()))
            simpler = [each for to in linked for each in of_simple.get((name, to), ())]
            if simpler and (asked, name) in own:
                rate = sum(own[asked, name]) / len(own[asked, name])
                points.append(LinkedPoint(asked, name, sum(simpler) / len(simpler), rate))
    return points


def slope(x: ArrayLike, y: ArrayLike) -> Slope:
    """The least-squares slope of y on x with Student's interval and p; absent from two points or equal x.

    Where all y are equal it is 0, without an interval and a p: there is no spread to judge it by.
    """
    from scipy.special import stdtrit
    from scipy.stats import linregress

    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.size < 3 or np.ptp(a) == 0:
        why = "fewer than three points" if a.size < 3 else "all points have the same x"
        return Slope(Estimate(None, reason=why), None, int(a.size))
    if np.ptp(b) == 0:
        return Slope(Estimate(0.0, n=int(a.size), reason="all points have the same y"), None, int(a.size))
    fitted = linregress(a, b)
    half = float(stdtrit(a.size - 2, 0.975)) * float(fitted.stderr)
    value = float(fitted.slope)
    return Slope(
        Estimate(value, value - half, value + half, int(a.size), "t"), float(fitted.pvalue), int(a.size)
    )


def interaction(x: ArrayLike, kind: ArrayLike, y: ArrayLike) -> Interaction | None:
    """y on x, a kind (0 or 1) and their product; None where these are collinear or nothing is left over.

    A term's sum of squares is what the residuals lose when it enters, F that over the residual mean square.
    """
    from scipy.special import fdtrc

    a, b, c = (np.asarray(each, dtype=np.float64) for each in (x, kind, y))
    df = c.size - 4
    if df < 1 or np.linalg.matrix_rank(np.column_stack([np.ones(c.size), a, b, a * b])) < 4:
        return None
    crossed, additive = _residual(c, a, b, a * b), _residual(c, a, b)

    def p(gained: float, rest: float, freedom: int) -> float:
        return float(fdtrc(1, freedom, max(gained, 0.0) / (rest / freedom))) if rest > 0 else 0.0

    main = _residual(c) - _residual(c, a)
    fitted = np.linalg.lstsq(np.column_stack([a, b, np.ones(c.size)]), c)[0]
    return Interaction(
        p(additive - crossed, crossed, df),
        df,
        main,
        p(main, crossed, df),
        float(fitted[0]),
        p(_residual(c, b) - additive, additive, df + 1),
    )


def difference_of_groups(first: ArrayLike, second: ArrayLike) -> tuple[Estimate, float | None]:
    """How far the means of two groups of units lie apart, first minus second: Welch's interval and p."""
    from scipy.stats import ttest_ind

    a, b = (_known(each) for each in (first, second))
    if min(a.size, b.size) < 2:
        return Estimate(None, reason="fewer than two prompts in a group"), None
    gap = float(a.mean() - b.mean())
    if a.std() + b.std() == 0:
        return Estimate(gap, n=int(a.size + b.size), reason="no spread within the groups"), None
    result = ttest_ind(a, b, equal_var=False)
    low, high = result.confidence_interval(0.95)
    found = Estimate(gap, max(-1.0, float(low)), min(1.0, float(high)), int(a.size + b.size), "Welch")
    return found, float(result.pvalue)


def _known(values: ArrayLike) -> Array:
    column = np.asarray(values, dtype=np.float64)
    return column[~np.isnan(column)]


def _residual(y: Array, *columns: Array) -> float:
    """The residual sum of squares of y on an intercept and these columns."""
    design = np.column_stack([np.ones(y.size), *columns])
    rest = y - design @ np.linalg.lstsq(design, y)[0]
    return float(rest @ rest)


def _wilson_ends(share: float, trials: float, confidence: float) -> tuple[float, float]:
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    scale = 1 + z**2 / trials
    centre = (share + z**2 / (2 * trials)) / scale
    half = z * float(np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))) / scale
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def unit_means(match: ArrayLike, unit: ArrayLike) -> tuple[Indices, Array]:
    """Each unit that has a known value, and the mean of its rows."""
    values = np.asarray(match, dtype=np.float64)
    known = ~np.isnan(values)
    units, of = np.unique(np.asarray(unit)[known], return_inverse=True)
    of = of.reshape(-1).astype(np.int64)
    return units.astype(np.int64), sum_by(of, values[known]) / np.bincount(of, minlength=len(units))
