from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics import intervals, sets
from sightline.statistics.sets import (
    closest_pair,
    expected_minimum,
    k_expected_minimum,
    k_expected_minimum_exact,
    pairwise_mean,
    pairwise_mean_interval,
)


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
    assert k_expected_minimum_exact(distances([0, 0, 5])).value == pytest.approx([10 / 3, 0])


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
        assert drawn.value[0] == pytest.approx(exact[0], abs=1e-12) and drawn.error[0] == 0
        off.append((drawn.value[1:-1] - exact[1:-1]) / drawn.error[1:-1])
    scores = np.array(off)
    # Unbiased: the mean of 300 standard scores is within 3.5/sqrt(300) of 0; the error is neither too
    # small nor too large: their spread is near 1. k = 11 rarely differs from k = 12, so its error is rough.
    assert np.abs(scores[:, :7].mean(axis=0)) == pytest.approx(np.zeros(7), abs=3.5 / np.sqrt(300))
    assert scores[:, :7].std(axis=0) == pytest.approx(np.ones(7), abs=0.15)


def test_blocks_do_not_change_what_is_estimated(monkeypatch):
    matrix = distances(np.random.default_rng(1).normal(size=(9, 2)))
    exact = k_expected_minimum_exact(matrix)
    monkeypatch.setattr(intervals, "BLOCK_CELLS", 81 * 7)
    drawn = k_expected_minimum(matrix, permutations=3000, seed=2)
    assert np.all(np.abs(drawn.value - exact.value) <= 4.5 * drawn.error + 1e-12)
    assert np.array_equal(drawn.value, k_expected_minimum(matrix, permutations=3000, seed=2).value)


def test_sets_of_one_image():
    assert np.isnan(pairwise_mean([[0.0]]))
    assert k_expected_minimum_exact([[0.0]]).value.size == 0
    assert k_expected_minimum([[0.0]]).value.size == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: k_expected_minimum_exact(np.zeros((21, 21))), "too many subsets"),
        (lambda: k_expected_minimum_exact(np.zeros((4, 4))).interval(5), "no value at k = 5"),
        (lambda: pairwise_mean([[0, 1], [2, 0]]), "symmetric"),
        (lambda: pairwise_mean([[0, 1]]), "square"),
        (lambda: k_expected_minimum([[0, np.nan], [np.nan, 0]]), "finite"),
        (lambda: closest_pair([[0.0]]), "two images"),
    ],
)
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def along_orders(matrix, orders):
    """The running minimum as its definition says it, order by order and image by image."""
    nearest = [[matrix[order[n], order[:n]].min() for n in range(1, len(order))] for order in orders]
    return np.minimum.accumulate(nearest, axis=1)


SHAPES = {
    "scattered": lambda rng, n: distances(rng.normal(size=(n, 3))),
    # One image is close to all: the closest pairs all need it, wherever it stands in the order.
    "star": lambda rng, n: distances(np.vstack([np.zeros((1, 40)), np.eye(40)[: n - 1] * 3])),
    "ties": lambda rng, n: distances(rng.integers(0, 3, size=(n, 2))),
    "twins": lambda rng, n: distances(np.repeat(rng.normal(size=(n // 2, 2)), 2, axis=0)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_most_pairs_are_passed_over_and_nothing_is_lost(shape):
    rng = np.random.default_rng(3)
    matrix = SHAPES[shape](rng, 40)
    orders = rng.permuted(np.tile(np.arange(40), (80, 1)), axis=1)
    pairs = sets._sorted_pairs(matrix)
    assert pairs.head < 40 and pairs.chunk < len(pairs.one)
    running, position = sets._drawn(matrix, pairs, orders)
    assert np.array_equal(running, along_orders(matrix, orders))
    assert np.array_equal(np.take_along_axis(position, orders, axis=1), np.tile(np.arange(40), (80, 1)))


@given(st.integers(13, 30), st.integers(0, 10_000))
def test_random_sets_and_orders(n, seed):
    rng = np.random.default_rng(seed)
    matrix = distances(rng.normal(size=(n, 1 + seed % 4)).round(1))
    orders = rng.permuted(np.tile(np.arange(n), (10, 1)), axis=1)
    running, _ = sets._drawn(matrix, sets._sorted_pairs(matrix), orders)
    assert np.array_equal(running, along_orders(matrix, orders))


def test_small_sets_are_exact():
    matrix = distances(np.random.default_rng(0).normal(size=(14, 2)))
    assert np.array_equal(expected_minimum(matrix).value, k_expected_minimum_exact(matrix).value)
    larger = distances(np.random.default_rng(0).normal(size=(15, 2)))
    found = expected_minimum(larger, permutations=20, spread=True)
    # Of two images the mean over all pairs is exact, however few orders are drawn; of three it is not.
    i, j = np.triu_indices(15, 1)
    assert found.value[0] == pytest.approx(larger[i, j].mean(), abs=1e-12)
    assert found.error[0] == 0 and found.error[1] > 0
    interval = found.interval(2)
    assert (interval.low, interval.high) == pytest.approx(
        (pairwise_mean_interval(larger).low, pairwise_mean_interval(larger).high)
    )


@pytest.mark.parametrize("n", [3, 6])
def test_spread_over_images_is_the_jackknife(n):
    matrix = distances(np.random.default_rng(n).normal(size=(n, 2)))
    # By hand: the value of every k with each image left out, and the variance (n-1)/n sum of squares.
    left = np.array([by_listing(np.delete(np.delete(matrix, i, 0), i, 1)) for i in range(n)])
    expected = np.sqrt((n - 1) / n * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    found = k_expected_minimum_exact(matrix, spread=True)
    assert found.spread[:-1] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(found.spread[-1])
    assert found.interval(n).reason == "every image is in every subset"
    mean = pairwise_mean_interval(matrix)
    assert (mean.value, mean.low, mean.n) == pytest.approx((found.value[0], found.interval(2).low, n))


def test_spread_from_drawn_orders_is_near_the_exact_one():
    """Covariances of 100 orders are off by chance, which would add a quarter to a third to their squares.

    The mean over 300 draws has an error of 2 %.
    """
    matrix = distances(np.random.default_rng(5).normal(size=(16, 2)))
    exact = k_expected_minimum_exact(matrix, spread=True).spread[:10]
    many = k_expected_minimum(matrix, permutations=40_000, seed=1, spread=True).spread[:10]
    assert many == pytest.approx(exact, rel=0.1)
    drawn = [k_expected_minimum(matrix, permutations=100, seed=n, spread=True).spread for n in range(300)]
    assert np.mean(np.square(drawn), axis=0)[:10] == pytest.approx(exact**2, rel=0.1)


@pytest.mark.slow
def test_intervals_over_images_cover():
    """95 % intervals of 300 sets hold the true mean distance, and k-expected minimum, 95 times of 100.

    Points are normal in three dimensions, so that the truth is that of many fresh subsets. 300 trials at .95
    have a standard deviation of .013; k = 10 of 20 is as far as the intervals are said to hold.
    """
    rng = np.random.default_rng(11)
    truth = {
        k: np.mean([distances(rng.normal(size=(k, 3)))[np.triu_indices(k, 1)].min() for _ in range(20_000)])
        for k in (2, 5, 10)
    }
    held = dict.fromkeys(truth, 0)
    for trial in range(300):
        matrix = distances(rng.normal(size=(20, 3)))
        found = k_expected_minimum(matrix, permutations=300, seed=trial, spread=True)
        for k, true in truth.items():
            interval = pairwise_mean_interval(matrix) if k == 2 else found.interval(k)
            held[k] += interval.low <= true <= interval.high
    assert all(0.91 <= n / 300 <= 0.995 for n in held.values()), held


def test_few_images_have_a_reason():
    assert pairwise_mean_interval([[0.0]]).reason == "fewer than two images"
    pair = pairwise_mean_interval([[0, 3.0], [3.0, 0]])
    assert (pair.value, pair.low, pair.reason) == (3.0, None, "one pair shows no spread")
    alike = pairwise_mean_interval(np.zeros((4, 4)))
    assert (alike.value, alike.low, alike.high) == (0, 0, 0)
    assert k_expected_minimum_exact(distances([0, 1, 3])).interval(2).reason == "not asked for"


def test_closest_pair():
    assert closest_pair(distances([0, 5, 9, 10])) == (2, 3)
    assert closest_pair(np.zeros((3, 3))) == (0, 1)
