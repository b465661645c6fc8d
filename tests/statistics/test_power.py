"""What a study could have detected, by hand, by statsmodels, and by simulating the test itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sightline.statistics.paired import paired_spread
from sightline.statistics.power import detectable_effect, minimum_detectable_effect
from sightline.statistics.significance import sign_flip_columns


def test_minimum_detectable_difference():
    # With many units t is normal: (1.959964 + .841621) sd / sqrt(n) = 2.801585 * 2 / 100.
    assert minimum_detectable_effect(2, 10_000) == pytest.approx(0.0560317, rel=1e-3)
    # One-sample t test of effect .5 with power .8 at .05 needs n = 34 (Cohen 1988).
    assert 0.49 < minimum_detectable_effect(1, 34) < 0.5 < minimum_detectable_effect(1, 33)
    assert minimum_detectable_effect(0, 5) == 0
    # Strict levels and few or many units, by z(1 - alpha/2) + z(power) where n is large.
    rough = (stats.norm.ppf(1 - 1e-6 / 2) + stats.norm.ppf(0.8)) / np.sqrt(1000)
    assert minimum_detectable_effect(1, 1000, alpha=1e-6) == pytest.approx(rough, rel=0.02)
    # Two units at 1e-6: t must exceed 636,619, and does if |z| < nc / t, so that nc = 636,619 z(.9).
    expected = stats.t.ppf(1 - 5e-7, 1) * stats.norm.ppf(0.9) / np.sqrt(2)
    assert minimum_detectable_effect(1, 2, alpha=1e-6) == pytest.approx(expected, rel=1e-6)
    for n in (2, 3, 10, 40, 5000):
        found = [minimum_detectable_effect(1, n, alpha=alpha) for alpha in (1e-6, 1e-4, 0.01)]
        assert np.isfinite(found).all() and found[0] > found[1] > found[2] > 0
    with pytest.raises(ValueError, match="at least 2"):
        minimum_detectable_effect(1, 1)
    with pytest.raises(ValueError, match="alpha < power"):
        minimum_detectable_effect(1, 10, power=0.01)


def test_the_detectable_difference_is_found_as_often_as_promised():
    difference = minimum_detectable_effect(1.5, 20, power=0.7)
    samples = np.random.default_rng(0).normal(difference, 1.5, (4000, 20))
    found = stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.7, abs=0.022)


def test_as_statsmodels_has_it():
    power = pytest.importorskip("statsmodels.stats.power", reason="statsmodels is not installed")
    for n in (5, 20, 78, 500):
        effect = power.TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
        assert minimum_detectable_effect(1.7, n) == pytest.approx(1.7 * effect, rel=1e-6)


def test_no_effect_is_detectable_where_no_p_can_reach_the_level():
    five = np.array([0.1, -0.2, 0.3, 0.1, -0.1])
    assert detectable_effect(five, paired_spread(five), 0.05) == (None, "5 prompts allow no p below 0.062")
    equal = np.full(20, 0.5)
    assert detectable_effect(equal, paired_spread(equal, width=1), 0.05)[0] is None


@pytest.mark.parametrize("n", [20, 40, 100])
@pytest.mark.parametrize("right", [0.95, 0.8])
def test_on_yes_or_no_the_detectable_effect_is_found_four_times_out_of_five(n, right):
    rng = np.random.default_rng(n)
    same = (rng.random((60, n)) < right) * 1.0 - (rng.random((60, n)) < right)
    claimed = [detectable_effect(each, paired_spread(each, width=1), 0.05)[0] for each in same]
    claims = [each for each in claimed if each is not None]
    effect = min(float(np.median(claims)), right - 0.01)
    worse = (rng.random((400, n)) < right - effect) * 1.0 - (rng.random((400, n)) < right)
    found = sign_flip_columns(worse.T, permutations=1000) < 0.05
    assert found.mean() > 0.7


@pytest.mark.parametrize("n", [12, 20, 45])
def test_the_detectable_effect_does_not_grow_with_the_difference(n):
    noise = np.random.default_rng(n).normal(0, 0.8, n)
    noise -= noise.mean()
    none, clear = (detectable_effect(noise + by, paired_spread(noise + by), 0.05)[0] for by in (0.0, 2.0))
    assert clear == pytest.approx(none)
    # The same scatter by the noncentral t.
    assert clear == pytest.approx(minimum_detectable_effect(noise.std(ddof=1), n), rel=0.1)


def test_the_effect_is_found_four_times_out_of_five_where_systems_differ_clearly():
    rng = np.random.default_rng(3)
    seen = rng.choice([1.0, 1.5, 2.0, 2.5, 3.0], (40, 20))
    claimed = [detectable_effect(each, paired_spread(each, width=4), 0.05)[0] for each in seen]
    effect = float(np.median([each for each in claimed if each is not None]))
    again = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (400, 20)) + effect
    found = sign_flip_columns(again.T, permutations=1000) < 0.05
    assert 0.72 < found.mean() < 0.88


@pytest.mark.parametrize("n", [30, 100])
def test_a_clear_difference_of_yes_or_no_promises_no_more_than_signs_can_show(n):
    # All but one prompt differ by 1: with an effect e about n e differ, and p is 2^(1 - n e) at the least.
    seen = np.ones(n)
    seen[0] = 0.0
    effect, _ = detectable_effect(seen, paired_spread(seen, width=1), 0.05)
    assert effect is not None and effect < 0.5
    rng = np.random.default_rng(0)
    drawn = (rng.random((400, n)) < effect) * 1.0
    found = sign_flip_columns(drawn.T, permutations=1000) < 0.05
    assert 0.75 < found.mean() < 0.99
