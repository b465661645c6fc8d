"""Raters are a sample too: how much of a mean's variance comes from who happened to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

MIN_RATERS = 2.5
"""The effective number of raters below which their variance cannot be estimated."""
PRIOR_DF = 4.0
"""Degrees of freedom that the raters' variance over all pairs counts for in that of one pair."""
SWEEPS = 50
"""Sweeps of the additive fit: complete designs need two, sparse ones some tens."""
SHUFFLES = 20
TINY = 1e-12
"""The smallest probability that is worked out exactly."""
ROUNDING = 1e-9
"""The part of a variance below which what raters add is rounding error."""


class Variance(NamedTuple):
    """The variance of a mean or difference by where it comes from, each part with its degrees of freedom.

    The limits lie sqrt(t(df)^2 prompts + t(rater_df)^2 raters) from the mean, the t of either part at the
    level asked for. Normal votes of three or more raters are covered .944 to .973 at 95 % in simulations,
    where Satterthwaite's single number of degrees of freedom gives .92; docs/statistics.md has other votes.
    `noise` is what was taken off the raters' part because chance alone makes means of raters differ so much.
    Source: the squares of half widths add up as in Graybill and Wang, JASA 75 (1980).
    """

    prompts: float
    raters: float
    df: float
    rater_df: float = 1.0
    noise: float = 0.0

    @property
    def total(self) -> float:
        return self.prompts + self.raters

    @property
    def proportion(self) -> float:
        """The proportion of the variance that comes from raters."""
        return self.raters / self.total if self.total > 0 else 0.0

    def quantile(self, tail: float) -> float:
        """How many standard errors from the mean the limit with this probability beyond it lies."""
        from scipy.special import stdtrit

        own = -float(stdtrit(self.df, tail))
        if not self.raters:
            return own
        theirs = -float(stdtrit(self.rater_df, tail))
        return float((((1 - self.proportion) * own**2) + self.proportion * theirs**2) ** 0.5)

    def tail(self, t: float) -> float:
        """The probability beyond a limit that lies t standard errors from the mean."""
        from scipy.optimize import brentq
        from scipy.special import stdtr

        if t < 0:
            return 1 - self.tail(-t)
        ends = [float(stdtr(df, -t)) for df in (self.df, self.rater_df)]
        if not self.raters or ends[0] == ends[1] or max(ends) < TINY:
            return ends[0] if not self.raters else max(ends)
        low, high = max(min(ends), TINY), max(ends)
        for end, beyond in ((low, self.quantile(low) <= t), (high, self.quantile(high) >= t)):
            if beyond:
                return end
        return float(brentq(lambda each: self.quantile(each) - t, low, high, xtol=TINY / 100))

    def effective_df(self, tail: float) -> float:
        """The degrees of freedom at which Student's t has the same quantile."""
        from scipy.special import stdtridf

        return float(stdtridf(1 - tail, self.quantile(tail))) if self.raters else self.df


def moderated(variances: Sequence[Variance], systems: int) -> list[Variance]:
    """The variances of all differences of so many systems, what raters add drawn to its mean over the pairs.

    Few raters say little about how far they differ on a pair; their tastes for the other systems say more.
    The mean counts as much as 4 degrees of freedom, or as (systems - 3) x those of a pair where that is less:
    with seven systems and three raters the power grows from .04 to .30, and where raters differ on one system
    alone false alarms stay below .06.
    Source: Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004) for the moderation.
    """
    known = [each.raters for each in variances if each.rater_df >= MIN_RATERS - 1]
    if systems <= 3 or not any(known):
        return list(variances)
    common = float(np.mean(known))

    def one(each: Variance) -> Variance:
        if each.rater_df < MIN_RATERS - 1:
            return each
        prior = min(PRIOR_DF, (systems - 3) * each.rater_df)
        raters = (each.rater_df * each.raters + prior * common) / (each.rater_df + prior)
        return each._replace(raters=raters, rater_df=each.rater_df + prior)

    return [one(each) for each in variances]


@dataclass(frozen=True)
class Panel:
    """Who judged what: one row per vote of a known rater, all indices from 0.

    `unit` is a prompt or a family of prompts, `item` what was judged (an image for a prompt). A system's
    value on a unit is the mean over its items there of the mean over the votes of each. `least` counts
    systems and units where the last of them have no votes.
    """

    unit: Indices
    system: Indices
    item: Indices
    rater: Indices
    value: Array
    least: tuple[int, int] = (0, 0)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Systems, units and raters."""
        systems, units, raters = (
            int(each.max(initial=-1)) + 1 for each in (self.system, self.unit, self.rater)
        )
        return max(systems, self.least[0]), max(units, self.least[1]), raters

    @cached_property
    def repeated(self) -> float:
        """The proportion of judged items with more than one vote."""
        cast = np.bincount(self.item)
        return float(np.mean(cast[cast > 0] > 1)) if cast.size else 0.0

    def variance(
        self, prompts: float, first: int, second: int | None = None, units: Flags | None = None
    ) -> Variance:
        """The variance over prompts and raters of a system's mean, or of the difference of two.

        `prompts` is the variance of the mean over units. Balanced designs give the analysis of variance of
        a crossed design, V = (MS prompts + MS raters - MS residual) / N with the raters' part not below 0.
        Others use the additive fit item + rater x system; what raters who changed from unit to unit add is
        part of the variance over units already, and counts once.
        Source: Searle, Casella and McCulloch, Variance components (1992); Owen, The pigeonhole bootstrap,
        Annals of Applied Statistics 1 (2007) for crossed samples of raters and items.
        """
        n, weights, gross, noise, inside = self._parts(first, second, units)
        if n < 2:
            return Variance(prompts, 0.0, max(n - 1, 1))
        freedom = self.effective_raters(weights) - 1
        if freedom < MIN_RATERS - 1:
            return Variance(prompts, 0.0, n - 1)
        whole, net = gross * (1 - inside), (gross - noise) * (1 - inside)
        net = net if net > ROUNDING * (prompts + gross) else 0.0
        return Variance(prompts, net, n - 1, freedom, whole - net)

    @staticmethod
    def effective_raters(weights: Array) -> float:
        """How many raters of equal weight would be as good: 1 / sum of squared weights."""
        total = weights.sum()
        return float(total**2 / np.sum(weights**2)) if total > 0 else 0.0

    def confounded(self, first: int, second: int, seed: int = 0) -> bool:
        """Whether raters and systems are mixed up: far fewer raters judged both than chance would have it."""
        if np.minimum(self._cast[first], self._cast[second]).sum() > 0.5:
            return False
        mine = np.isin(self.system, (first, second))
        rater, other = self.rater[mine], self.system[mine] == second
        rng = np.random.default_rng(seed)

        def shared(which: Flags) -> float:
            parts = [np.bincount(rater[each], minlength=1) / max(each.sum(), 1) for each in (which, ~which)]
            size = min(map(len, parts))
            return float(np.minimum(parts[0][:size], parts[1][:size]).sum())

        expected = np.mean([shared(rng.permutation(other)) for _ in range(SHUFFLES)])
        return bool(expected > 0.2 and shared(other) < expected / 3)

    @cached_property
    def _cast(self) -> Array:
        """Each rater's proportion of the votes on each system (systems x raters)."""
        systems, _, raters = self.shape
        votes = np.bincount(self.system * raters + self.rater, minlength=systems * raters)
        table = votes.reshape(systems, raters).astype(np.float64)
        return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1), dtype=np.float64)

    def _parts(
        self, first: int, second: int | None, units: Flags | None
    ) -> tuple[int, Array, float, float, float]:
        """Units, weights of raters, variance of their effects and of noise alone, and the part in units."""
        systems = [first] if second is None else [first, second]
        n, means, squares, crossed = self._moments(systems, units)
        if n < 2:
            return n, np.zeros(self.shape[2]), 0.0, 0.0, 0.0
        _, _, effects, crowding = self._cells
        own = effects[systems]
        moved = means * (own - np.sum(means * own, axis=1, keepdims=True))
        sign = np.array([1.0, -1.0])[: len(systems)]
        weights = np.asarray(means.mean(axis=0), dtype=np.float64)
        count = self.effective_raters(weights)
        if count <= 1:
            return n, weights, 0.0, 0.0, 0.0
        gross = count / (count - 1) * float(np.sum((sign @ moved) ** 2))
        # Effects come from all units that the systems were judged on, however many are asked about.
        fitted = float(self._judged[systems].sum(axis=1).mean())
        residual = float(sign @ crossed @ sign) / (n - 1) * float(crowding[systems].mean())
        noise = residual / fitted * (1 - 1 / count)
        spread = float(np.sum(means**2))
        inside = (squares - n * spread) / (n * (n - 1)) / spread
        return n, weights, gross, noise, min(1.0, max(0.0, inside))

    def _moments(self, systems: list[int], units: Flags | None) -> tuple[int, Array, float, Array]:
        """Units of all these systems; weights of raters by system, their squares, products of residuals."""
        chosen = np.asarray(self._judged[systems].all(axis=0))
        if units is not None:
            chosen = chosen & units
        if chosen.all():
            means, squares, crossed = self._complete
            part = means[systems], float(squares[systems].sum()), crossed[np.ix_(systems, systems)]
            return (chosen.size, *part)
        columns = np.flatnonzero(np.repeat(chosen, self.shape[2]))
        kept = [each[systems, :][:, columns] for each in self._cells[:2]]
        means, squares, crossed = _moments(kept[0], kept[1], self.shape[2])
        return int(chosen.sum()), means, float(squares.sum()), crossed

    @cached_property
    def _complete(self) -> tuple[Array, Array, Array]:
        return _moments(self._cells[0], self._cells[1], self.shape[2])

    @cached_property
    def _judged(self) -> Flags:
        judged = np.zeros(self.shape[:2], dtype=np.bool_)
        judged[self.system, self.unit] = True
        return judged

    @cached_property
    def _cells(self) -> tuple[Any, Any, Array, Array]:
        """Weights and weighted residuals (systems x units * raters), raters' effects, and the fit's cost."""
        from scipy.sparse import csr_array

        systems, units, raters = self.shape
        votes = np.bincount(self.item)[self.item].astype(np.float64)
        answer = self.system * units + self.unit
        _, first = np.unique(self.item, return_index=True)
        items = np.bincount(answer[first], minlength=systems * units)
        weight = 1 / (votes * items[answer])
        effects, residual = self._fit()
        # The item's own level took 1 / votes of each residual's variance: it is given back.
        crowding = np.where(votes > 1, votes / np.maximum(votes - 1, 1), 0.0)
        place = (self.system, self.unit * raters + self.rater)
        shape = (systems, units * raters)
        known = np.maximum(np.bincount(self.system, votes > 1, minlength=systems), 1)
        return (
            csr_array((weight, place), shape=shape),
            csr_array((weight * residual * np.sqrt(crowding), place), shape=shape),
            effects,
            np.bincount(self.system, crowding, minlength=systems) / known,
        )

    def _fit(self) -> tuple[Array, Array]:
        """Least squares of value = item + rater x system: effects (systems x raters) and residuals."""
        systems, _, raters = self.shape
        cell = self.system * raters + self.rater
        cast = np.maximum(np.bincount(cell, minlength=systems * raters), 1)
        votes = np.maximum(np.bincount(self.item), 1)
        effect = np.zeros(systems * raters)
        for _ in range(SWEEPS):
            level = np.bincount(self.item, self.value - effect[cell]) / votes
            step = np.bincount(cell, self.value - level[self.item], minlength=effect.size) / cast - effect
            effect += step
            if np.abs(step).max(initial=0.0) < 1e-9:
                break
        level = np.bincount(self.item, self.value - effect[cell]) / votes
        return effect.reshape(systems, raters), self.value - level[self.item] - effect[cell]


def _moments(weights: Any, residuals: Any, raters: int) -> tuple[Array, Array, Array]:
    rows = weights.tocoo()
    cell = rows.coords[0] * raters + rows.coords[1] % raters
    means = np.bincount(cell, rows.data, minlength=weights.shape[0] * raters).reshape(-1, raters)
    squares = np.bincount(rows.coords[0], rows.data**2, minlength=weights.shape[0]).astype(np.float64)
    return means / max(1, weights.shape[1] // raters), squares, (residuals @ residuals.T).toarray()
