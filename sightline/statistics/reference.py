"""The scale that distances are read on: the proportion of a reference sample that is no larger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import DataError
from sightline.statistics.sets import StepCDF

Array = NDArray[np.float64]

LEAST_PAIRS = 30
"""With fewer pairs a step of the scale is wider than 3 %, and a share is off by 9 points and more (2 sd)."""
FEW_PAIRS = 400
"""With fewer, a value in the middle of the scale is off by 5 points and more (2 sd): worth a warning."""
MOST_POINTS = 2_000


@dataclass(frozen=True, eq=False)
class Reference:
    """Distances of same-prompt pairs, rising, of one distance; `n` pairs lie behind the points kept.

    `distance` is its printed form and `identity` all that decides its values: parameters, version, weights.
    A published sample may know the name alone, and then `identity` is empty. `squared` tells that the points
    are squares of the distance.
    """

    distances: Array
    distance: str
    identity: str
    n: int
    date: str
    squared: bool = False

    def __post_init__(self) -> None:
        points = np.sort(np.asarray(self.distances, dtype=np.float64).ravel())
        if points.size == 0 or not np.isfinite(points).all() or points[0] < 0:
            raise DataError(
                f"the reference of {self.distance} needs distances, all of them finite and none below 0"
            )
        if self.n < LEAST_PAIRS:
            raise DataError(
                f"{self.n} pairs are too few for a reference of {self.distance}",
                remedy=f"At least {LEAST_PAIRS} pairs of images of one prompt, better {FEW_PAIRS:,}.",
            )
        points.setflags(write=False)
        object.__setattr__(self, "distances", points)

    @property
    def warning(self) -> str | None:
        """What a reader must know of a small sample: how far off its values may be."""
        if self.n >= FEW_PAIRS:
            return None
        return f"the reference has only {self.n} pairs: its values may be off by {1 / self.n**0.5:.2f}"

    def normalise(self, distances: ArrayLike) -> Array:
        """F(d), the proportion of reference distances at or below d, for every d; NaN stays NaN.

        Source: W1KP (Tang et al. 2024), equation 1.
        """
        d = np.asarray(distances, dtype=np.float64)
        return StepCDF(self.distances)(d**2 if self.squared else d)

    def normalise_matrix(self, matrix: ArrayLike) -> Array:
        """F of every pair of different images; an image stays at 0 from itself, whatever F(0) is."""
        found = self.normalise(matrix)
        np.fill_diagonal(found, 0.0)
        return found


def fitted(distances: ArrayLike, distance: str, identity: str, date: str) -> Reference:
    """The reference of a sample of distances, kept by at most 2,000 of its quantiles.

    Point j of m is the sample at place (j + 1/2) n / m, so that no share moves by more than 1 / (2 m).
    """
    column = np.sort(np.asarray(distances, dtype=np.float64).ravel())
    n = column.size
    points = min(n, MOST_POINTS)
    places = ((np.arange(points) + 0.5) * n / max(1, points)).astype(np.int64)
    return Reference(column[places], distance, identity, n, date)


def uniformity(values: ArrayLike) -> tuple[float, float]:
    """Kolmogorov and Smirnov's test of values against the uniform distribution on 0 to 1: D and p.

    Source: Massey, The Kolmogorov-Smirnov test for goodness of fit, JASA 46 (1951).
    """
    from scipy.stats import kstest

    found = kstest(np.asarray(values, dtype=np.float64), "uniform")
    return float(found.statistic), float(found.pvalue)


def uniformity_held_out(distances: ArrayLike, *, seed: int = 0) -> tuple[float, float]:
    """Whether normalised distances are uniform: half of the sample makes F, the other half is read on it.

    F is itself a sample here, so that this is the test of two samples: D and p.
    """
    from scipy.stats import ks_2samp

    column = np.random.default_rng(seed).permutation(np.asarray(distances, dtype=np.float64).ravel())
    half = column.size // 2
    found = ks_2samp(column[:half], column[half:])
    return float(found.statistic), float(found.pvalue)
