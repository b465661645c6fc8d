"""Exploratory factor analysis: which columns vary together, in a few oblique factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array

MARK = 0.3
"""Loadings of at least this size are marked as belonging to a factor."""
MOST_MISSING = 0.2
"""Columns with a larger proportion of missing values are excluded: they would cost too many rows."""
# Lower bound of a uniqueness: without it a communality may exceed 1 (a Heywood case).
_LEAST_UNIQUE = 0.005
_SAME = 1 - 1e-9
_ROUNDS = 1000
_STILL = 1e-11


@dataclass(frozen=True)
class Factors:
    """A factor analysis: the pattern of loadings (columns x factors) and the correlations of factors.

    `eigenvalues` are those of the correlation matrix in descending order; `explained` is the proportion of
    the total variance that each factor explains, correlations between factors taken into account. `left_out`
    names the columns that could not be used, and why.
    """

    names: tuple[str, ...]
    n: int
    eigenvalues: Array
    loadings: Array
    correlations: Array
    explained: Array
    left_out: dict[str, str]

    @property
    def factors(self) -> int:
        return int(self.loadings.shape[1])


@dataclass(frozen=True)
class Loading:
    """A row of the table of loadings: the factor of a column (from 0), and which loadings are marked."""

    name: str
    factor: int
    values: tuple[float, ...]
    marked: tuple[bool, ...]


def factor_analysis(
    columns: Mapping[str, ArrayLike],
    *,
    factors: int | None = None,
) -> Factors:
    """Minimum-residual factors of the columns, rotated by promax; by default as many as Kaiser's criterion.

    Columns with too many missing values, without variance, or collinear with another are excluded and
    reported; then rows with a missing value. Factors are ordered by the variance they explain, each with a
    positive sum of loadings.
    """
    values, names, left_out = _usable(columns)
    if len(names) < 3:
        raise ValueError(f"{len(names)} columns can be used ({left_out}); a factor analysis needs three")
    if len(values) <= len(names):
        raise ValueError(f"{len(values)} complete rows are too few for {len(names)} columns")
    correlation = np.asarray(np.corrcoef(values, rowvar=False), dtype=np.float64)
    eigenvalues = np.asarray(np.linalg.eigvalsh(correlation)[::-1], dtype=np.float64)
    k = kaiser(eigenvalues) if factors is None else factors
    if not 0 < k < len(names):
        raise ValueError(f"{k} factors of {len(names)} columns")
    loadings, phi = _in_order(*promax(minres(correlation, k)))
    return Factors(
        tuple(names),
        len(values),
        eigenvalues,
        loadings,
        phi,
        (loadings * (loadings @ phi)).sum(axis=0) / len(names),
        left_out,
    )


def kaiser(eigenvalues: ArrayLike) -> int:
    """Number of eigenvalues of a correlation matrix above 1: factors that explain more than one column.

    Source: H. F. Kaiser, Educational and Psychological Measurement 20 (1960).
    """
    return int(np.count_nonzero(np.asarray(eigenvalues, dtype=np.float64) > 1 + 1e-12))


def minres(correlation: ArrayLike, factors: int) -> Array:
    """Loadings that minimise the squared residual correlations: unweighted least squares.

    For uniquenesses u, R - diag(u) has eigenvalues l and vectors v; the best loadings are v sqrt(l) of the
    largest, and half the sum of squares of the other l is minimised over u, with slope -sum(l v^2).
    Source: Harman and Jones, Psychometrika 31 (1966); K. G. Joreskog, in Statistical methods for digital
    computers (1977).
    """
    from scipy.optimize import minimize

    r = np.asarray(correlation, dtype=np.float64)

    def spectrum(unique: Array) -> tuple[Array, Array]:
        values, axes = np.linalg.eigh(r - np.diag(unique))
        return values[::-1], axes[:, ::-1]

    def objective(unique: Array) -> tuple[float, Array]:
        values, axes = spectrum(unique)
        # A leading eigenvalue below 0 cannot be explained by a factor either.
        rest = np.where(np.arange(len(values)) < factors, np.minimum(values, 0), values)
        return float((rest**2).sum() / 2), -(axes**2) @ rest

    optimum = minimize(
        objective,
        _first_uniqueness(r),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_LEAST_UNIQUE, 1.0)] * len(r),
        options={"maxiter": _ROUNDS, "ftol": 1e-15, "gtol": 1e-10},
    )
    values, axes = spectrum(optimum.x)
    loadings = axes[:, :factors] * np.sqrt(np.maximum(values[:factors], 0))
    return np.asarray(loadings * _signs(loadings), dtype=np.float64)


def varimax(loadings: ArrayLike) -> tuple[Array, Array]:
    """Orthogonal rotation with the largest variance of squared loadings: the rotated ones and the rotation.

    Each pair of factors in turn is rotated in its plane by the best angle, until none moves: with
    u = x^2 - y^2 and v = 2xy over p rows, 4 angle = atan2(2 sum uv - 2 sum u sum v / p,
    sum(u^2 - v^2) - ((sum u)^2 - (sum v)^2) / p). With Kaiser's normalisation every row has length 1
    during rotation. Source: H. F. Kaiser, Psychometrika 23 (1958).
    """
    given = np.asarray(loadings, dtype=np.float64)
    turned = given / _lengths(given)
    rotation = np.eye(given.shape[1])
    for _ in range(_ROUNDS):
        moved = 0.0
        for pair in combinations(range(given.shape[1]), 2):
            angle = _best_angle(turned[:, pair[0]], turned[:, pair[1]])
            moved = max(moved, abs(angle))
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            turned[:, pair], rotation[:, pair] = turned[:, pair] @ turn, rotation[:, pair] @ turn
        if moved < _STILL:
            break
    return given @ rotation, rotation


def _best_angle(x: Array, y: Array) -> float:
    u, v = x**2 - y**2, 2 * x * y
    above = 2 * (u @ v - u.sum() * v.sum() / len(x))
    below = (u**2 - v**2).sum() - (u.sum() ** 2 - v.sum() ** 2) / len(x)
    # Where all angles are equally good, rounding errors would keep it rotating.
    return float(np.arctan2(above, below) / 4) if max(abs(above), abs(below)) > 1e-14 * len(x) else 0.0


def promax(loadings: ArrayLike, *, kappa: float = 4.0) -> tuple[Array, Array]:
    """Oblique rotation towards the varimax loadings raised to a power: the pattern and factor correlations.

    With V the varimax loadings, U = (V'V)^-1 V'(V |V|^(kappa-1)), its columns scaled so that the diagonal of
    (U'U)^-1 is 1; pattern V U, correlations (U'U)^-1. With Kaiser's normalisation rows have length 1
    throughout; R's promax normalises varimax alone.
    Source: Hendrickson and White, British Journal of Statistical Psychology 17 (1964).
    """
    given = np.asarray(loadings, dtype=np.float64)
    if given.shape[1] < 2:
        return given.copy(), np.eye(given.shape[1])
    lengths = _lengths(given)
    turned = varimax(given)[0] / lengths
    target = turned * np.abs(turned) ** (kappa - 1)
    toward = np.linalg.lstsq(turned, target, rcond=None)[0]
    toward *= np.sqrt(np.diag(np.linalg.inv(toward.T @ toward)))
    phi = np.linalg.inv(toward.T @ toward)
    return turned @ toward * lengths, (phi + phi.T) / 2


def loading_table(analysis: Factors) -> list[Loading]:
    """The columns by the factor on which they load most, in descending order of that loading.

    Source of the mark at .3: common practice, as in Tang et al. 2024 (W1KP), Table 2.
    """
    rows = [
        Loading(name, int(sizes.argmax()), tuple(values.tolist()), tuple((sizes >= MARK).tolist()))
        for name, values in zip(analysis.names, analysis.loadings, strict=True)
        for sizes in [np.abs(values)]
    ]
    return sorted(rows, key=lambda row: (row.factor, -abs(row.values[row.factor])))


def _usable(columns: Mapping[str, ArrayLike]) -> tuple[Array, list[str], dict[str, str]]:
    """The complete rows of the usable columns, their names, and why other columns are excluded."""
    table = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    if len({values.shape for values in table.values()}) > 1 or any(each.ndim != 1 for each in table.values()):
        raise ValueError("columns of equal length are needed")
    if any(np.isinf(values).any() for values in table.values()):
        raise ValueError("a factor analysis needs finite values")
    left_out: dict[str, str] = {}
    for name, values in table.items():
        gaps = float(np.isnan(values).mean()) if values.size else 1.0
        if gaps > MOST_MISSING:
            left_out[name] = f"no value in {gaps:.0%} of the rows"
    names = [name for name in table if name not in left_out]
    stacked = np.column_stack([table[name] for name in names]) if names else np.zeros((0, 0))
    stacked = stacked[~np.isnan(stacked).any(axis=1)]
    varies = np.ptp(stacked, axis=0) > 1e-12 * np.abs(stacked).max(axis=0) if len(stacked) else []
    left_out |= {name: "constant" for name, moves in zip(names, varies, strict=True) if not moves}
    kept: list[int] = []
    for place, name in enumerate(names):
        if name in left_out:
            continue
        first = next((each for each in kept if _collinear(stacked[:, place], stacked[:, each])), None)
        if first is None:
            kept.append(place)
        else:
            left_out[name] = f"collinear with {names[first]}"
    return stacked[:, kept], [names[place] for place in kept], left_out


def _collinear(one: Array, other: Array) -> bool:
    return one.size > 1 and abs(float(np.corrcoef(one, other)[0, 1])) > _SAME


def _first_uniqueness(r: Array) -> Array:
    # 1 - the squared multiple correlation, which does not exist for a singular matrix.
    if np.linalg.cond(r) > 1e10:
        return np.full(len(r), 0.5)
    return np.clip(1 / np.diag(np.linalg.inv(r)), _LEAST_UNIQUE, 1.0)


def _lengths(loadings: Array) -> Array:
    lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
    return np.asarray(np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


def _signs(loadings: Array) -> Array:
    return np.where(loadings.sum(axis=0) < 0, -1.0, 1.0)


def _in_order(loadings: Array, phi: Array) -> tuple[Array, Array]:
    order = np.argsort(-(loadings * (loadings @ phi)).sum(axis=0), kind="stable")
    signs = _signs(loadings[:, order])
    return loadings[:, order] * signs, phi[np.ix_(order, order)] * np.outer(signs, signs)
