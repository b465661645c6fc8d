"""Statistics of the distances within a set of images, and the scale that reference distances give."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.intervals import block_rows

Array = NDArray[np.float64]

# 2^20 subsets are 8 MB and a few dozen milliseconds; each further image doubles both.
MOST_FOR_EXACT = 20


@dataclass(frozen=True)
class ExpectedMinimum:
    """For each subset size k from 2 up: the expected smallest distance and its Monte-Carlo standard error."""

    k: NDArray[np.int64]
    value: Array
    error: Array


class StepCDF:
    """The share of reference distances at or below d: a right-continuous step function."""

    def __init__(self, reference: ArrayLike) -> None:
        values = np.sort(np.asarray(reference, dtype=np.float64).ravel())
        if values.size == 0 or not np.isfinite(values).all():
            raise ValueError("a reference needs at least one distance, all of them finite")
        values.setflags(write=False)
        self.reference = values

    def __call__(self, distances: ArrayLike) -> Array:
        """F(d) for every d, NaN staying NaN."""
        d = np.asarray(distances, dtype=np.float64)
        share = np.searchsorted(self.reference, d, side="right") / self.reference.size
        return np.where(np.isnan(d), np.nan, share)


def pairwise_mean(matrix: ArrayLike) -> float:
    """Mean distance over all pairs of different images; NaN for fewer than two.

    sum of d(i,j) over i < j, divided by n(n-1)/2.
    Source: W1KP (Tang et al. 2024), pairwise mean as a U-statistic.
    """
    distances = _checked(matrix)
    n = distances.shape[0]
    return float(distances[np.triu_indices(n, 1)].mean()) if n > 1 else float("nan")


def k_expected_minimum_exact(matrix: ArrayLike) -> ExpectedMinimum:
    """The mean over all k-subsets of their smallest distance, for every k from 2 to n, by listing them.

    The minimum of a subset is that of the subset without its highest image i or the distance from i to the
    nearest of the others; doubling over i visits each of the 2^n subsets once.
    Source: W1KP (Tang et al. 2024), k-expected maximum similarity.
    """
    distances = _checked(matrix)
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
    several = size >= 2
    totals = np.bincount(size[several], weights=smallest[several], minlength=n + 1)
    k = np.arange(2, n + 1)
    value = totals[2:] / np.array([comb(n, int(m)) for m in k], dtype=np.float64)
    return ExpectedMinimum(k, value, np.zeros(k.size))


def k_expected_minimum(matrix: ArrayLike, *, permutations: int = 1000, seed: int = 0) -> ExpectedMinimum:
    """An unbiased estimate of `k_expected_minimum_exact` for every k at once, with its standard error.

    The first k images of a random order are a random k-subset, so the running minimum along one order
    serves all k; the error is the standard deviation over orders / sqrt(permutations).
    Source: W1KP (Tang et al. 2024), k-expected maximum similarity.
    """
    distances = _checked(matrix)
    n = distances.shape[0]
    if permutations < 2:
        raise ValueError("an error needs at least two permutations")
    k = np.arange(2, n + 1)
    if n < 2:
        return ExpectedMinimum(k, np.zeros(0), np.zeros(0))
    rng = np.random.default_rng(seed)
    earlier = np.tri(n, n, -1, dtype=bool)
    running = np.concatenate(
        [
            _running_minimum(distances, rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1), earlier)
            for rows in block_rows(permutations, n * n)
        ]
    )
    return ExpectedMinimum(k, running.mean(axis=0), running.std(axis=0, ddof=1) / np.sqrt(permutations))


def _running_minimum(distances: Array, orders: NDArray[np.int64], earlier: NDArray[np.bool_]) -> Array:
    reordered = distances[orders[:, :, None], orders[:, None, :]]
    to_earlier = np.where(earlier, reordered, np.inf).min(axis=2)
    return np.asarray(np.minimum.accumulate(to_earlier[:, 1:], axis=1), dtype=np.float64)


def _checked(matrix: ArrayLike) -> Array:
    distances = np.asarray(matrix, dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(f"a square matrix of distances is needed, not shape {distances.shape}")
    if not np.isfinite(distances).all() or not np.allclose(distances, distances.T):
        raise ValueError("distances must be finite and symmetric")
    return distances
