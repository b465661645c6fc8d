"""Linear mixed model with one random intercept per group: slopes within systems of different levels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate
from sightline.statistics.grouping import Array, Indices

INTERCEPT = "intercept"
# Fraction of a column not explained by those before it: below this it is rounding error.
_COLLINEAR = 1e-9
# Logarithms of the ratio of variances that are searched; beyond, one of the two is negligible.
_SEARCH = (-16.0, 16.0)


@dataclass(frozen=True)
class FixedEffect(Estimate):
    """A slope (or the intercept) with its standard error and Wald's two-sided p."""

    name: str = ""
    error: float = 0.0
    p: float = 1.0


@dataclass(frozen=True)
class MixedModel:
    """A fitted model: fixed effects, the two variances, and the random intercept of each group.

    `between` is the variance of the groups' intercepts, `within` that of the residuals, `shared` the
    intraclass correlation between / (between + within); `left_out` counts rows with a missing value.
    """

    fixed: tuple[FixedEffect, ...]
    between: float
    within: float
    groups: dict[Hashable, float]
    log_likelihood: float
    n: int
    left_out: int
    errors: str

    @property
    def shared(self) -> float:
        total = self.between + self.within
        return self.between / total if total > 0 else 0.0

    def coefficient(self, name: str) -> FixedEffect:
        """The slope of this name."""
        return {each.name: each for each in self.fixed}[name]


def mixed_model(
    y: ArrayLike,
    columns: Mapping[str, ArrayLike],
    groups: Sequence[Hashable],
    *,
    clusters: Sequence[Hashable] | None = None,
) -> MixedModel:
    """Fit y = intercept + columns + normal intercepts of groups + noise by restricted maximum likelihood.

    With r = between / within, a group of n has the covariance within (I + r J). For a given r slopes are the
    generalised least squares and `within` the residual mean square, so that only r is optimised:
    minimise (N - p) ln within + sum ln(1 + n r) + ln |X'V^-1 X|. The p-values are Wald's, from the normal
    distribution. Rows with a missing value are dropped and counted.

    The values of one prompt under several systems are not independent of each other. With `clusters` (the
    prompts) errors are those of the jackknife over clusters, which allows for that, with Student's t of one
    degree of freedom fewer than clusters; without, they are the model's own. statsmodels' MixedLM has no such
    errors, is slower and stops short of the best fit: docs/design-notes.md has the figures.
    Source: Laird and Ware, Biometrics 38 (1982); Bell and McCaffrey, Survey Methodology 28 (2002).
    """
    target, design, names, kept = _complete(y, columns, groups)
    labels = [groups[place] for place in kept.tolist()]
    levels = list(dict.fromkeys(labels))
    place_of = {level: place for place, level in enumerate(levels)}
    place = np.array([place_of[label] for label in labels])
    _refuse(design, names, len(levels))
    problem = _Problem(target, design, place, len(levels))
    ratio = problem.best_ratio()
    slopes, inverse, within = problem.at(ratio)
    residuals = target - design @ slopes
    if clusters is None:
        covariance, errors, freedom = inverse * within, "model", np.inf
    else:
        cluster = np.unique([str(clusters[row]) for row in kept.tolist()], return_inverse=True)[1]
        covariance, errors = problem.jackknife(ratio, ratio * within, residuals, inverse, cluster), "clusters"
        freedom = float(cluster.max())
    shifts = problem.weights(ratio) * np.bincount(place, residuals, len(levels))
    return MixedModel(
        tuple(
            _fixed(name, value, error, target.size, freedom)
            for name, value, error in zip(names, slopes, np.sqrt(np.diag(covariance)), strict=True)
        ),
        ratio * within,
        within,
        dict(zip(levels, shifts.tolist(), strict=True)),
        problem.log_likelihood(ratio),
        target.size,
        len(groups) - target.size,
        errors,
    )


class _Problem:
    """Sums by group, from which the likelihood at any ratio follows without a matrix of all rows."""

    def __init__(self, y: Array, x: Array, place: Indices, groups: int) -> None:
        self.y, self.x, self.place = y, x, place
        self.sizes = np.bincount(place, minlength=groups).astype(np.float64)
        self.sums_x = np.stack([np.bincount(place, column, groups) for column in x.T], axis=1)
        self.sums_y = np.bincount(place, y, groups)
        self.squares, self.products = x.T @ x, x.T @ y
        self.freedom = y.size - x.shape[1]

    def at(self, ratio: float) -> tuple[Array, Array, float]:
        """Slopes, (X'V^-1 X)^-1 and residual variance for this ratio of variances."""
        information, moments = self.information(ratio)
        inverse = np.linalg.inv(information)
        slopes = inverse @ moments
        residuals = self.y - self.x @ slopes
        by_group = np.bincount(self.place, residuals, len(self.sizes))
        squares = residuals @ residuals - (self.weights(ratio) * by_group**2).sum()
        return slopes, (inverse + inverse.T) / 2, max(float(squares), 0.0) / self.freedom

    def log_likelihood(self, ratio: float) -> float:
        """The restricted log-likelihood, constants included."""
        _, inverse, within = self.at(ratio)
        if within <= 0:
            return float("inf")
        terms = self.freedom * (np.log(2 * np.pi * within) + 1)
        return float(-(terms + np.log1p(ratio * self.sizes).sum() - np.linalg.slogdet(inverse)[1]) / 2)

    def best_ratio(self) -> float:
        from scipy.optimize import minimize_scalar

        # The likelihood may have more than one maximum: search a grid first, then refine.
        grid = np.linspace(*_SEARCH, 65)
        heights = [self.log_likelihood(float(np.exp(each))) for each in grid]
        best = int(np.argmax(heights))
        ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
        optimum = minimize_scalar(
            lambda each: -self.log_likelihood(float(np.exp(each))),
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-10},
        )
        ratio = float(np.exp(optimum.x))
        return ratio if self.log_likelihood(ratio) > self.log_likelihood(0.0) else 0.0

    def jackknife(
        self, ratio: float, between: float, residuals: Array, inverse: Array, cluster: Indices
    ) -> Array:
        """Covariance of the slopes: (m-1)/m times the sum over m clusters of D D', plus A C A.

        D is the change of the slopes without a cluster, for residuals minus the groups' intercepts, at the
        fitted ratio; the intercepts themselves add C = between x the sum over groups of the outer products of
        their sums of V^-1 X, with A = (X'V^-1 X)^-1. With clusters of one row and equal variances it is close
        to the model's own.
        """
        clusters = int(cluster.max()) + 1
        if clusters < 2:
            raise ValueError("errors of clusters need at least two clusters")
        shifts = self.weights(ratio) * np.bincount(self.place, residuals, len(self.sizes))
        rest = _Problem(residuals - shifts[self.place], self.x, self.place, len(self.sizes))
        slopes = inverse @ rest.information(ratio)[1]
        order = np.argsort(cluster, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
        moved = np.array([rest.without(rows, ratio, inverse) - slopes for rows in parts])
        sums = self.sums_x / (1 + ratio * self.sizes)[:, None]
        levels = inverse @ (between * sums.T @ sums) @ inverse
        return np.asarray(moved.T @ moved * (clusters - 1) / clusters + levels, dtype=np.float64)

    def without(self, rows: Indices, ratio: float, inverse: Array) -> Array:
        """The slopes for this ratio without these rows, whose sums are subtracted; `inverse` is with them."""
        x, y, groups = self.x[rows], self.y[rows], len(self.sizes)
        place = self.place[rows]
        sizes = self.sizes - np.bincount(place, minlength=groups)
        sums_x = self.sums_x - np.stack([np.bincount(place, column, groups) for column in x.T], axis=1)
        weighed = (ratio / (1 + ratio * sizes))[:, None] * sums_x
        information = self.squares - x.T @ x - weighed.T @ sums_x
        # The fraction of the information that is left, in the direction that loses most.
        if np.linalg.eigvals(inverse @ information).real.min() < _COLLINEAR:
            raise ValueError("a column varies in one cluster only, so its slope has no standard error")
        sums_y = self.sums_y - np.bincount(place, y, groups)
        slopes = np.linalg.solve(information, self.products - x.T @ y - weighed.T @ sums_y)
        return np.asarray(slopes, dtype=np.float64)

    def information(self, ratio: float) -> tuple[Array, Array]:
        """X'V^-1 X and X'V^-1 y for this ratio, times the variance within."""
        weights = self.weights(ratio)[:, None]
        information = self.squares - (weights * self.sums_x).T @ self.sums_x
        return information, self.products - (weights * self.sums_x).T @ self.sums_y

    def weights(self, ratio: float) -> Array:
        """r / (1 + n r) of each group, whose V^-1 is I - J r / (1 + n r)."""
        return np.asarray(ratio / (1 + ratio * self.sizes), dtype=np.float64)


def _complete(
    y: ArrayLike, columns: Mapping[str, ArrayLike], groups: Sequence[Hashable]
) -> tuple[Array, Array, list[str], Indices]:
    target = np.asarray(y, dtype=np.float64)
    given = [np.asarray(values, dtype=np.float64) for values in columns.values()]
    if target.ndim != 1 or any(each.shape != target.shape for each in given) or len(groups) != target.size:
        raise ValueError("y, every column and the groups must be columns of equal length")
    design = np.column_stack([np.ones(target.size), *given])
    if np.isinf(design).any() or np.isinf(target).any():
        raise ValueError("a regression needs finite values")
    kept = np.flatnonzero(~(np.isnan(design).any(axis=1) | np.isnan(target)))
    return target[kept], design[kept], [INTERCEPT, *columns], kept


def _refuse(design: Array, names: Sequence[str], groups: int) -> None:
    if groups < 2:
        raise ValueError(f"{groups} group(s) have no variance between them; a mixed model needs two")
    if len(design) <= design.shape[1] + 1:
        raise ValueError(
            f"{len(design)} rows are too few for {design.shape[1]} coefficients and two variances"
        )
    r = np.linalg.qr(design)[1]
    for place, name in enumerate(names):
        if abs(r[place, place]) <= _COLLINEAR * np.linalg.norm(design[:, place]):
            raise ValueError(f"{name} is collinear with the columns before it")


def _fixed(name: str, value: float, error: float, n: int, freedom: float) -> FixedEffect:
    from scipy.special import stdtr, stdtrit

    # With infinitely many degrees of freedom Student's t is the normal distribution.
    half = float(stdtrit(freedom, 0.975)) * error
    certain = 0.0 if value == 0 else float(np.copysign(np.inf, value))
    z = float(value / error) if error > 0 else certain
    p = float(2 * stdtr(freedom, -abs(z)))
    return FixedEffect(value, value - half, value + half, n, name=name, error=float(error), p=p)
