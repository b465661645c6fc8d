"""Correlations within folds: by hand, one prompt left out at a time, and simulated out of fold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.statistics import correlation, leave_one_out, within_folds
from sightline.statistics.folds import k_fold
from sightline.statistics.prediction_quality import MEASURES, compare, quality

rows = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 3)), min_size=8, max_size=24)


@given(rows)
def test_leaving_each_out_is_what_it_says(drawn: list[tuple[int, int, int]]) -> None:
    a, b, fold = (np.array(column) for column in zip(*drawn, strict=True))
    a, b = a.astype(float), b.astype(float)
    for name in MEASURES:
        if name == "rmse":
            continue
        found = getattr(leave_one_out, f"{name}_without_each")(a, b, fold)
        for i in range(a.size):
            rest = [np.delete(column, i) for column in (a, b, fold)]
            expected = getattr(within_folds, name)(*rest).value
            if expected is not None:
                assert found[i] == pytest.approx(expected, abs=1e-9)


@given(rows)
def test_kendall_counts_the_pairs_within_folds(drawn: list[tuple[int, int, int]]) -> None:
    a, b, fold = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    found = within_folds.kendall(a, b, fold.astype(int))
    pairs = [(i, j) for i, j in combinations(range(a.size), 2) if fold[i] == fold[j]]
    x, y = (np.array([np.sign(column[i] - column[j]) for i, j in pairs]) for column in (a, b))
    if found.value is not None:
        assert found.value == pytest.approx((x * y).sum() / np.sqrt(np.abs(x).sum() * np.abs(y).sum()))


def test_one_fold_is_the_plain_coefficient() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 30))
    for name in ("pearson", "kendall", "spearman"):
        plain, within = getattr(correlation, name)(a, b), getattr(within_folds, name)(a, b, np.zeros(30, int))
        assert (within.value, within.p) == (plain.value, plain.p)
    # Two folds that are each in order: all coefficients are 1, whatever their levels.
    fold = np.array([0, 0, 0, 1, 1, 1])
    figures = quality([1, 2, 3, 11, 12, 13], [101, 102, 103, 1, 2, 3], fold)
    found = [figures[name].value for name in ("pearson", "kendall", "spearman", "smare")]
    assert found == pytest.approx([1, 1, 1, 0])


def test_variance_with_ties_is_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, size=(2, 40)).astype(float)
    plain = stats.kendalltau(a, b, method="asymptotic")
    # The same 40 prompts as two folds: the sum of pairs doubles, and its variance doubles, and doubles again.
    found = within_folds.kendall(np.tile(a, 2), np.tile(b, 2), np.repeat([0, 1], 40))
    assert found.value == pytest.approx(plain.statistic)
    z = abs(stats.norm.ppf(plain.pvalue / 2))
    assert found.p == pytest.approx(2 * stats.norm.sf(z * 2 / np.sqrt(2 * 2)), rel=1e-6)


def out_of_fold(
    n: int, seed: int, features: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ridge regression on noise: its predictions, those of the mean, the truth and the folds."""
    rng = np.random.default_rng(seed)
    x, y, fold = rng.normal(size=(n, features)), rng.normal(size=n), k_fold(n, 5, seed=seed)
    held, mean = np.empty(n), np.empty(n)
    for number in range(5):
        out = fold == number
        mean[out] = y[~out].mean()
        centred = x[~out] - x[~out].mean(axis=0)
        weights = np.linalg.solve(centred.T @ centred + 5 * np.eye(features), centred.T @ y[~out])
        held[out] = mean[out] + (x[out] - x[~out].mean(axis=0)) @ weights
    return held, mean, y, fold


def test_noise_and_a_constant_are_worth_nothing() -> None:
    studies = 300
    found = {name: np.zeros(studies) for name in ("pooled", "pearson", "kendall", "spearman")}
    alarms = covered = 0
    for seed in range(studies):
        held, mean, y, fold = out_of_fold(40, seed)
        figures = quality(held, y, fold)
        found["pooled"][seed] = np.corrcoef(held, y)[0, 1]
        for name in ("pearson", "kendall", "spearman"):
            found[name][seed] = figures[name].value
        alarms += figures["pearson"].p < 0.05
        covered += figures["pearson"].low <= 0 <= figures["pearson"].high
        assert quality(mean, y, fold)["pearson"].value is None
    # The standard error of a mean over 300 studies of 40 prompts is about .012.
    assert found["pooled"].mean() < -0.05
    assert all(abs(found[name].mean()) < 0.04 for name in ("pearson", "kendall", "spearman"))
    assert alarms / studies < 0.08 and covered / studies > 0.92


def test_differences_within_folds_need_both() -> None:
    held, mean, y, fold = out_of_fold(40, 1)
    (constant,) = compare({"a": held, "b": mean}, y, fold=fold)
    assert constant.value is None and "b has no pearson" in str(constant.reason)
    (same,) = compare({"a": held, "b": held + fold}, y, fold=fold)
    assert same.value == pytest.approx(0) and same.p == 1
