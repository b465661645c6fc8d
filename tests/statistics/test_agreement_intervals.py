"""Limits of kappa and alpha: published errors, an independent bootstrap, and how often they cover."""

from __future__ import annotations

import time

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from sightline.estimate import Estimate
from sightline.statistics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from sightline.statistics.agreement_intervals import MOST_UNITS

SCALES = ("nominal", "ordinal", "interval")


def spelled_out(table: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array(table)
    first, second = np.indices(counts.shape).reshape(2, -1)
    return np.repeat(first, counts.ravel()), np.repeat(second, counts.ravel())


# The table of Fleiss, Cohen and Everitt (1969), whose variance of kappa is .002885; limits by statsmodels
# 0.15.0, cohens_kappa(table, wt=None, "linear", "fc").
EVERITT = [[106, 10, 4], [22, 28, 10], [2, 12, 6]]
FOUR = [[20, 5, 1, 0], [3, 12, 6, 2], [0, 4, 15, 5], [1, 0, 7, 19]]
BY_STATSMODELS = [
    (EVERITT, None, 0.4285714285714285, 0.32329979345440496, 0.533843063688452),
    (EVERITT, "linear", 0.4923076923076922, 0.39290104805060605, 0.5917143365647785),
    (EVERITT, "quadratic", 0.5666666666666667, 0.45756264480537967, 0.6757706885279536),
    (FOUR, None, 0.5463642428285523, 0.4230086092946783, 0.6697198763624264),
    (FOUR, "linear", 0.6914068681753442, 0.5932738507359818, 0.7895398856147067),
    (FOUR, "quadratic", 0.8005631159080244, 0.7073879961553822, 0.8937382356606667),
]


@pytest.mark.parametrize(("table", "weights", "value", "low", "high"), BY_STATSMODELS)
def test_limits_of_kappa_are_those_of_statsmodels(table, weights, value, low, high):
    found = cohen_kappa(*spelled_out(table), weights=weights)
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=1e-12)


def test_the_published_variance_of_kappa():
    found = cohen_kappa(*spelled_out(EVERITT))
    assert ((found.high - found.low) / (2 * 1.959964)) ** 2 == pytest.approx(0.002885, abs=5e-7)
    narrow = cohen_kappa(*spelled_out(EVERITT), confidence=0.5)
    # The normal quartile is .6745.
    assert narrow.high - narrow.value == pytest.approx(0.6745 * 0.053711, abs=1e-5)


def test_what_shows_no_spread_has_no_limits():
    item = np.repeat(np.arange(6), 2)
    perfect = np.repeat([0.0, 1, 2, 0, 1, 2], 2)
    assert cohen_kappa(perfect[::2], perfect[1::2]) == Estimate(1.0, n=6)
    assert fleiss_kappa(item, perfect) == Estimate(1.0, n=6)
    for scale in SCALES:
        assert krippendorff_alpha(item, perfect, scale=scale) == Estimate(1.0, n=6)
    # One item only: nothing to resample, nothing to leave out.
    assert fleiss_kappa([0, 0, 0], [1, 1, 2]).low is None
    assert krippendorff_alpha([0, 0, 0], [1, 1, 2]).low is None
    # All variety lies in one item: without it there is no kappa, so that the jackknife says nothing.
    assert fleiss_kappa([0, 0, 1, 1, 2, 2], [1, 1, 1, 1, 1, 2]).low is None


def test_fleiss_limits_are_those_of_leaving_out_one_by_one():
    rng = np.random.default_rng(5)
    item = np.repeat(np.arange(20), rng.integers(1, 6, 20))
    value = np.clip(np.round(rng.normal(item % 3, 0.7)), 0, 2)
    found = fleiss_kappa(item, value)
    twice = [number for number in range(20) if (item == number).sum() > 1]
    without = np.array([fleiss_kappa(item[item != i], value[item != i]).value for i in twice])
    n = len(twice)
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    half = t.ppf(0.975, n - 1) * error
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=1e-10)


def rated(rng: np.random.Generator, shape: tuple[int, int], missing: float = 0.2) -> np.ndarray:
    values = np.clip(np.round(rng.normal(3, 1.5, shape[1]) + rng.normal(0, 1, shape)), 1, 5)
    values[rng.random(shape) < missing] = np.nan
    return values


def columns(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.tile(np.arange(matrix.shape[1]), matrix.shape[0]), matrix.ravel()


@pytest.mark.parametrize("scale", SCALES)
def test_alpha_limits_are_quantiles_over_drawn_items(scale):
    """Another bootstrap: whole columns drawn, alpha by the krippendorff package each time."""
    matrix = rated(np.random.default_rng(3), (4, 40))
    found = krippendorff_alpha(*columns(matrix), scale=scale, resamples=4000)
    rng = np.random.default_rng(11)
    kept = matrix[:, (~np.isnan(matrix)).sum(axis=0) > 1]
    n = kept.shape[1]
    draws = [
        krippendorff.alpha(kept[:, rng.integers(0, n, n)], level_of_measurement=scale) for _ in range(1000)
    ]
    tail = norm.cdf(-np.sqrt(n / (n - 1)) * t.ppf(0.975, n - 1))
    # 1,000 draws place such a quantile to about a tenth of the standard deviation (.06 here).
    assert (found.low, found.high) == pytest.approx(np.quantile(draws, [tail, 1 - tail]), abs=0.025)


@pytest.mark.slow
def test_many_items_are_drawn_in_bundles_with_the_same_result():
    rng = np.random.default_rng(8)
    items = 3 * MOST_UNITS
    item = np.repeat(np.arange(items), 3)
    value = np.clip(np.round(rng.normal(item % 5, 1)), 0, 4)
    for scale in SCALES:
        found = krippendorff_alpha(item, value, scale=scale)
        thirds = [
            krippendorff_alpha(item[item % 3 == i], value[item % 3 == i], scale=scale) for i in range(3)
        ]
        # An interval of a third as many items is sqrt(3) times as wide.
        wide = np.mean([third.high - third.low for third in thirds])
        assert wide / (found.high - found.low) == pytest.approx(np.sqrt(3), rel=0.1)


def test_a_thousand_resamples_cost_far_less_than_a_thousand_times_one():
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(10_000), 3)
    value = np.clip(np.round(rng.normal(item % 5, 1)), 0, 4)
    for scale in SCALES:
        began = time.perf_counter()
        krippendorff_alpha(item, value, scale=scale, resamples=2)
        few = time.perf_counter()
        krippendorff_alpha(item, value, scale=scale, resamples=1000)
        many = time.perf_counter()
        assert many - few < 1000 * (few - began) / 5


@given(st.integers(0, 10_000), st.sampled_from(SCALES))
def test_limits_hold_the_value_and_the_seed_decides(seed, scale):
    item, value = columns(rated(np.random.default_rng(seed), (3, 12)))
    found = krippendorff_alpha(item, value, scale=scale, resamples=100)
    again = krippendorff_alpha(item, value, scale=scale, resamples=100)
    assert found == again
    if found.low is not None:
        assert found.low <= found.value <= found.high <= 1
        assert krippendorff_alpha(item, value, scale=scale, resamples=100, seed=1) != found
    assert krippendorff_alpha(item, value, scale=scale, resamples=0) == Estimate(
        found.value, n=found.n, reason=found.reason
    )
    kappa = fleiss_kappa(item, value)
    if kappa.low is not None:
        assert -1 <= kappa.low <= kappa.value <= kappa.high <= 1


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_limits_cover_the_truth_about_as_often_as_they_say(missing):
    """120 items of three classes; each of four people knows the class with .7, else guesses: kappa .49.

    2,000 repeats give a share of .95 to +-.01 (two standard errors). With 1,000 resamples and 30, 60 and 150
    items Fleiss' limits covered .947 to .961 and those of alpha .943 to .962; Cohen's normal ones .93 at 60.
    """
    truth, repeats, items, people = 0.49, 2000, 120, 4
    hits: dict[str, int] = {"cohen": 0, "fleiss": 0, "alpha": 0}
    item = np.tile(np.arange(items), people)
    rng = np.random.default_rng(99)
    for _ in range(repeats):
        knows = rng.random((people, items)) < np.sqrt(truth)
        votes = np.where(knows, rng.integers(0, 3, items), rng.integers(0, 3, (people, items))).astype(float)
        votes[rng.random(votes.shape) < missing] = np.nan
        for name, found in (
            ("cohen", cohen_kappa(votes[0], votes[1])),
            ("fleiss", fleiss_kappa(item, votes.ravel())),
            ("alpha", krippendorff_alpha(item, votes.ravel(), resamples=200)),
        ):
            hits[name] += found.low <= truth <= found.high
    assert all(0.93 <= hit / repeats <= 0.97 for hit in hits.values()), hits


def rare_labels(rng, items, raters, accuracy, proportion):
    """Yes or no: the truth with a probability of `accuracy`, else yes with a probability of `proportion`."""
    truth = rng.random(items) < proportion
    guess = rng.random((items, raters)) < proportion
    return np.where(rng.random((items, raters)) < accuracy, truth[:, None], guess).astype(float)


@pytest.mark.parametrize(
    ("raters", "accuracy", "proportion"), [(3, 0.9, 0.05), (3, 0.7, 0.05), (2, 0.9, 0.02)]
)
def test_skewed_labels_have_an_interval_that_covers_or_none(raters, accuracy, proportion):
    rng = np.random.default_rng(0)
    # Two votes agree beyond chance if both know the truth: alpha is about accuracy^2.
    truth = accuracy**2
    inside = {"alpha": [], "fleiss": [], "cohen": []}
    none = 0
    for items in (8, 20, 50, 200):
        for _ in range(60):
            table = rare_labels(rng, items, raters, accuracy, proportion)
            if np.ptp(table) == 0:
                continue
            item = np.repeat(np.arange(items), raters)
            found = {
                "alpha": krippendorff_alpha(item, table.ravel(), resamples=200),
                "fleiss": fleiss_kappa(item, table.ravel()),
                "cohen": cohen_kappa(table[:, 0], table[:, 1]),
            }
            for name, each in found.items():
                none += each.low is None
                if each.low is not None:
                    inside[name].append(each.low <= truth <= each.high)
                elif each.value is not None and each.value < 1:
                    assert "rarer of the two labels" in each.reason
    assert none > 100, "most of these samples say too little"
    for name, several in inside.items():
        assert len(several) < 20 or np.mean(several) >= 0.9 - 2.33 * (0.09 / len(several)) ** 0.5, name
