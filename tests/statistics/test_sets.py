from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics import intervals
from sightline.statistics.sets import StepCDF, k_expected_minimum, k_expected_minimum_exact, pairwise_mean


def distances(points):
    x = np.asarray(points, dtype=float).reshape(len(points), -1)
    return np.linalg.norm(x[:, None] - x[None], axis=2)


def by_listing(matrix):
    n = len(matrix)

    def smallest(subset):
        return min(matrix[a, b] for a, b in combinations(subset, 2))

    return [np.mean([smallest(subset) for subset in combinations(range(n), k)]) for k in range(2, n + 1)]


points = st.lists(st.floats(-100, 100), min_size=2, max_size=7)


def test_published_check():
    # Pairs of {0, 1, 2, 10}: 1 2 10 1 9 8, mean 31/6; smallest of the triples {0,1,2} 1, {0,1,10} 1,
    # {0,2,10} 2, {1,2,10} 1, mean 5/4; all four: 1.
    matrix = distances([0, 1, 2, 10])
    exact = k_expected_minimum_exact(matrix)
    assert exact.k.tolist() == [2, 3, 4]
    assert exact.value == pytest.approx([31 / 6, 5 / 4, 1])
    assert pairwise_mean(matrix) == pytest.approx(31 / 6)


@given(points)
def test_exact_agrees_with_listing(values):
    matrix = distances(values)
    exact = k_expected_minimum_exact(matrix)
    assert exact.value == pytest.approx(by_listing(matrix), abs=1e-9)
    assert np.all(np.diff(exact.value) <= 1e-9), "more images can only bring the nearest pair closer"
    assert exact.value[0] == pytest.approx(pairwise_mean(matrix), abs=1e-9)
    order = np.random.default_rng(0).permutation(len(values))
    shuffled = k_expected_minimum_exact(matrix[np.ix_(order, order)])
    assert shuffled.value == pytest.approx(exact.value, abs=1e-9)


def test_drawn_orders_come_within_their_stated_error():
    matrix = distances(np.random.default_rng(0).normal(size=(12, 2)))
    exact = k_expected_minimum_exact(matrix).value
    off = []
    for seed in range(300):
        drawn = k_expected_minimum(matrix, permutations=200, seed=seed)
        assert drawn.value[-1] == pytest.approx(exact[-1], abs=1e-12) and drawn.error[-1] < 1e-12
        off.append((drawn.value[:-1] - exact[:-1]) / drawn.error[:-1])
    scores = np.array(off)
    # Unbiased: the mean of 300 standard scores is within 3.5/sqrt(300) of 0; the error is neither too
    # small nor too large: their spread is near 1. k = 11 rarely differs from k = 12, so its error is rough.
    assert np.abs(scores[:, :8].mean(axis=0)) == pytest.approx(np.zeros(8), abs=3.5 / np.sqrt(300))
    assert scores[:, :8].std(axis=0) == pytest.approx(np.ones(8), abs=0.15)


def test_blocks_do_not_change_what_is_estimated(monkeypatch):
    matrix = distances(np.random.default_rng(1).normal(size=(9, 2)))
    exact = k_expected_minimum_exact(matrix)
    monkeypatch.setattr(intervals, "BLOCK_CELLS", 81 * 7)
    drawn = k_expected_minimum(matrix, permutations=3000, seed=2)
    assert np.all(np.abs(drawn.value - exact.value) <= 4.5 * drawn.error + 1e-12)
    assert np.array_equal(drawn.value, k_expected_minimum(matrix, permutations=3000, seed=2).value)


def test_duplicates_are_kept():
    matrix = distances([0, 0, 5])
    assert k_expected_minimum_exact(matrix).value == pytest.approx([10 / 3, 0])


@given(st.lists(st.lists(st.floats(-10, 10), min_size=3, max_size=3), min_size=2, max_size=8))
def test_squared_distances_measure_total_variance(rows):
    x = np.array(rows)
    n = len(x)
    variance = np.trace(np.atleast_2d(np.cov(x.T, bias=True)))
    assert pairwise_mean(distances(x) ** 2) == pytest.approx(2 * n / (n - 1) * variance, abs=1e-6)


def test_small_and_wrong_sets():
    assert np.isnan(pairwise_mean([[0.0]]))
    assert k_expected_minimum_exact([[0.0]]).value.size == 0
    assert k_expected_minimum([[0.0]]).value.size == 0
    with pytest.raises(ValueError, match="too many subsets"):
        k_expected_minimum_exact(np.zeros((21, 21)))
    with pytest.raises(ValueError, match="symmetric"):
        pairwise_mean([[0, 1], [2, 0]])
    with pytest.raises(ValueError, match="square"):
        pairwise_mean([[0, 1]])
    with pytest.raises(ValueError, match="finite"):
        k_expected_minimum([[0, np.nan], [np.nan, 0]])


def test_step_cdf_by_hand():
    f = StepCDF([3, 1, 2, 2])
    assert f([0.9, 1, 1.9, 2, 3, 9]) == pytest.approx([0, 0.25, 0.25, 0.75, 1, 1])
    assert np.isnan(f(np.nan))
    assert f([[1, 2], [3, 0]]).shape == (2, 2)
    with pytest.raises(ValueError, match="at least one"):
        StepCDF([])
    with pytest.raises(ValueError, match="finite"):
        StepCDF([1, np.nan])


def test_published_reference_distances(data):
    with np.load(data / "w1kp" / "cdf_xy.npz") as published:
        padded = published["x"]
    # Squared distances; the first and last points are padding. As a step function the published
    # reference has F(.5) = .5152 and F(.7^2) = .507.
    f = StepCDF(padded[1:-1])
    assert f.reference.size == 2661
    assert f(0.5) == pytest.approx(0.5152, abs=5e-5)
    assert f(0.7**2) == pytest.approx(0.507, abs=5e-4)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30), st.floats(-1, 11))
def test_step_cdf_counts(reference, d):
    f = StepCDF(reference)
    assert f(d) == pytest.approx(np.mean(np.array(reference) <= d))
    assert f(max(reference)) == 1
