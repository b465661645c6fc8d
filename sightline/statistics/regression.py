"""Ordinary least squares: slopes with their errors and p-values, and what each term explains in turn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

INTERCEPT = "intercept"
# What is left of a column once those before it are taken out, as a share of it: below this it is rounding.
_COLLINEAR = 1e-9


@dataclass(frozen=True)
class Term:
    """One part of a model: a number, a factor in indicator columns, or the product of two terms."""

    name: str
    columns: Array
    labels: tuple[str, ...]

    def __mul__(self, other: Term) -> Term:
        """The interaction: every column of the one times every column of the other."""
        columns = (self.columns[:, :, None] * other.columns[:, None, :]).reshape(len(self.columns), -1)
        labels = tuple(f"{a}:{b}" for a in self.labels for b in other.labels)
        return Term(f"{self.name}:{other.name}", columns, labels)


@dataclass(frozen=True)
class Coefficient:
    """A slope or the intercept; error, p and interval are None where no degree of freedom is left."""

    name: str
    value: float
    error: float | None
    t: float | None
    p: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Explained:
    """What a term adds to those before it: its type-I sum of squares, and the F-test of it."""

    name: str
    df: int
    sum_of_squares: float
    f: float | None
    p: float | None


@dataclass(frozen=True)
class Regression:
    """A fitted linear model."""

    coefficients: tuple[Coefficient, ...]
    explained: tuple[Explained, ...]
    residual_df: int
    residual_sum_of_squares: float
    r_squared: float | None
    n: int

    def coefficient(self, name: str) -> Coefficient:
        """The coefficient of this name."""
        return {each.name: each for each in self.coefficients}[name]

    def term(self, name: str) -> Explained:
        """What the term of this name explains."""
        return {each.name: each for each in self.explained}[name]


def number(name: str, values: ArrayLike) -> Term:
    """A term of one numeric column."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"{name} must be one column, not of shape {column.shape}")
    return Term(name, column[:, None], (name,))


def factor(name: str, values: Sequence[Hashable]) -> Term:
    """A term of indicator columns, one for each value but the first met, which is the reference."""
    levels = list(dict.fromkeys(values))
    if len(levels) < 2:
        raise ValueError(f"{name} has {len(levels)} value(s); a factor needs two")
    columns = np.array([[float(value == level) for level in levels[1:]] for value in values])
    return Term(name, columns, tuple(f"{name}[{level}]" for level in levels[1:]))


def least_squares(y: ArrayLike, terms: Sequence[Term], *, confidence: float = 0.95) -> Regression:
    """Fit y = intercept + terms by least squares; terms enter in the order given.

    With X = QR, b = R^-1 Q'y and its covariance s^2 (R'R)^-1, s^2 the residual mean square; t-tests of the
    coefficients. The type-I sum of squares of a term is the sum of (q'y)^2 over its columns of Q: what it
    explains beyond the terms before it, whatever comes after; F = (its mean square) / s^2.
    Source: N. R. Draper and H. Smith, Applied Regression Analysis, 3rd edition (1998), chapters 5 and 6.
    """
    target = np.asarray(y, dtype=np.float64)
    if target.ndim != 1 or any(len(term.columns) != target.size for term in terms):
        raise ValueError("y and every term must be columns of equal length")
    design = np.column_stack([np.ones(target.size), *(term.columns for term in terms)])
    names = [INTERCEPT, *(label for term in terms for label in term.labels)]
    if not (np.isfinite(design).all() and np.isfinite(target).all()):
        raise ValueError("a regression needs finite numbers: leave out what is missing first")
    if target.size < design.shape[1]:
        raise ValueError(f"{target.size} rows are too few for {design.shape[1]} coefficients")
    q, r = np.linalg.qr(design)
    _refuse_collinear(design, r, names)
    along = q.T @ target
    residual_df = target.size - design.shape[1]
    residuals = target - q @ along
    rss = float(residuals @ residuals)
    variance = rss / residual_df if residual_df else None
    noise = None if variance is None else variance**0.5
    inverse = np.linalg.solve(r, np.eye(len(names)))
    values = inverse @ along
    spread = np.sqrt((inverse**2).sum(axis=1))
    total = float(((target - target.mean()) ** 2).sum())
    return Regression(
        tuple(
            _coefficient(name, value, None if noise is None else s * noise, residual_df, confidence)
            for name, value, s in zip(names, values.tolist(), spread.tolist(), strict=True)
        ),
        _explained(terms, along, variance, residual_df),
        residual_df,
        rss,
        1 - rss / total if total > 0 else None,
        target.size,
    )


def _coefficient(name: str, value: float, error: float | None, df: int, confidence: float) -> Coefficient:
    from scipy.special import stdtr, stdtrit

    if error is None:
        return Coefficient(name, value, None, None, None, None, None)
    if error == 0:
        # An exact fit: no doubt about any coefficient, and none about a zero one.
        t, p = (0.0, 1.0) if value == 0 else (float(np.copysign(np.inf, value)), 0.0)
        return Coefficient(name, value, 0.0, t, p, value, value)
    t = value / error
    half = float(stdtrit(df, (1 + confidence) / 2)) * error
    return Coefficient(name, value, error, t, float(2 * stdtr(df, -abs(t))), value - half, value + half)


def _explained(
    terms: Sequence[Term], along: Array, variance: float | None, residual_df: int
) -> tuple[Explained, ...]:
    from scipy.special import fdtrc

    found = []
    at = 1
    for term in terms:
        df = term.columns.shape[1]
        squares = float((along[at : at + df] ** 2).sum())
        at += df
        if not variance:
            found.append(Explained(term.name, df, squares, None, None))
            continue
        f = squares / df / variance
        found.append(Explained(term.name, df, squares, f, float(fdtrc(df, residual_df, f))))
    return tuple(found)


def _refuse_collinear(design: Array, r: Array, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if abs(r[place, place]) <= _COLLINEAR * np.linalg.norm(design[:, place]):
            raise ValueError(f"{name} says nothing that the columns before it do not say")
