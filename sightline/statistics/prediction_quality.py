"""How good predictions of difficulty are: five figures with intervals, and which predictor is better.

Intervals and paired tests rest on the jackknife over prompts. It needs no seed, holds
with ties and skewed truth, where Fisher's and Fieller's formulas assume normal columns, and serves every
figure alike. Predictions of several models, out of fold, are compared within folds (`within_folds`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sightline.errors import UsageError, near
from sightline.statistics import within_folds
from sightline.statistics.chance import TWICE, better_than_mean
from sightline.statistics.correlation import Correlation, EstimateWithTest, kendall, midranks
from sightline.statistics.grouping import Array, Indices
from sightline.statistics.leave_one_out import (
    jackknife_error,
    kendall_without_each,
    pearson_without_each,
    rmse_without_each,
    smare_without_each,
    spearman_without_each,
)
from sightline.statistics.significance import holm

LEAST = 5
"""Fewer prompts than this give no interval."""
_LATEX_MARKS = {"\N{DOUBLE DAGGER}": r"^{\ddagger}", "\N{DAGGER}": r"^{\dagger}", "": ""}
_LATEX_SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


@dataclass(frozen=True)
class Difference(EstimateWithTest):
    """A figure of the first predictor minus that of the second, on the same prompts.

    `p_adjusted` is p after Holm's correction over the differences compared together. For sMARE and RMSE lower
    is better.
    """

    first: str = ""
    second: str = ""
    p_adjusted: float | None = None


@dataclass(frozen=True)
class Quarter:
    """A quarter of the prompts by their prediction: how far off it is there, and to which side.

    `covered` is the proportion of their truths within intervals, where it is known.
    """

    name: str
    low: float
    high: float
    n: int
    bias: float
    rmse: float
    smare: float
    kendall: Correlation
    covered: float | None = None


def rmse(predicted: ArrayLike, truth: ArrayLike) -> float:
    """Root of the mean squared error."""
    a, b = _both(predicted, truth)
    return float(np.sqrt(np.mean((a - b) ** 2)))


def scaled_rank_errors(predicted: ArrayLike, truth: ArrayLike) -> Array:
    """sARE of each prompt: how many ranks the prediction is off, divided by n; mid-ranks for ties.

    Source: Faggioli, Zendel, Culpepper, Ferro and Scholer, An enhanced evaluation framework for query
    performance prediction, ECIR 2021.
    """
    a, b = _both(predicted, truth)
    return np.abs(midranks(a) - midranks(b)) / a.size


def smare(predicted: ArrayLike, truth: ArrayLike) -> float:
    """Mean of `scaled_rank_errors`: 0 for the true order, 1/3 for a random one, 1/2 for the reverse."""
    return float(scaled_rank_errors(predicted, truth).mean())


def quality(
    predicted: ArrayLike, truth: ArrayLike, fold: ArrayLike | None = None
) -> dict[str, EstimateWithTest]:
    """The five figures of MEASURES, with 95 % intervals, over the prompts where neither value is NaN.

    `fold` says which model predicted each prompt: correlations and rank errors are those within folds.

    p of a correlation is that of `correlation` (no relation at all, two-sided; Student's t, Kendall's with
    ties). p of sMARE and RMSE is one-sided, that of being no better than chance (`chance`): sMARE than a
    random order, RMSE than always saying the mean. Interval: value
    +- t(n - folds) s with s from the jackknife (times sqrt 2 with several folds), on the scale of atanh for
    correlations and of the logarithm for RMSE.
    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapter 11.
    """
    a, b, parts = _known(predicted, truth, _one_fold(truth) if fold is None else fold)
    return {name: _figure(name, a, b, parts.astype(np.int64)) for name in _MEASURES}


def compare(
    predictions: Mapping[str, ArrayLike],
    truth: ArrayLike,
    *,
    measure: str = "pearson",
    baseline: str | None = None,
    fold: ArrayLike | None = None,
) -> list[Difference]:
    """Every two predictors on the same prompts, or each against a baseline, with Holm's correction.

    The figures share the prompts and the truth, so that the difference is what is jackknifed:
    t = (f1 - f2) / s with n - folds degrees of freedom, s^2 = (n-1)/n sum (d_i - mean d)^2, d_i the
    difference without prompt i. Prompts that either predictor has no value for are left out of both.
    """
    if baseline is not None and baseline not in predictions:
        raise UsageError(f"{baseline!r} is none of the predictors", remedy=near(baseline, list(predictions)))
    pairs = (
        list(combinations(predictions, 2))
        if baseline is None
        else [(name, baseline) for name in predictions if name != baseline]
    )
    _measure(measure)
    parts = _one_fold(truth) if fold is None else fold
    differences = [_difference(measure, pair, predictions, truth, parts) for pair in pairs]
    adjusted = holm([np.nan if each.p is None else each.p for each in differences])
    return [
        replace(each, p_adjusted=None if np.isnan(p) else float(p))
        for each, p in zip(differences, adjusted, strict=True)
    ]


def by_quarter(predicted: ArrayLike, truth: ArrayLike, covered: ArrayLike | None = None) -> list[Quarter]:
    """The predictions by quarter, those of the hardest (lowest) first; equal predictions share a quarter.

    Predictions that are right on average have no bias in any quarter. In quarters of the truth even they
    would: whatever came out lowest was partly bad luck. Since ties are never cut, quarters differ in size,
    and one may be missing where a value is very common. Ranks for sMARE are those among all prompts.
    `covered` says which truths lie within their interval, NaN where it is not known.
    """
    held = np.full(np.shape(predicted), -1.0) if covered is None else covered
    a, b, inside = _known(predicted, truth, held)
    if a.size == 0:
        return []
    quarter = np.searchsorted(np.quantile(a, [0.25, 0.5, 0.75]), a, side="left")
    errors = scaled_rank_errors(a, b)
    return [
        Quarter(
            name,
            float(a[rows].min()),
            float(a[rows].max()),
            int(rows.size),
            float((a[rows] - b[rows]).mean()),
            rmse(a[rows], b[rows]),
            float(errors[rows].mean()),
            kendall(a[rows], b[rows]),
            None if covered is None else float(inside[rows].mean()),
        )
        for number, name in enumerate(("hardest", "hard", "easy", "easiest"))
        if (rows := np.flatnonzero(quarter == number)).size
    ]


Table = Mapping[str, Mapping[str, Mapping[str, EstimateWithTest]]]
"""Predictor -> target -> measure -> figure; a target that a predictor does not predict is left out."""


def as_latex(
    figures: Table,
    *,
    measures: Sequence[str] = ("pearson", "kendall"),
    headings: Mapping[str, str] | None = None,
) -> str:
    """PQPP's Table 2: one row per predictor, for each target its marked correlations, the best bold.

    `headings` puts a predictor under a heading (before generation, after it); headings come in the order of
    the rows, and the rows without one come first.
    """
    targets = list(dict.fromkeys(target for columns in figures.values() for target in columns))
    titles = [_measure(measure).title for measure in measures]
    keys = [(target, measure) for target in targets for measure in measures]
    best = {key: _best(figures, *key) for key in keys}
    lines = [
        rf"\begin{{tabular}}{{l{'c' * len(keys)}}}",
        r"\toprule",
        "Predictor"
        + "".join(rf" & \multicolumn{{{len(measures)}}}{{c}}{{{_escaped(name)}}}" for name in targets)
        + r" \\",
        "".join(f" & {title}" for title in titles * len(targets)) + r" \\",
    ]
    under = headings or {}
    for heading in sorted(dict.fromkeys(under.get(name, "") for name in figures), key=bool):
        lines.append(r"\midrule")
        if heading:
            lines.append(rf"\multicolumn{{{len(keys) + 1}}}{{l}}{{\emph{{{_escaped(heading)}}}}} \\")
        for name, columns in figures.items():
            if under.get(name, "") == heading:
                cells = [_latex_cell(columns.get(t, {}).get(m), best[t, m] == name) for t, m in keys]
                lines.append(" & ".join([_escaped(name), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


@dataclass(frozen=True)
class _Measure:
    title: str
    value: Callable[[Array, Array, Indices], EstimateWithTest]
    without_each: Callable[[Array, Array, Indices], Array]
    to_scale: Callable[[Array], Array]
    from_scale: Callable[[Array], Array]
    lower_is_better: bool = False


def _figure(name: str, a: Array, b: Array, fold: Indices) -> EstimateWithTest:
    measure = _MEASURES[name]
    if a.size < LEAST:
        return EstimateWithTest(None, n=a.size, reason=f"{a.size} prompts; an interval needs {LEAST}")
    plain = measure.value(a, b, fold)
    value, p = plain.value, plain.p
    if value is None:
        return EstimateWithTest(None, n=a.size, reason=plain.reason)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = measure.to_scale(np.array([value]))
        spread = jackknife_error(measure.to_scale(measure.without_each(a, b, fold))) * _dependent(name, fold)
    if not np.isfinite(centre[0] + spread):
        reason = "no interval: it is at its limit, or depends on one prompt"
        return EstimateWithTest(value, n=a.size, reason=reason, p=p)
    half = _quantile(fold) * spread
    low, high = measure.from_scale(centre + np.array([-half, half]))
    return EstimateWithTest(value, float(low), float(high), a.size, p=p)


def _difference(
    name: str,
    pair: tuple[str, str],
    predictions: Mapping[str, ArrayLike],
    truth: ArrayLike,
    fold: ArrayLike,
) -> Difference:
    from scipy.special import stdtr

    measure = _MEASURES[name]
    a, b, y, parts = _known(*(predictions[each] for each in pair), truth, fold)
    folds = parts.astype(np.int64)
    made = partial(Difference, n=a.size, first=pair[0], second=pair[1])
    if a.size < LEAST:
        return made(None, reason=f"{a.size} prompts in common; a test needs {LEAST}")
    one, two = measure.value(a, y, folds).value, measure.value(b, y, folds).value
    if one is None or two is None:
        return made(None, reason=f"{pair[one is not None]} has no {name}: a column is constant")
    value = one - two
    spread = jackknife_error(measure.without_each(a, y, folds) - measure.without_each(b, y, folds))
    if not np.isfinite(spread):
        return made(value, reason="no test: a figure depends on one prompt")
    spread *= _dependent(name, folds)
    # Rounding in sums of equal columns is no spread.
    if spread <= 1e-13:
        p = 1.0 if abs(value) <= 1e-12 else 0.0
    else:
        p = float(2 * stdtr(_free(folds), -abs(value) / spread))
    half = _quantile(folds) * spread
    return made(value, value - half, value + half, p=p)


def _quantile(fold: Indices) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(_free(fold), 0.975))


def _dependent(name: str, fold: Indices) -> float:
    """By how much more a figure varies than its prompts show, since models of several folds share them.

    Not so the error of predictions: that it is small where it should be follows from no two prompts.
    """
    return 1.0 if name == "rmse" or np.unique(fold).size == 1 else float(np.sqrt(TWICE))


def _free(fold: Indices) -> int:
    return max(1, int(fold.size - np.unique(fold).size))


def _one_fold(truth: ArrayLike) -> Array:
    return np.zeros(np.shape(truth))


def _tested_rmse(a: Array, b: Array, fold: Indices) -> EstimateWithTest:
    return EstimateWithTest(rmse(a, b), p=better_than_mean(a, b))


_MEASURES: Mapping[str, _Measure] = {
    "pearson": _Measure("Pearson", within_folds.pearson, pearson_without_each, np.arctanh, np.tanh),
    "kendall": _Measure(r"Kendall $\tau$", within_folds.kendall, kendall_without_each, np.arctanh, np.tanh),
    "spearman": _Measure(
        r"Spearman $\rho$", within_folds.spearman, spearman_without_each, np.arctanh, np.tanh
    ),
    "smare": _Measure("sMARE", within_folds.smare, smare_without_each, np.positive, np.positive, True),
    "rmse": _Measure("RMSE", _tested_rmse, rmse_without_each, np.log, np.exp, True),
}
MEASURES = tuple(_MEASURES)


def _measure(name: str) -> _Measure:
    if name not in _MEASURES:
        raise UsageError(f"{name!r} is no figure of a predictor", remedy=near(name, MEASURES))
    return _MEASURES[name]


def _both(predicted: ArrayLike, truth: ArrayLike) -> tuple[Array, Array]:
    a, b = np.asarray(predicted, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or a.size == 0:
        raise ValueError(f"two columns of equal length are needed, not shapes {a.shape} and {b.shape}")
    return a, b


def _known(*columns: ArrayLike) -> list[Array]:
    """The columns without the rows in which any is NaN; infinite values are refused."""
    table = [np.asarray(column, dtype=np.float64) for column in columns]
    if table[0].ndim != 1 or any(column.shape != table[0].shape for column in table):
        raise ValueError(f"columns of equal length are needed, not {[column.shape for column in table]}")
    if any(np.isinf(column).any() for column in table):
        raise ValueError("an infinite value is no prediction")
    kept = ~np.any([np.isnan(column) for column in table], axis=0)
    return [column[kept] for column in table]


def _best(figures: Table, target: str, measure: str) -> str | None:
    """The predictor with the best figure; a correlation counts without its sign, as a feature may turn."""
    lower = _MEASURES[measure].lower_is_better
    values = {
        name: figure.value if lower else -abs(figure.value)
        for name, columns in figures.items()
        if (figure := columns.get(target, {}).get(measure)) is not None and figure.value is not None
    }
    return min(values, key=values.__getitem__, default=None)


def _latex_cell(figure: EstimateWithTest | None, best: bool) -> str:
    if figure is None or figure.value is None:
        return "--"
    shown = rf"\mathbf{{{figure.value:.3f}}}" if best else f"{figure.value:.3f}"
    return f"${shown}{_LATEX_MARKS[figure.mark]}$"


def _escaped(text: str) -> str:
    return "".join(_LATEX_SPECIAL.get(character, character) for character in " ".join(text.split()))
