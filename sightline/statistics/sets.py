"""Statistics of the distances within a set of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate
from sightline.statistics.grouping import Array, Indices
from sightline.statistics.intervals import BLOCK_CELLS, block_rows
from sightline.statistics.leave_one_out import jackknife_error

# 2^20 subsets are 8 MB and a few dozen milliseconds; each further image doubles both.
MOST_FOR_EXACT = 20
# 2^14 subsets cost less than a thousand orders do.
MOST_WORTH_LISTING = 14


@dataclass(frozen=True)
class ExpectedMinimum:
    """For each subset size k from 2 up: the expected smallest distance and its Monte-Carlo standard error.

    `spread` is the standard error over images, by the jackknife, where it was asked for: how far the value
    would move with other images of the same kind. Of k = n images there is none: no image is left to leave
    out.
    """

    k: Indices
    value: Array
    error: Array
    spread: Array | None = None

    def interval(self, k: int) -> Estimate:
        """The value at k with Student's 95 % interval of both errors together; n counts images.

        In simulations it covers what it promises up to about k = n / 2; beyond, subsets share too many images
        for the jackknife, and it is too narrow (88 % at k = 3n / 4).
        """
        place = int(np.searchsorted(self.k, k))
        if place == self.k.size or self.k[place] != k:
            raise ValueError(f"no value at k = {k}; there are 2 to {self.k.size + 1}")
        images = self.k.size + 1
        if self.spread is None or not np.isfinite(self.spread[place]):
            reason = "not asked for" if self.spread is None else "every image is in every subset"
            return Estimate(float(self.value[place]), None, None, images, "jackknife", reason)
        error = float(np.hypot(self.spread[place], self.error[place]))
        return _jackknife_interval(float(self.value[place]), error, images)


def pairwise_mean(matrix: ArrayLike) -> float:
    """Mean distance over all pairs of different images; NaN for fewer than two.

    sum of d(i,j) over i < j, divided by n(n-1)/2.
    Source: W1KP (Tang et al. 2024), pairwise mean as a U-statistic.
    """
    distances = checked_distances(matrix)
    n = distances.shape[0]
    return float(distances[np.triu_indices(n, 1)].mean()) if n > 1 else float("nan")


def pairwise_mean_interval(matrix: ArrayLike) -> Estimate:
    """The mean distance over all pairs with its 95 % interval over images, by the jackknife.

    Leaving image i out gives U(-i) = (sum of all pairs - sum of row i) / C(n-1, 2); the variance is
    (n-1)/n sum (U(-i) - mean)^2, the interval Student's with n - 1 degrees of freedom. Images drawn again
    with replacement, as a bootstrap has them, would be distance 0 from themselves: that is why there is none.
    Source: Arvesen, Jackknifing U-statistics, Annals of Mathematical Statistics 40 (1969).
    """
    distances = checked_distances(matrix)
    n = distances.shape[0]
    if n < 2:
        return Estimate(None, None, None, n, "jackknife", "fewer than two images")
    value = pairwise_mean(distances)
    if n == 2:
        return Estimate(value, None, None, n, "jackknife", "one pair shows no spread")
    return _jackknife_interval(value, _pairwise_error(distances), n)


def _pairwise_error(distances: Array) -> float:
    """The jackknife's standard error over images of the mean distance over all pairs of three or more."""
    n = distances.shape[0]
    rows = distances.sum(axis=1) - np.diag(distances)
    return jackknife_error((rows.sum() / 2 - rows) / comb(n - 1, 2))


def closest_pair(matrix: ArrayLike) -> tuple[int, int]:
    """The two images of the smallest distance, of equally close ones the first."""
    distances = checked_distances(matrix)
    if distances.shape[0] < 2:
        raise ValueError("a pair needs two images")
    one, other = np.triu_indices(distances.shape[0], 1)
    place = int(np.argmin(distances[one, other]))
    return int(one[place]), int(other[place])


def expected_minimum(
    matrix: ArrayLike, *, permutations: int = 1000, seed: int | Sequence[int] = 0, spread: bool = False
) -> ExpectedMinimum:
    """The k-expected minimum for every k, exactly where the set is small and by drawn orders elsewhere."""
    if len(np.asarray(matrix)) <= MOST_WORTH_LISTING:
        return k_expected_minimum_exact(matrix, spread=spread)
    return k_expected_minimum(matrix, permutations=permutations, seed=seed, spread=spread)


def k_expected_minimum_exact(matrix: ArrayLike, *, spread: bool = False) -> ExpectedMinimum:
    """The mean over all k-subsets of their smallest distance, for every k from 2 to n, by listing them.

    The minimum of a subset is that of the subset without its highest image i or the distance from i to the
    nearest of the others; doubling over i visits each of the 2^n subsets once.
    Source: W1KP (Tang et al. 2024), k-expected maximum similarity.
    """
    distances = checked_distances(matrix)
    n = distances.shape[0]
    if n > MOST_FOR_EXACT:
        raise ValueError(f"{n} images have too many subsets to list; the most is {MOST_FOR_EXACT}")
    smallest = np.full(1, np.inf)
    size = np.zeros(1, dtype=np.int64)
    for i in range(n):
        nearest = np.full(1, np.inf)
        for j in range(i):
            nearest = np.concatenate([nearest, np.minimum(nearest, distances[i, j])])
        smallest = np.concatenate([smallest, np.minimum(smallest, nearest)])
        size = np.concatenate([size, size + 1])
    k = np.arange(2, n + 1)
    value = _mean_by_size(smallest, size, n)[2:]
    if not spread:
        return ExpectedMinimum(k, value, np.zeros(k.size))
    # The number of a subset has bit i set where image i is in it: halves of blocks of 2^(i+1) leave i out.
    without = np.array(
        [
            _mean_by_size(
                smallest.reshape(-1, 2, 2**i)[:, 0].ravel(), size.reshape(-1, 2, 2**i)[:, 0].ravel(), n - 1
            )[2:]
            for i in range(n)
        ]
    ).reshape(n, -1)
    errors = [jackknife_error(column) for column in without.T]
    error = np.append(errors, np.full(min(1, k.size), np.nan))
    return ExpectedMinimum(k, value, np.zeros(k.size), error[-k.size :] if k.size else error[:0])


def k_expected_minimum(
    matrix: ArrayLike, *, permutations: int = 1000, seed: int | Sequence[int] = 0, spread: bool = False
) -> ExpectedMinimum:
    """An unbiased estimate of `k_expected_minimum_exact` for every k at once, with its standard error.

    The first k images of a random order are a random k-subset, so the running minimum along one order
    serves all k; the error is the standard deviation over orders / sqrt(permutations). Of k = 2 the value is
    the mean over all pairs, exactly.
    Source: W1KP (Tang et al. 2024), k-expected maximum similarity.
    """
    distances = checked_distances(matrix)
    n = distances.shape[0]
    if permutations < 2:
        raise ValueError("an error needs at least two permutations")
    k = np.arange(2, n + 1)
    if n < 2:
        return ExpectedMinimum(k, np.zeros(0), np.zeros(0), np.zeros(0) if spread else None)
    rng = np.random.default_rng(seed)
    pairs = _sorted_pairs(distances)
    blocks = [
        _drawn(distances, pairs, rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1))
        for rows in block_rows(permutations, pairs.head**2 + 4 * pairs.chunk + n)
    ]
    running = np.concatenate([each for each, _ in blocks])
    value, sd = running.mean(axis=0), running.std(axis=0, ddof=1)
    error = sd / np.sqrt(permutations)
    among = None
    if spread:
        position = np.concatenate([each for _, each in blocks])
        among = _spread_over_images(running - value, position, error)
        among[0] = _pairwise_error(distances) if n > 2 else np.nan
    # Of two images the smallest distance is their distance: its mean needs no orders.
    value[0], error[0] = pairwise_mean(distances), 0.0
    return ExpectedMinimum(k, value, error, among)


class _Pairs(NamedTuple):
    """All pairs from the closest up: their images and distances, and how many to look at first.

    Of each order the first `head` images are compared directly. Among their pairs the closest is expected at
    place (all pairs) / (pairs of the head) of the sorted list; when it has been met, no later pair can be the
    smallest distance of any longer beginning. So nearly all pairs need never be looked at.
    """

    one: Indices
    other: Indices
    distance: Array
    head: int
    chunk: int


def _sorted_pairs(distances: Array) -> _Pairs:
    n = distances.shape[0]
    one, other = np.triu_indices(n, 1)
    order = np.argsort(distances[one, other], kind="stable")
    one, other = one[order], other[order]
    # The work an order is head^2 + a few times pairs / (head^2 / 2): least where both are about equal.
    head = min(n, max(12, int(2 * one.size**0.25)))
    chunk = max(32, 2 * one.size // comb(head, 2))
    return _Pairs(one, other, np.append(distances[one, other], np.inf), head, chunk)


def _drawn(distances: Array, pairs: _Pairs, orders: Indices) -> tuple[Array, NDArray[np.int16]]:
    """The running minimum from the second image on along each order, and where each image stands in it."""
    rows, n = orders.shape
    position = np.empty((rows, n), dtype=np.int16 if n < 2**15 else np.int64)
    np.put_along_axis(position, orders, np.arange(n, dtype=position.dtype)[None], axis=1)
    first = orders[:, : pairs.head]
    earlier = np.tri(pairs.head, pairs.head, -1, dtype=bool)
    near = np.where(earlier, distances[first[:, :, None], first[:, None, :]], np.inf).min(axis=2)
    running = np.minimum.accumulate(near[:, 1:], axis=1)
    if pairs.head == n:
        return np.asarray(running, dtype=np.float64), position
    # The place in the sorted list of the closest pair that is complete with the image at each position.
    closest = np.full((rows, n), pairs.one.size, dtype=np.int32)
    left, start, size = np.arange(rows), 0, pairs.chunk
    while left.size:
        stop = min(start + size, pairs.one.size)
        mine = position[left]
        complete = np.maximum(mine[:, pairs.one[start:stop]], mine[:, pairs.other[start:stop]])
        # A pair counts if it is complete before every closer pair is: of these no two share a position.
        soonest = np.minimum.accumulate(complete, axis=1)
        record = np.ones(complete.shape, dtype=bool)
        np.less(soonest[:, 1:], soonest[:, :-1], out=record[:, 1:])
        row, place = np.nonzero(record)
        at = (left[row], soonest[row, place])
        closest[at] = np.minimum(closest[at], (start + place).astype(np.int32))
        left = left[soonest[:, -1] >= pairs.head]
        start, size = stop, min(2 * size, max(pairs.chunk, BLOCK_CELLS // max(1, left.size)))
    later = pairs.distance[np.minimum.accumulate(closest, axis=1)[:, pairs.head :]]
    tail = np.minimum(running[:, -1:], later)
    return np.concatenate([running, tail], axis=1), position


def _spread_over_images(deviation: Array, position: NDArray[np.int16], error: Array) -> Array:
    """The jackknife's standard error of every k from the orders already drawn.

    Subsets without image i are those of the orders in which i stands behind the first k, so that
    U(-i) - U = -n/(n-k) Cov(i in S, minimum), and the variance is (n-1)/n (n/(n-k))^2 sum of Cov^2. Drawn
    covariances are too large by chance: k (1 - k/n) error^2 of their sum of squares is taken off.
    Source: Wager, Hastie and Efron, Confidence intervals for random forests, JMLR 15 (2014).
    """
    permutations, n = position.shape
    found = np.full(n - 1, np.nan)
    for place in range(n - 2):
        k = place + 2
        inside = (position < k).astype(np.float64)
        covariance = deviation[:, place] @ inside / permutations
        chance = k * (1 - k / n) * error[place] ** 2
        squares = max(0.0, float(covariance @ covariance) - chance)
        found[place] = np.sqrt((n - 1) / n * squares) * n / (n - k)
    return found


def _mean_by_size(smallest: Array, size: Indices, n: int) -> Array:
    """The mean of the smallest distances by subset size from 0 to n; of 0 and 1 images there is none."""
    several = size >= 2
    totals = np.bincount(size[several], weights=smallest[several], minlength=n + 1)
    return totals / np.array([comb(n, m) for m in range(n + 1)], dtype=np.float64)


def _jackknife_interval(value: float, error: float, n: int) -> Estimate:
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, 0.975)) * error
    return Estimate(value, value - half, value + half, n, "jackknife")


def checked_distances(matrix: ArrayLike) -> Array:
    """A matrix of distances within a set, or a ValueError."""
    distances = np.asarray(matrix, dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(f"a square matrix of distances is needed, not shape {distances.shape}")
    if not np.isfinite(distances).all() or not np.allclose(distances, distances.T):
        raise ValueError("distances must be finite and symmetric")
    return distances
