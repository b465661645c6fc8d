"""Distances between sets of vectors against independent formulas and known distributions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from scipy.linalg import sqrtm
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.neighbors import NearestNeighbors

from sightline.statistics import feature_sets as sets


def sample(seed: int, n: int, d: int, shift: float = 0.0, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, scale, (n, d))


@pytest.mark.parametrize(("n", "m", "d"), [(60, 50, 5), (200, 30, 20), (40, 300, 8)])
def test_the_frechet_distance_is_the_textbooks(n: int, m: int, d: int) -> None:
    x, y = sample(1, n, d), sample(2, m, d, 0.3, 1.4)
    one, two = np.cov(x.T), np.cov(y.T)
    apart = x.mean(axis=0) - y.mean(axis=0)
    expected = apart @ apart + np.trace(one + two - 2 * sqrtm(one @ two).real)
    assert sets.frechet(x, y) == pytest.approx(expected, rel=1e-6)


def test_fewer_vectors_than_dimensions() -> None:
    x, y = sample(1, 10, 40), sample(2, 12, 40, 0.5)
    # A little of the identity makes the covariances regular; the limit is the distance.
    one, two = np.cov(x.T) + 1e-10 * np.eye(40), np.cov(y.T) + 1e-10 * np.eye(40)
    apart = x.mean(axis=0) - y.mean(axis=0)
    expected = apart @ apart + np.trace(one + two - 2 * sqrtm(one @ two).real)
    assert sets.frechet(x, y) == pytest.approx(expected, rel=1e-3)
    assert sets.frechet(x, x) == pytest.approx(0, abs=1e-9)


def test_extrapolation_takes_the_bias_off() -> None:
    """Two standard normals in 10 dimensions, 2 apart in one of them: the distance is 4."""
    plain, extrapolated = [], []
    for seed in range(30):
        x, y = sample(seed, 60, 10), sample(1000 + seed, 60, 10)
        y[:, 0] += 2
        plain.append(sets.frechet(x, y))
        extrapolated.append(sets.frechet_infinity(x, y, seed).value)
    assert np.mean(plain) > 4.5
    assert abs(np.mean(extrapolated) - 4) < 0.25


def test_the_kernel_distance_is_sklearns() -> None:
    x, y = sample(1, 30, 7), sample(2, 20, 7, 0.4)
    kernels = [polynomial_kernel(a, b, degree=3, gamma=1 / 7, coef0=1) for a, b in ((x, x), (y, y), (x, y))]
    n, m = len(x), len(y)
    own = [
        (kernel.sum() - np.trace(kernel)) / (k * (k - 1)) for kernel, k in zip(kernels, (n, m), strict=False)
    ]
    assert sets.kernel_distance(x, y).value == pytest.approx(own[0] + own[1] - 2 * kernels[2].mean())


def test_the_kernel_distance_has_no_bias() -> None:
    values = [sets.kernel_distance(sample(s, 12, 4), sample(500 + s, 12, 4)).value for s in range(300)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(300)


def few_directions(seed: int, n: int, moved: bool) -> np.ndarray:
    """Four features, the first the widest, as those of images are: the hardest kind for an interval."""
    rows = sample(seed, n, 4)
    return ((1.3 * rows + 0.3) if moved else rows) / np.arange(1, 5)


def moments(moved: bool) -> list[np.ndarray]:
    """First, second and third raw moments of `few_directions`, whose features are independent normals."""
    spread = 1 / np.arange(1, 5)
    mean, square = (0.3 * spread, (1.3 * spread) ** 2) if moved else (np.zeros(4), spread**2)
    mixed = np.einsum("ij,k->ijk", np.diag(square), mean)
    third = np.einsum("i,j,k->ijk", mean, mean, mean)
    third += mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 0, 1)
    return [mean, np.diag(square) + np.outer(mean, mean), third]


@pytest.mark.parametrize("n", [50, 100])
def test_intervals_of_the_kernel_distance_hold_for_few_vectors(n: int) -> None:
    """(u + 1)^3 = u^3 + 3 u^2 + 3 u + 1 with u = a.b / 4: squared differences of moments are the truth."""
    first, second, third = (
        ((one - two) ** 2).sum() for one, two in zip(moments(False), moments(True), strict=True)
    )
    truth = 3 * first / 4 + 3 * second / 4**2 + third / 4**3
    rounds = 400
    found = [
        sets.kernel_distance(few_directions(seed, n, False), few_directions(10_000 + seed, n, True))
        for seed in range(rounds)
    ]
    held = sum((each.low or 0) <= truth <= (each.high or 0) for each in found)
    # Of an interval that holds in 95 % of rounds, fewer than 92 % of 400 would be seen once in 200 times.
    assert held >= 0.92 * rounds, held


@pytest.mark.parametrize(("n", "d"), [(50, 4), pytest.param(50, 32, marks=pytest.mark.slow)])
def test_intervals_of_the_frechet_distance_hold_for_few_vectors(n: int, d: int) -> None:
    """Normals of unit variance, shifted by 1 in one direction: the distance is 1."""
    rounds = held = 100
    for seed in range(rounds):
        x, y = sample(seed, n, d), sample(10_000 + seed, n, d)
        y[:, 0] += 1
        found = sets.frechet_infinity(x, y, seed)
        held -= not (found.low or 0) <= 1 <= (found.high or 0)
    # Of an interval that holds in 95 % of rounds, fewer than 89 of 100 would be seen once in 90 times.
    assert held >= 89, held


def test_no_interval_where_none_is_known_to_hold() -> None:
    few = sets.kernel_distance(sample(1, 49, 4), sample(2, 300, 4))
    assert (few.low, few.high, few.reason) == (None, None, "fewer than 50 images: no interval")
    assert sets.frechet_infinity(sample(1, 300, 4), sample(2, 49, 4)).reason == few.reason
    wide = sets.frechet_infinity(sample(1, 59, 40), sample(2, 70, 40))
    assert wide.low is None and wide.reason == "fewer than 60 images, 1.5 a feature: no interval"
    same = np.ones((50, 2))
    assert sets.kernel_distance(same, same)[:3] == (0, 0, 0)


def test_the_jackknife_of_the_kernel_distance_leaves_each_vector_out() -> None:
    """Its standard error, at Welch's quantile, from distances without one vector each."""
    x, y = sample(1, 51, 3), sample(2, 50, 3, 0.5)
    found = sets.kernel_distance(x, y)
    without = [
        [sets.kernel_distance(np.delete(x, i, axis=0), y).value for i in range(51)],
        [sets.kernel_distance(x, np.delete(y, i, axis=0)).value for i in range(50)],
    ]
    one, two = ((len(each) - 1) ** 2 / len(each) * np.var(each, ddof=1) for each in without)
    freedom = (one + two) ** 2 / (one**2 / 50 + two**2 / 49)
    assert found.value - (found.low or 0) == pytest.approx(
        scipy.stats.t.ppf(0.975, freedom) * np.sqrt(one + two)
    )


def test_the_inception_score_by_hand() -> None:
    # Four classes, each certain and equally frequent: 4; one class only: 1.
    sure = np.tile(np.eye(4), (50, 1))
    assert sets.inception_score(sure).value == pytest.approx(4, rel=1e-3)
    assert sets.inception_score(np.tile([[1.0, 0, 0, 0]], (40, 1))).value == pytest.approx(1)
    unsure = np.full((20, 4), 0.25)
    assert sets.inception_score(unsure).value == pytest.approx(1)
    # Few of them are too few classes at once; the correction brings the mean nearer to the truth.
    draws = [np.eye(10)[np.random.default_rng(seed).integers(0, 10, 20)] for seed in range(200)]
    plain = [np.exp(sets._entropy(rows.mean(axis=0)[None])[0]) for rows in draws]
    corrected = [sets.inception_score(rows).value for rows in draws]
    assert abs(np.mean(corrected) - 10) < abs(np.mean(plain) - 10) / 2


def test_the_inception_score_has_an_interval_where_it_holds() -> None:
    few = sets.inception_score(np.tile(np.eye(4), (12, 1)))
    assert (few.low, few.high, few.reason) == (None, None, "no interval below 50 images")
    many = np.random.default_rng(0).dirichlet(np.full(20, 0.3), 99)
    assert sets.inception_score(many).reason == "no interval below 100 images"
    # Classes drawn with known weights, each image sure of its own: the score is exp of their entropy.
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    truth, held = np.exp(-(weights * np.log(weights)).sum()), 0
    for seed in range(200):
        drawn = np.random.default_rng(seed).choice(4, 100, p=weights)
        found = sets.inception_score(np.eye(4)[drawn], seed)
        held += (found.low or 9) <= truth <= (found.high or 0)
    assert held >= 176  # .88; at .95 fewer would come out once in ten thousand times


def test_a_proportion_of_none_or_all_is_not_certain() -> None:
    near, far = sample(1, 40, 3), sample(2, 40, 3) + 100
    none, every = sets.precision(far, near, 4), sets.precision(near, near, 4)
    # Wilson's limits of 0 and 40 of 40: z^2 / (n + z^2) from the end.
    edge = 1.959964**2 / (40 + 1.959964**2)
    assert (none.value, none.low, none.high) == (0, 0, pytest.approx(edge, rel=1e-4))
    assert (every.value, every.low, every.high) == (1, pytest.approx(1 - edge, rel=1e-4), 1)


def test_neighbours_against_sklearn() -> None:
    x, y, k = sample(1, 40, 3, 0.5), sample(2, 50, 3), 4

    def radii(rows: np.ndarray) -> np.ndarray:
        return np.asarray(NearestNeighbors(n_neighbors=k + 1).fit(rows).kneighbors(rows)[0][:, k])

    apart = np.linalg.norm(x[:, None] - y[None], axis=2)
    inside_y, inside_x = apart <= radii(y)[None], radii(x)[None] >= apart.T
    assert sets.precision(x, y, k).value == pytest.approx(inside_y.any(axis=1).mean())
    assert sets.recall(x, y, k).value == pytest.approx(inside_x.any(axis=1).mean())
    assert sets.density(x, y, k).value == pytest.approx(inside_y.sum() / (k * len(x)))
    assert sets.coverage(x, y, k).value == pytest.approx((apart.min(axis=0) <= radii(y)).mean())
