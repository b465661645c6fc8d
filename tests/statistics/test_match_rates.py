"""Match rates: hand arithmetic, independent libraries, laws, and coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.intervals import wilson
from sightline.statistics.match_rates import (
    difference_of_groups,
    interaction,
    linked_points,
    match_rate,
    mcnemar,
    rates_by,
    slope,
    unit_means,
)


def test_one_answer_per_prompt_is_wilson() -> None:
    # 8 of 10: centre (.8 + 3.8415/20) / (1 + .38415) = .7168, half-width .2266.
    found = match_rate([1] * 8 + [0] * 2, np.arange(10))
    assert (found.value, found.n, found.method) == (0.8, 10, "wilson")
    assert (found.low, found.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))


def test_samples_of_a_prompt_are_no_independent_trials() -> None:
    # Four prompts of two samples each, all alike within a prompt: shares 1, 1, 0, 0.
    # V = sum of squared sums of residuals / n^2 x 4/3 = 4 x 1 / 64 x 4/3 = 1/12, so .25 / V = 3 trials,
    # times (1.960 / 3.182)^2 = .3793: 1.138 trials.
    found = match_rate([1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3])
    trials = 3 * (1.959964 / 3.182446) ** 2
    scale = 1 + 1.959964**2 / trials
    half = 1.959964 * (0.25 / trials + 1.959964**2 / (4 * trials**2)) ** 0.5 / scale
    assert (found.value, found.n) == (0.5, 4)
    assert found.low == pytest.approx(0.5 - half, abs=1e-6)
    assert found.high == pytest.approx(0.5 + half, abs=1e-6)


def test_without_variation_the_trials_are_the_prompts() -> None:
    found, four = match_rate([1] * 8, [0, 0, 1, 1, 2, 2, 3, 3]), wilson(4, 4)
    assert (found.low, found.high) == (pytest.approx(four.low), 1.0)
    assert match_rate([1, 1], [0, 0]).low is None
    assert match_rate([np.nan, np.nan], [0, 1]).value is None


@given(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.0, 1.0, np.nan])), min_size=1, max_size=40),
)
def test_the_interval_holds_the_rate_and_its_order_does_not_matter(rows: list[tuple[int, float]]) -> None:
    unit, match = np.array([each[0] for each in rows]), np.array([each[1] for each in rows])
    found = match_rate(match, unit)
    known = match[~np.isnan(match)]
    if not known.size:
        assert found.value is None
        return
    assert found.value == pytest.approx(known.mean())
    if found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
    turned = match_rate(match[::-1], unit[::-1])
    assert turned.value == pytest.approx(found.value) and turned.n == found.n
    assert (turned.low or 0) == pytest.approx(found.low or 0)


@pytest.mark.parametrize("rho", [0.1, 0.6])
def test_coverage_over_prompts(rho: float) -> None:
    rng = np.random.default_rng(1)
    inside, naive, runs = 0, 0, 400
    for _ in range(runs):
        chance = rng.beta(0.3 * (1 / rho - 1), 0.7 * (1 / rho - 1), 25)
        unit = np.repeat(np.arange(25), rng.integers(1, 7, 25))
        match = (rng.random(unit.size) < chance[unit]).astype(float)
        found, single = match_rate(match, unit), match_rate(match)
        inside += (found.low or 0) <= 0.3 <= (found.high or 1)
        naive += (single.low or 0) <= 0.3 <= (single.high or 1)
    # Three standard errors of a simulation of 400 below .95; as if independent it would fail.
    assert inside / runs > 0.95 - 3 * (0.95 * 0.05 / runs) ** 0.5
    assert naive < inside


def test_rates_by_group_keep_their_order_and_leave_none_out() -> None:
    found = rates_by([1, 0, 1, 1, 0], ["b", "a", "b", None, "a"])
    assert list(found) == ["b", "a"] and [each.value for each in found.values()] == [1.0, 0.0]
    units, means = unit_means([1, 0, np.nan, 1], [7, 7, 8, 9])
    assert units.tolist() == [7, 9] and means.tolist() == [0.5, 1.0]


def test_mcnemar_as_statsmodels() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(0)
    first, second = (rng.random(60) < 0.7).astype(float), (rng.random(60) < 0.5).astype(float)
    counts = [[np.sum((first == a) & (second == b)) for b in (1, 0)] for a in (1, 0)]
    assert mcnemar(first, second).p == pytest.approx(tables.mcnemar(counts, exact=True).pvalue)


def test_mcnemar_by_hand() -> None:
    # 5 prompts differ, all one way: 2 x (1/2)^5 = .0625.
    found = mcnemar([1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0, 1])
    assert found.p == pytest.approx(0.0625) and found.n == 7 and found.statistic == pytest.approx(5 / 7)
    assert mcnemar([1, 0], [1, 0]).p == 1.0
    assert mcnemar([np.nan], [1.0]).p is None
    # Proportions of several samples: signs are flipped, which of 5 equal signs gives the same.
    assert mcnemar([0.5] * 5, [0.25] * 5).p == pytest.approx(0.0625)


def test_slope_and_interaction_as_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova").anova_lm
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    x, kind = rng.random(24), (np.arange(24) % 2).astype(float)
    y = 0.2 + 0.4 * x + 0.1 * kind - 0.5 * x * kind + rng.normal(0, 0.1, 24)
    data = pandas.DataFrame({"x": x, "k": kind, "y": y})
    fitted = api.ols("y ~ x", data).fit()
    found = slope(x, y)
    assert found.slope.value == pytest.approx(fitted.params["x"]) and found.p == pytest.approx(
        fitted.pvalues["x"]
    )
    low, high = fitted.conf_int().loc["x"]
    assert (found.slope.low, found.slope.high) == (pytest.approx(low), pytest.approx(high))
    both = interaction(x, kind, y)
    assert both is not None
    first = anova(api.ols("y ~ x + k + x:k", data).fit(), typ=1)
    assert both.main_squares == pytest.approx(first.loc["x", "sum_sq"])
    assert both.main_p == pytest.approx(first.loc["x", "PR(>F)"])
    assert both.p == pytest.approx(first.loc["x:k", "PR(>F)"]) and both.df == 20
    additive = api.ols("y ~ x + k", data).fit()
    assert both.slope == pytest.approx(additive.params["x"])
    assert both.slope_p == pytest.approx(additive.pvalues["x"])


def test_too_little_for_a_line() -> None:
    assert slope([1, 2], [1, 2]).slope.value is None
    assert slope([1, 1, 1], [1, 2, 3]).slope.reason == "all points have the same x"
    # A system that fails at everything: no slope to be seen, and no spread to say how sure that is.
    flat = slope([1, 2, 3, 4], [0, 0, 0, 0])
    assert (flat.slope.value, flat.slope.low, flat.p, flat.n) == (0.0, None, None, 4)
    assert flat.slope.reason == "all points have the same y"
    assert interaction([1, 2, 3], [0, 1, 0], [1, 2, 3]) is None


def test_linked_points_by_hand() -> None:
    # Prompts 1 and 2 are simple; 10 builds on both, 11 on 1. System s matches 1 and not 2.
    points = linked_points(
        [1, 0, 1, 0, np.nan],
        [1, 2, 10, 11, 12],
        ["s"] * 5,
        ["single", "single", "hard", "hard", "hard"],
        {10: frozenset({1, 2}), 11: frozenset({1})},
        [True, True, False, False, False],
        tasks=["hard"],
        systems=["s", "other"],
    )
    # Distinct simple prompts 1 and 2: rate .5; the skill: one of two known answers.
    assert points == [("hard", "s", 0.5, 0.5)]


def test_difference_of_groups_as_scipy() -> None:
    from scipy.stats import ttest_ind

    a, b = np.array([1.0, 0.5, 1.0, 0.75]), np.array([0.0, 0.25, 0.5, 0.0, 0.25])
    gap, p = difference_of_groups(a, b)
    assert gap.value == pytest.approx(a.mean() - b.mean())
    assert p == pytest.approx(ttest_ind(a, b, equal_var=False).pvalue)
    assert difference_of_groups([1.0], b)[0].value is None
