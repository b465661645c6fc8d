"""Multidimensional scaling: coordinates whose distances approximate the given ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array
from sightline.statistics.sets import checked_distances

STARTS = 8
"""Random starts in addition to the classical solution, against local minima."""
ITERATIONS = 500
MANY = 60
"""With more points than this a start takes seconds and seldom improves on the classical one: two suffice."""
TOLERANCE = 1e-9
CLEARLY = 1e-6
"""Relative difference below which two numbers count as equal: rounding must not rotate or reflect a map."""


@dataclass(frozen=True)
class Scaled:
    """One row of coordinates per point, and the stress of the map."""

    places: Array
    stress: float


def scaled(matrix: ArrayLike, *, dimensions: int = 2, starts: int = STARTS) -> Scaled:
    """The map of least stress from the classical solution and from random starts.

    SMACOF: with delta the given distances and d those on the map X, repeat X <- B(X) X / n, where
    B(X)_ij = -delta_ij / d_ij off the diagonal (0 where d_ij = 0) and rows of B sum to 0; each step lowers
    the sum of (delta - d)^2. The map is rotated to its principal axes and reflected so that the farthest
    coordinate on each axis is positive: the same distances always give the same map.
    Source: de Leeuw, Applications of convex analysis to multidimensional scaling (1977); Borg and Groenen,
    Modern Multidimensional Scaling, chapter 8.
    """
    given = _checked(matrix)
    n = given.shape[0]
    rng = np.random.default_rng(0)
    best, missed = _refined(given, classical(given, dimensions=dimensions))
    for _ in range((starts if n <= MANY else min(starts, 2)) if missed > CLEARLY else 0):
        start = rng.normal(scale=float(given.max()) / 2, size=(n, dimensions))
        other, still = _refined(given, start)
        if still < missed - CLEARLY:
            best, missed = other, still
    return Scaled(_upright(best), missed)


def classical(matrix: ArrayLike, *, dimensions: int = 2) -> Array:
    """Classical scaling: coordinates whose inner products are nearest to those the distances imply.

    The leading eigenvectors of -J D^2 J / 2 (J centres), each times the root of its eigenvalue; negative
    eigenvalues, of distances that are not Euclidean, count as 0. Exact where the distances are those of
    points in that many dimensions.
    Source: Torgerson, Multidimensional scaling I, Psychometrika 17 (1952).
    """
    given = _checked(matrix)
    n = given.shape[0]
    places = np.zeros((n, dimensions))
    if n < 2:
        return places
    squares = given**2
    inner = -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(inner)
    kept = min(dimensions, n)
    leading = np.argsort(-values, kind="stable")[:kept]
    places[:, :kept] = vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0))
    return _upright(places)


def stress(given: Array, apart: Array) -> float:
    """Normalised stress of a map: sqrt(sum (delta - d)^2 / sum delta^2) over pairs; 0 is a perfect map.

    The root mean square error of the map's distances, divided by the root mean square distance. Kruskal's
    stress-1 divides by the map's own distances instead; of the best map it is s / sqrt(1 - s^2). Points that
    are all at distance 0 have no stress.
    Source: Borg and Groenen, Modern Multidimensional Scaling, chapter 11 (normalised stress).
    """
    total = float((given**2).sum())
    missed = float(((given - apart) ** 2).sum())
    if total == 0:
        return 0.0 if missed == 0 else float("inf")
    return float(np.sqrt(missed / total))


def _refined(given: Array, places: Array) -> tuple[Array, float]:
    """SMACOF's steps until convergence, and the stress reached."""
    apart = _distances(places)
    now = stress(given, apart)
    for _ in range(ITERATIONS if now > CLEARLY else 0):
        ratio = np.divide(given, apart, out=np.zeros_like(given), where=apart > 0)
        places = (ratio.sum(axis=1)[:, None] * places - ratio @ places) / given.shape[0]
        apart = _distances(places)
        last, now = now, stress(given, apart)
        if last - now < TOLERANCE:
            break
    return places, now


def _distances(places: Array) -> Array:
    return np.asarray(np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)), dtype=np.float64)


def _upright(places: Array) -> Array:
    """The centred coordinates, rotated to their principal axes, the farthest on each axis positive."""
    if places.shape[0] < 2:
        return np.zeros_like(places)
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = np.zeros_like(centred)
    turned[:, : axes.shape[0]] = centred @ axes.T
    for axis in range(turned.shape[1]):
        far = np.abs(turned[:, axis])
        first = int(np.argmax(far >= far.max() * (1 - CLEARLY)))
        if turned[first, axis] < 0:
            turned[:, axis] *= -1
    return turned


def _checked(matrix: ArrayLike) -> Array:
    given = checked_distances(matrix)
    if given.size and (given.min() < 0 or np.abs(np.diag(given)).max() > 0):
        raise ValueError("distances must not be negative, and 0 from a point to itself")
    return given
