"""Figures of predictors by hand and by leaving prompts out one by one; intervals and tests by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sightline.errors import UsageError
from sightline.statistics import leave_one_out as without
from sightline.statistics.chance import better_ranks, better_than_mean
from sightline.statistics.correlation import EstimateWithTest, kendall, pearson, spearman
from sightline.statistics.prediction_quality import (
    MEASURES,
    as_latex,
    by_quarter,
    compare,
    quality,
    rmse,
    scaled_rank_errors,
    smare,
)

DIRECTLY = {
    "pearson": lambda a, b: pearson(a, b).value,
    "kendall": lambda a, b: kendall(a, b).value,
    "spearman": lambda a, b: spearman(a, b).value,
    "smare": smare,
    "rmse": rmse,
}
# With ties, as truths that are means of a few votes have.
columns = st.integers(8, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-6, 6), min_size=n, max_size=n) for _ in range(2)])
)


def drawn(seed: int, n: int, first: float, second: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two predictions that share a part, of a truth that is skewed and comes in steps, as HBPP's."""
    rng = np.random.default_rng(seed)
    hidden, shared = rng.normal(size=(2, n))
    truth = np.round(4 * np.minimum(1.0 + hidden, 1.5)) / 4
    one = first * hidden + 0.5 * shared + rng.normal(size=n)
    two = second * hidden + 0.5 * shared + rng.normal(size=n)
    return one, two, truth


def test_rank_errors_by_hand() -> None:
    # Ranks of the predictions 2, 1, 4, 3 against 1, 2.5, 2.5, 4: off by 1, 1.5, 1.5, 1 of 4.
    found = scaled_rank_errors([5, 1, 9, 7], [0, 3, 3, 8])
    assert found == pytest.approx([1 / 4, 1.5 / 4, 1.5 / 4, 1 / 4])
    assert smare([5, 1, 9, 7], [0, 3, 3, 8]) == pytest.approx(5 / 16)
    # Errors 5, -2, 6, -1: (25 + 4 + 36 + 1) / 4.
    assert rmse([5, 1, 9, 7], [0, 3, 3, 8]) == pytest.approx(math.sqrt(66 / 4))


def test_smare_of_true_random_and_reverse_order() -> None:
    order = np.arange(2000.0)
    assert smare(order, order) == 0
    assert smare(-order, order) == pytest.approx(0.5)
    assert smare(np.random.default_rng(0).normal(size=2000), order) == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize("name", MEASURES)
@given(pair=columns)
def test_leaving_each_out_is_what_it_says(name: str, pair: tuple[list[int], list[int]]) -> None:
    a, b = (np.array(column, dtype=np.float64) for column in pair)
    found = getattr(without, f"{name}_without_each")(a, b)
    for i, value in enumerate(found):
        expected = DIRECTLY[name](np.delete(a, i), np.delete(b, i))
        if expected is not None:
            assert value == pytest.approx(expected, abs=1e-9)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _, truth = drawn(3, 60, 1, 1)
    whole = {name: getattr(without, f"{name}_without_each")(one, truth) for name in MEASURES}
    monkeypatch.setattr("sightline.statistics.intervals.BLOCK_CELLS", 60 * 7)
    for name, expected in whole.items():
        np.testing.assert_allclose(getattr(without, f"{name}_without_each")(one, truth), expected, atol=1e-12)


def test_figures_are_those_of_scipy() -> None:
    one, _, truth = drawn(1, 80, 1, 1)
    figures = quality([*one, np.nan, 1.0], [*truth, 1.0, np.nan])
    theirs = {"pearson": stats.pearsonr, "kendall": stats.kendalltau, "spearman": stats.spearmanr}
    for name, test in theirs.items():
        expected = test(one, truth)
        assert figures[name].value == pytest.approx(expected.statistic, abs=1e-12)
        assert figures[name].p == pytest.approx(expected.pvalue, rel=1e-9)
    assert all(figure.n == 80 and figure.low < figure.value < figure.high for figure in figures.values())


def test_every_figure_has_a_mark() -> None:
    one, _, truth = drawn(2, 150, 2, 1)
    close = np.polyval(np.polyfit(one, truth, 1), one)
    assert [figure.mark for figure in quality(close, truth).values()] == ["‡"] * 5
    # The reverse order correlates as strongly, but is better than chance at nothing.
    turned = quality(2 * truth.mean() - close, truth)
    assert [turned[name].mark for name in MEASURES] == ["‡", "‡", "‡", "", ""]
    assert turned["smare"].p == pytest.approx(better_ranks(2 * truth.mean() - close, truth))
    assert turned["rmse"].p == pytest.approx(better_than_mean(2 * truth.mean() - close, truth))


def test_intervals_hold_what_they_promise() -> None:
    """95 % intervals over 600 studies of 120 prompts; the truth is skewed and comes in steps."""
    one, _, truth = drawn(0, 400_000, 0.8, 0.8)
    meant = {name: direct(one, truth) for name, direct in DIRECTLY.items()}
    inside = dict.fromkeys(meant, 0)
    for seed in range(1, 601):
        one, _, truth = drawn(seed, 120, 0.8, 0.8)
        for name, figure in quality(one, truth).items():
            inside[name] += figure.low <= meant[name] <= figure.high
    # Two-sided binomial limits of 0.95 at 600 trials, 4 standard errors: .914 and .986.
    assert all(0.914 * 600 <= count <= 0.986 * 600 for count in inside.values()), inside


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_equal_predictors_seldom_differ_and_unequal_ones_do(name: str) -> None:
    studies, level = 400, 0.05
    false = true = 0
    for seed in range(studies):
        one, two, truth = drawn(seed, 100, 0.8, 0.8)
        (same,) = compare({"a": one, "b": two}, truth, measure=name)
        false += same.p < level
        # RMSE falls when a prediction is drawn towards the truth, whatever it correlates.
        one, two, truth = drawn(seed, 100, 1.6, 0.3)
        (other,) = compare({"a": 0.5 * one + 0.7 if name == "rmse" else one, "b": two}, truth, measure=name)
        true += other.p < level
        assert other.low <= other.value <= other.high
    # 4 standard errors of a share of 0.05 at 400 trials are 0.044.
    assert abs(false / studies - level) < 0.044
    assert true / studies > 0.9


def williams(one: np.ndarray, two: np.ndarray, truth: np.ndarray) -> float:
    """Williams's t of two correlations that share a column (Steiger, Psychological Bulletin 87, 1980)."""
    n = truth.size
    r = np.corrcoef([truth, one, two])
    a, b, c = r[0, 1], r[0, 2], r[1, 2]
    volume = 1 - a**2 - b**2 - c**2 + 2 * a * b * c
    mean = (a + b) / 2
    below = 2 * volume * (n - 1) / (n - 3) + mean**2 * (1 - c) ** 3
    return float((a - b) * np.sqrt((n - 1) * (1 + c) / below))


@pytest.mark.parametrize("seed", range(4))
def test_on_normal_columns_the_paired_test_is_williams(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, shared, x, y = rng.normal(size=(4, 5000))
    one, two = truth + shared + x, 0.93 * truth + shared + y
    (found,) = compare({"a": one, "b": two}, truth)
    t = williams(one, two, truth)
    assert stats.norm.isf(found.p / 2) * np.sign(found.value) == pytest.approx(t, rel=0.06)


def test_comparisons_are_corrected_and_signed() -> None:
    one, two, truth = drawn(5, 200, 1.5, 0.2)
    found = compare({"good": one, "poor": two, "again": one}, truth, measure="smare")
    pairs = [(each.first, each.second) for each in found]
    assert pairs == [("good", "poor"), ("good", "again"), ("poor", "again")]
    assert found[0].value < 0 < found[2].value
    assert found[1].value == 0 and found[1].p == 1
    # Holm: the two equal smallest of three p-values are multiplied by 3 and then no less than that.
    assert found[0].p_adjusted == pytest.approx(min(1, 3 * found[0].p))
    assert found[2].p_adjusted == pytest.approx(min(1, 3 * found[0].p))
    against = compare({"good": one, "poor": two}, truth, baseline="poor")
    assert [(each.first, each.second) for each in against] == [("good", "poor")]
    assert against[0].p == against[0].p_adjusted


def test_only_prompts_in_common_are_compared() -> None:
    one, two, truth = drawn(6, 50, 1, 1)
    part = np.where(np.arange(50) < 20, np.nan, two)
    (found,) = compare({"a": one, "b": part}, truth)
    (expected,) = compare({"a": one[20:], "b": two[20:]}, truth[20:])
    assert found == expected and found.n == 30


def test_what_cannot_be_told_says_why() -> None:
    few = quality([1, 2, 3], [1, 2, 3])
    assert "3 prompts" in few["pearson"].reason and few["rmse"].value is None
    same = quality([1] * 9, range(9))
    assert "constant" in same["kendall"].reason
    perfect = quality(range(9), range(9))
    assert perfect["pearson"].value == pytest.approx(1) and perfect["rmse"].value == 0
    assert perfect["rmse"].low is None and "limit" in perfect["rmse"].reason
    (found,) = compare({"a": [1] * 9, "b": range(9)}, range(9))
    assert found.p is None and found.p_adjusted is None and "a has no pearson" in found.reason
    (found,) = compare({"a": [1, 2], "b": [2, 1]}, [1, 2])
    assert "2 prompts" in found.reason
    # Only the last prompt makes the prediction vary: without it there is no correlation.
    alone = quality([0.1] * 8 + [0.7], [0.3, 0.1, 0.4, 0.1, 0.5, 0.9, 0.2, 0.6, 0.5])
    assert alone["pearson"].low is None and "one prompt" in alone["pearson"].reason


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compare({"a": [1], "b": [2]}, [1], measure="kendal"), "kendal"),
        (lambda: compare({"a": [1], "b": [2]}, [1], baseline="c"), "'c'"),
        (lambda: quality([1, math.inf], [1, 2]), "infinite"),
        (lambda: quality([1, 2, 3], [1, 2]), "equal length"),
        (lambda: as_latex({}, measures=("tau",)), "tau"),
    ],
)
def test_bad_input(call: Callable[[], object], said: str) -> None:
    with pytest.raises((UsageError, ValueError), match=said):
        call()


def test_marks() -> None:
    marks = {p: EstimateWithTest(0.0, p=p).mark for p in (None, 0.01, 0.0099, 0.001, 0.0009)}
    assert marks == {None: "", 0.01: "", 0.0099: "†", 0.001: "†", 0.0009: "‡"}


def test_quarters_by_hand() -> None:
    predicted = [0, 1, 1, 2, 3, 4, 5, 6]
    # Quartiles of the predictions: 1, 2.5, 4.25. They are 1 too low at the hard end, 2 too high at the easy.
    truth = [1, 2, 2, 2, 3, 4, 3, 4]
    found = by_quarter(predicted, truth, [True, False, False, True, True, True, False, True])
    shown = [(each.name, each.n, each.bias, each.rmse, each.low, each.high, each.covered) for each in found]
    assert shown == [
        ("hardest", 3, -1, 1, 0, 1, pytest.approx(1 / 3)),
        ("hard", 1, 0, 0, 2, 2, 1),
        ("easy", 2, 0, 0, 3, 4, 1),
        ("easiest", 2, 2, 2, 5, 6, 0.5),
    ]
    assert by_quarter(predicted, truth)[0].covered is None
    weighted = sum(quarter.smare * quarter.n for quarter in found) / 8
    assert weighted == pytest.approx(smare(predicted, truth))


def test_a_quarter_that_ties_swallow_is_missing() -> None:
    found = by_quarter([0, 2, 2, 2, 2, 2, 2, 2], range(8))
    assert [quarter.name for quarter in found] == ["hardest"]
    assert by_quarter([np.nan], [1.0]) == []


def test_the_conditional_mean_has_no_bias_in_any_quarter() -> None:
    """A prediction that is the mean of its truths is right wherever it is made; by truth it would not be."""
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=8000)
    truth = predicted + rng.normal(size=8000)
    # 2,000 a quarter with deviation 1: a standard error of .022.
    assert all(abs(quarter.bias) < 4 * 0.0224 for quarter in by_quarter(predicted, truth))


def test_table_as_latex() -> None:
    truth = np.arange(20.0)
    wave = truth + 3 * np.sin(truth)
    weak = np.sin(truth)
    predictions = {"=fine_one": {"hbpp": wave, "p@10": -wave}, "B & C": {"hbpp": weak}}
    found = {
        name: {target: quality(column, truth) for target, column in columns.items()}
        for name, columns in predictions.items()
    }
    text = as_latex(found, headings={"B & C": "After 100%"})
    r, tau = stats.pearsonr(wave, truth)[0], stats.kendalltau(wave, truth)[0]
    assert text.splitlines() == [
        r"\begin{tabular}{lcccc}",
        r"\toprule",
        r"Predictor & \multicolumn{2}{c}{hbpp} & \multicolumn{2}{c}{p@10} \\",
        r" & Pearson & Kendall $\tau$ & Pearson & Kendall $\tau$ \\",
        r"\midrule",
        rf"=fine\_one & $\mathbf{{{r:.3f}}}^{{\ddagger}}$ & $\mathbf{{{tau:.3f}}}^{{\ddagger}}$"
        rf" & $\mathbf{{{-r:.3f}}}^{{\ddagger}}$ & $\mathbf{{{-tau:.3f}}}^{{\ddagger}}$ \\",
        r"\midrule",
        r"\multicolumn{5}{l}{\emph{After 100\%}} \\",
        rf"B \& C & ${stats.pearsonr(weak, truth)[0]:.3f}$"
        rf" & ${stats.kendalltau(weak, truth)[0]:.3f}$ & -- & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
