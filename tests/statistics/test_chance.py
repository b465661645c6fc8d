"""Better than chance: all orders of a few prompts, Diaconis and Graham's moments, and simulation of many."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata, t

from sightline.statistics.chance import better_ranks, better_than_mean, rank_error_moments


@given(st.lists(st.integers(0, 4), min_size=5, max_size=6), st.data())
def test_moments_are_those_of_all_orders(truth: list[int], data: st.DataObject) -> None:
    said = data.draw(st.lists(st.integers(0, 9), min_size=len(truth), max_size=len(truth)))
    a, b = rankdata(said), rankdata(truth)
    sums = [np.abs(a - b[list(order)]).sum() for order in permutations(range(len(b)))]
    mean, variance = rank_error_moments(np.array(said), np.array(truth))
    assert mean == pytest.approx(np.mean(sums)) and variance == pytest.approx(np.var(sums), abs=1e-9)


@pytest.mark.parametrize("n", [5, 20, 301])
def test_moments_without_ties_are_the_published_ones(n: int) -> None:
    """Diaconis and Graham (1977): (n^2 - 1) / 3 and (n + 1)(2 n^2 + 7) / 45 of Spearman's footrule."""
    order = np.arange(float(n))
    mean, variance = rank_error_moments(order, order[::-1])
    assert mean == pytest.approx((n**2 - 1) / 3)
    assert variance == pytest.approx((n + 1) * (2 * n**2 + 7) / 45)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said, truth = np.random.default_rng(0).integers(0, 20, size=(2, 60))
    whole = rank_error_moments(said, truth)
    monkeypatch.setattr("sightline.statistics.intervals.BLOCK_CELLS", 60 * 7)
    assert rank_error_moments(said, truth) == pytest.approx(whole, rel=1e-12)


def test_ranks_by_hand() -> None:
    # 6 prompts in the true order: mean 35/3, variance 7 x 79 / 45, and a step of 2 between sums.
    order = np.arange(6.0)
    expected = norm.cdf((0 + 1 - 35 / 3) / np.sqrt(7 * 79 / 45))
    assert better_ranks(order, order) == pytest.approx(expected)
    # Exactly 1 of 720 orders is the true one: it deserves one dagger and not two, and gets one.
    assert 0.001 < expected < 0.01
    # The reverse order is off by 18.
    assert better_ranks(-order, order) == pytest.approx(norm.cdf((18 + 1 - 35 / 3) / np.sqrt(7 * 79 / 45)))
    assert better_ranks(np.ones(9), np.arange(9.0)) == 1


@pytest.mark.parametrize("n", [12, 60, 200])
@pytest.mark.parametrize("ties", [False, True])
def test_random_orders_are_seldom_better_than_chance(n: int, ties: bool) -> None:
    """2,000 random orders: 4 standard errors of a share of 0.05 are 0.0195, and of 0.01, 0.0089."""
    rng = np.random.default_rng(n)
    truth = np.round(2 * rng.normal(size=n)) if ties else rng.normal(size=n)
    found = np.array([better_ranks(rng.normal(size=n), truth) for _ in range(2000)])
    assert 0.025 < np.mean(found < 0.05) < 0.0695
    assert np.mean(found < 0.01) < 0.0189


def test_squared_errors_by_hand() -> None:
    truth = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    said = np.array([1.0, 1.0, 2.0, 2.0, 4.0, 6.0])

    def less(rows: np.ndarray) -> float:
        return float(np.mean((said[rows] - truth[rows]) ** 2) - np.var(truth[rows]))

    without = np.array([less(np.delete(np.arange(6), n)) for n in range(6)])
    error = np.sqrt(5 / 6 * np.sum((without - without.mean()) ** 2))
    assert better_than_mean(said, truth) == pytest.approx(t.cdf(less(np.arange(6)) / error, 5))


def test_what_is_no_better_than_the_mean_says_so() -> None:
    truth = np.arange(8.0)
    assert better_than_mean(np.full(8, 3.5), truth) == pytest.approx(0.5)
    assert better_than_mean(np.full(8, 9.0), truth) > 0.9
    assert better_than_mean(truth, np.ones(8)) > 0.9
    assert better_than_mean(np.ones(8), np.ones(8)) == 1
    many = np.arange(80.0)
    assert better_than_mean(truth, truth) < 0.05 and better_than_mean(many, many) < 0.001


@pytest.mark.parametrize("n", [30, 200])
def test_predictors_as_good_as_the_mean_are_seldom_called_better(n: int) -> None:
    """Predictions c x hidden + noise whose squared error is just the variance of the truth."""
    rng = np.random.default_rng(n)
    found = []
    for _ in range(3000):
        hidden = rng.normal(size=n)
        truth = hidden + rng.normal(size=n)
        # Error: (0.5 - 1) hidden + noise: 0.25 + 1 + v is the variance 2 where v = 0.75.
        found.append(better_than_mean(0.5 * hidden + np.sqrt(0.75) * rng.normal(size=n), truth))
    # 4 standard errors of a share of 0.05 at 3,000 trials are 0.016; the jackknife is near, not exact.
    assert 0.034 < np.mean(np.array(found) < 0.05) < 0.07
