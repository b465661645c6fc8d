"""The mean of paired differences: against scipy, Agresti and Min by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sightline.statistics.crossed import Variance
from sightline.statistics.paired import paired_spread


def test_without_a_scale_it_is_students():
    differences = np.random.default_rng(0).normal(0.3, 1, 25)
    found = paired_spread(np.append(differences, np.nan))
    expected = stats.ttest_1samp(differences, 0)
    interval = expected.confidence_interval(0.95)
    made = found.interval()
    assert (made.value, made.n, made.method) == (pytest.approx(differences.mean()), 25, "t")
    assert (made.low, made.high) == pytest.approx((interval.low, interval.high))
    assert found.p(0.0) == pytest.approx(expected.pvalue)
    for null, alternative in ((0.1, "greater"), (0.5, "less")):
        reference = stats.ttest_1samp(differences, null, alternative=alternative)
        assert found.p(null, alternative) == pytest.approx(reference.pvalue)


def test_paired_yes_and_no_after_agresti_and_min():
    # 40 pairs: 2 only the first, 7 only the second, 31 alike. One is added to either of the first two:
    # N = 42, (3 - 8) / 42 = -.119048, variance (11 - 25 / 42) / 42^2 = .00589831; t(.975, 39) = 2.022691.
    differences = np.repeat([1.0, -1.0, 0.0], [2, 7, 31])
    found = paired_spread(differences, width=1)
    assert found.sparse and found.mean == pytest.approx(-5 / 40) and found.centre == pytest.approx(-5 / 42)
    assert found.variance.prompts == pytest.approx((11 - 25 / 42) / 42**2)
    half = 2.022691 * ((11 - 25 / 42) / 42**2) ** 0.5
    made = found.interval()
    assert (made.value, made.method) == (pytest.approx(-0.125), "Agresti-Min")
    assert (made.low, made.high) == pytest.approx((-5 / 42 - half, -5 / 42 + half), abs=1e-6)


def test_systems_that_never_differed_may_still_differ():
    # 0 of 100: half a difference on either side, not certainty.
    made = paired_spread(np.zeros(100), width=1).interval()
    assert (made.value, made.n) == (0, 100)
    half = stats.t.ppf(0.975, 99) * (2 / 102**2) ** 0.5
    assert (made.low, made.high) == pytest.approx((-half, half))
    assert paired_spread(np.zeros(100)).interval().high == 0


def test_differences_stay_on_their_scale():
    made = paired_spread(np.array([1.0, 1, 1, 0.8]), width=1).interval()
    assert made.low is not None and -1 <= made.low < made.high <= 1
    always = paired_spread(np.ones(12), width=1).interval()
    assert always.value == 1 and always.high == 1 and 0 < always.low < 1


def test_too_few_to_show_a_spread():
    assert paired_spread([]).interval().reason == "no value is known"
    one = paired_spread([0.5]).interval()
    assert one.value == 0.5 and one.low is None and "one value" in one.reason


def test_raters_add_to_the_variance():
    differences = np.random.default_rng(1).normal(0, 1, 30)
    plain = paired_spread(differences)
    crossed = paired_spread(differences, raters=Variance(0.0, 0.2, 29, 4))
    assert crossed.variance.prompts == pytest.approx(plain.variance.total)
    assert crossed.variance.raters == 0.2
    assert crossed.interval().method == "t over prompts and raters"
    assert crossed.interval().high > plain.interval().high and crossed.p(0.0) > plain.p(0.0)
    # Raters who add nothing leave the test as it was.
    assert paired_spread(differences, raters=Variance(0.0, 0.0, 29)) == plain


def test_equivalence_by_two_one_sided_tests():
    weightstats = pytest.importorskip("statsmodels.stats.weightstats", reason="statsmodels is not installed")
    differences = np.random.default_rng(2).normal(0.05, 0.3, 60)
    p, lower, upper = weightstats.DescrStatsW(differences).ttost_mean(-0.2, 0.2)
    found = paired_spread(differences)
    assert found.p(-0.2, "greater") == pytest.approx(lower[1])
    assert found.p(0.2, "less") == pytest.approx(upper[1])
    assert max(found.p(-0.2, "greater"), found.p(0.2, "less")) == pytest.approx(p)


def test_rare_failures_that_so_few_prompts_would_miss():
    spread = paired_spread(np.zeros(20), width=1)
    # One prompt in ten that collapses costs .1; 20 prompts show none of those with probability .9^20 = .1216.
    assert spread.rare(0.1) == pytest.approx(0.9**20)
    assert spread.rare(0.1, width=0.5) == pytest.approx(0.8**20)
    assert spread.rare(2.0) == 0 and paired_spread(np.zeros(20)).rare(0.1) == 0


def test_beyond_a_margin_the_variance_is_that_at_the_margin():
    differences = np.repeat([0.2, -0.1], [30, 30])
    plain, placed = (paired_spread(differences, width=1, level=each) for each in (None, 0.9))
    # The mean .05 puts the first at .95: .95 x .05 = .0475; at the margin it would be at .7: .21, 4.42 times.
    own = differences.var(ddof=1) / 60
    expected = stats.t.sf((0.05 + 0.2) / (own * 0.21 / 0.0475) ** 0.5, 59)
    assert placed.p_beyond(-0.2, "greater") == pytest.approx(expected)
    assert plain.p_beyond(-0.2, "greater") == plain.p(-0.2, "greater") < expected
    # Towards the end of the scale it would be smaller, and stays as it is.
    assert placed.p_beyond(0.1, "less") == placed.p(0.1, "less")
    # All alike at the end: at most the variance of unpaired yes/no at the margin, .9 x .1 / 60.
    perfect = paired_spread(np.zeros(60), width=1, level=1.0)
    assert perfect.p_beyond(-0.1, "greater") == pytest.approx(stats.t.sf(0.1 / (0.09 / 60) ** 0.5, 59))
    # What was taken off the raters' part as noise counts again.
    noisy = paired_spread(differences, raters=Variance(0.0, 0.0, 59, 2, 0.01))
    assert noisy.p(-0.2, "greater") == plain.p(-0.2, "greater")
    whole = paired_spread(differences, raters=Variance(0.0, 0.01, 59, 2))
    assert noisy.p_beyond(-0.2, "greater") == whole.p(-0.2, "greater")


@pytest.mark.parametrize(("n", "right"), [(10, 0.9), (40, 0.97), (40, 0.6), (200, 0.98)])
def test_coverage_of_paired_yes_and_no(n, right):
    rng = np.random.default_rng(n)
    first, second = (rng.random((500, n)) < right, rng.random((500, n)) < right - 0.1)
    made = [paired_spread(each, width=1).interval() for each in first * 1.0 - second]
    inside = np.mean([each.low - 1e-12 <= 0.1 <= each.high for each in made])
    # The standard error of a proportion of .95 is .01 here.
    assert inside >= 0.92
