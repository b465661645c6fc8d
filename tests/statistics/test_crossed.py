"""Raters as a sample: against the analysis of variance by hand and by statsmodels, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sightline.statistics.comparison import compare
from sightline.statistics.crossed import Panel, Variance, moderated
from sightline.statistics.intervals import mean_interval


def crossed(votes):
    """A panel of all raters on all items from votes (systems x prompts x raters)."""
    system, unit, rater = (each.ravel() for each in np.indices(votes.shape))
    return Panel(unit, system, system * votes.shape[1] + unit, rater, votes.ravel())


def nested(votes):
    """The same votes, every prompt with raters of its own."""
    system, unit, rater = (each.ravel() for each in np.indices(votes.shape))
    return Panel(unit, system, system * votes.shape[1] + unit, unit * votes.shape[2] + rater, votes.ravel())


def over_prompts(values):
    return float(values.var(ddof=1)) / values.size


def test_a_mean_by_hand():
    # Prompts 1, 3, 5 (rows) by raters who give -1, 0 and +4 on top, with two slips of +3 and -3.
    votes = np.array([[[0.0, 1, 5], [2, 6, 7], [4, 2, 9]]])
    # Prompt means 2, 5, 5: MS = 3 * ((-2)^2 + 1 + 1) / 2 = 9.
    # Rater means 2, 3, 7: MS = 3 * (4 + 1 + 9) / 2 = 21.
    # Residuals (value - prompt - rater + 4): 0 0 0 / -1 2 -1 / 1 -2 1: MS = 12 / 4 = 3.
    found = crossed(votes).variance(9 / 9, 0)
    assert found.prompts == 1
    assert found.raters == pytest.approx((21 - 3) / 9)
    assert found.total == pytest.approx((9 + 21 - 3) / 9)
    assert found.proportion == pytest.approx(2 / 3)
    assert (found.df, found.rater_df) == (2, pytest.approx(2))


def test_limits_by_hand():
    # t(.975, 8) = 2.306004, t(.975, 2) = 4.302653: sqrt((3 * 2.306004^2 + 4.302653^2) / 4) = 2.936.
    found = Variance(3.0, 1.0, 8, 2)
    expected = ((3 * 2.306004**2 + 4.302653**2) / 4) ** 0.5
    assert found.quantile(0.025) == pytest.approx(expected, rel=1e-6)
    assert found.tail(expected) == pytest.approx(0.025, rel=1e-5)
    assert found.tail(-expected) == pytest.approx(0.975, rel=1e-5)
    assert stats.t.ppf(0.975, found.effective_df(0.025)) == pytest.approx(expected, rel=1e-6)
    assert Variance(3.0, 1e-12, 8, 2).tail(1.0) == pytest.approx(stats.t.sf(1, 8))
    assert Variance(1e-12, 1.0, 8, 2).tail(1.0) == pytest.approx(stats.t.sf(1, 2))
    for t in (0.0, 1.3, 50.0, 1e6):
        assert Variance(3.0, 0.0, 8, 2).tail(t) == pytest.approx(stats.t.sf(t, 8))
        assert stats.t.sf(t, 8) <= found.tail(t) <= stats.t.sf(t, 2)


def test_differences_are_those_of_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")
    anova = pytest.importorskip("statsmodels.stats.anova").anova_lm
    polars = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(3)
    n, raters = 12, 5
    votes = rng.normal(0, 0.7, (2, n, raters)) + rng.normal(0, 0.5, (2, 1, raters))
    votes += rng.normal(0, 0.6, (1, n, 1))
    difference = votes[0] - votes[1]
    table = polars.DataFrame(
        {
            "d": difference.ravel(),
            "prompt": np.repeat(np.arange(n), raters).astype(str),
            "rater": np.tile(np.arange(raters), n).astype(str),
        }
    )
    squares = anova(statsmodels.ols("d ~ prompt + rater", table).fit())["mean_sq"]
    found = crossed(votes).variance(over_prompts(difference.mean(axis=1)), 0, 1)
    cells = n * raters
    assert found.prompts == pytest.approx(squares["prompt"] / cells)
    assert found.raters == pytest.approx((squares["rater"] - squares["Residual"]) / cells)


def test_raters_of_one_prompt_each_add_nothing():
    # What raters add is part of how prompts vary where every prompt has its own.
    votes = np.random.default_rng(0).normal(size=(2, 20, 4))
    own = over_prompts(votes[0].mean(axis=1) - votes[1].mean(axis=1))
    assert nested(votes).variance(own, 0, 1)[:3] == (own, 0.0, 19)
    assert nested(votes).variance(own, 0).raters == 0


def test_raters_who_only_differ_in_level_add_nothing_to_a_difference():
    rng = np.random.default_rng(1)
    votes = rng.normal(size=(1, 15, 1)) + np.array([[[0.0]], [[0.4]]]) + rng.normal(0, 3, (1, 1, 6))
    panel = crossed(votes)
    own = over_prompts(votes[0].mean(axis=1))
    assert panel.variance(own, 0).raters > own
    assert panel.variance(1.0, 0, 1)[:3] == (1.0, 0.0, 14)


def test_two_raters_are_too_few_to_estimate_their_variance():
    votes = np.random.default_rng(0).normal(size=(1, 20, 2)) + np.array([0.0, 5.0])
    assert crossed(votes).variance(0.1, 0) == Variance(0.1, 0.0, 19)


def test_raters_are_as_different_on_a_class_of_prompts_as_on_all():
    votes = np.random.default_rng(4).normal(size=(2, 60, 4)) + np.arange(4) * np.array([[[0.5]], [[-0.5]]])
    panel = crossed(votes)
    every = panel.variance(0.1, 0, 1)
    part = panel.variance(0.1, 0, 1, np.arange(60) < 15)
    assert part.raters == pytest.approx(every.raters, rel=0.05)
    assert part.df == 14 and part.rater_df == every.rater_df
    assert panel.variance(0.1, 0, 1, np.arange(60) < 1) == Variance(0.1, 0.0, 1)


def test_effective_raters():
    # One rater with half of the votes and two with a quarter each: 1 / (1/4 + 1/16 + 1/16).
    assert Panel.effective_raters(np.array([2.0, 1, 1])) == pytest.approx(1 / 0.375)
    assert Panel.effective_raters(np.zeros(3)) == 0


def test_raters_of_one_system_alone_are_confounded_with_it():
    rng = np.random.default_rng(0)
    n = 40
    unit, system = np.tile(np.repeat(np.arange(n), 3), 2), np.repeat([0, 1], 3 * n)
    item = system * n + unit
    value = rng.normal(size=6 * n)
    same = np.tile([0, 1, 2], 2 * n)
    apart = same + 3 * system
    random = np.concatenate([rng.choice(6, 3, replace=False) for _ in range(2 * n)])
    own = np.concatenate([rng.choice(2000, 3, replace=False) for _ in range(2 * n)])
    mixed = {
        name: Panel(unit, system, item, rater, value).confounded(0, 1)
        for name, rater in (("same", same), ("apart", apart), ("random", random), ("crowd", own))
    }
    # A crowd of which hardly anybody judges twice shows nothing either way.
    assert mixed == {"same": False, "apart": True, "random": False, "crowd": False}


def test_the_other_systems_say_how_far_raters_differ():
    # Five systems, raters' variances 0, 3 and 6 with 2 degrees of freedom: the mean 3 counts for 4 more.
    pairs = [Variance(1.0, raters, 20, 2) for raters in (0.0, 3, 6)]
    drawn = moderated(pairs, 5)
    assert [each.raters for each in drawn] == pytest.approx([(2 * r + 4 * 3) / 6 for r in (0, 3, 6)])
    assert {each.rater_df for each in drawn} == {6} and {each.prompts for each in drawn} == {1}
    # Four systems hold little, three nothing that is not in the pair; two raters show nothing.
    assert moderated(pairs, 4)[2].raters == pytest.approx((2 * 6 + 2 * 3) / 4)
    assert moderated(pairs, 3) == pairs
    assert moderated([*pairs, Variance(1.0, 0.0, 20)], 5)[3] == Variance(1.0, 0.0, 20)


@pytest.mark.parametrize("tastes", [[0.1] * 6, [0.02] * 5 + [0.3]])
def test_false_alarms_among_many_systems(tastes):
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(150):
        votes = rng.normal(0, 0.3, (6, 20, 3)) + rng.normal(0, 0.3, (1, 20, 1))
        votes += np.array(tastes)[:, None, None] * rng.normal(size=(6, 1, 3))
        found = compare(votes.mean(axis=2).T, panel=crossed(votes), permutations=2000, power=False)
        alarms += any(pair.significant for pair in found.pairs)
    assert alarms / 150 < 0.1


@pytest.mark.parametrize("raters", [3, 5, 10])
def test_coverage_over_prompts_and_raters(raters):
    rng = np.random.default_rng(raters)
    repetitions, n = 400, 20
    votes = rng.normal(0, 0.6, (repetitions, 1, n, 1)) + rng.normal(0, 0.5, (repetitions, 1, 1, raters))
    votes = votes + rng.normal(0, 0.7, (repetitions, 1, n, raters))
    inside = alone = 0
    for each in votes:
        values = each[0].mean(axis=1)
        found = mean_interval(values, variance=crossed(each).variance(over_prompts(values), 0))
        inside += found.low <= 0 <= found.high
        plain = mean_interval(values)
        alone += plain.low <= 0 <= plain.high
    # The standard error of a proportion of .95 is .011 here.
    assert inside / repetitions > 0.915
    assert alone / repetitions < inside / repetitions
    assert stats.binom.cdf(alone, repetitions, 0.93) < 1e-3
