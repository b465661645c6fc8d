"""The scale that distances are read on: the proportion of a reference sample that is no larger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.errors import DataError
from sightline.statistics.grouping import Array

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
        return step_cdf(self.distances, d**2 if self.squared else d)

    def normalise_matrix(self, matrix: ArrayLike) -> Array:
        """F of every pair of different images; an image stays at 0 from itself, whatever F(0) is."""
        normalised = self.normalise(matrix)
        np.fill_diagonal(normalised, 0.0)
        return normalised


def step_cdf(sample: Array, d: ArrayLike) -> Array:
    """The proportion of a rising sample at or below each d; NaN stays NaN."""
    return np.where(np.isnan(d), np.nan, np.searchsorted(sample, d, side="right") / sample.size)


def fitted(distances: ArrayLike, distance: str, identity: str, date: str) -> Reference:
    """The reference of a sample of distances, kept by at most 2,000 of its quantiles.

    Point j of m is the sample at place (j + 1/2) n / m, so that no share moves by more than 1 / (2 m).
    """
    column = np.sort(np.asarray(distances, dtype=np.float64).ravel())
    n = column.size
    points = min(n, MOST_POINTS)
    places = ((np.arange(points) + 0.5) * n / max(1, points)).astype(np.int64)
    return Reference(column[places], distance, identity, n, date)
