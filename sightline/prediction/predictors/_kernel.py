"""The bell-shaped kernel on encoded wording."""

from __future__ import annotations

import numpy as np

from sightline.prediction.predictors._parts import Array


def spread_of(vectors: np.ndarray) -> float:
    """The mean squared distance from the centre: the unit in which kernels measure; 1 where all agree."""
    exact = np.asarray(vectors, dtype=np.float64)
    spread = float(((exact - exact.mean(axis=0)) ** 2).sum(axis=1).mean()) if len(exact) else 0.0
    return spread if spread > 1e-12 else 1.0


def bells(first: np.ndarray, second: np.ndarray, width: float) -> Array:
    """exp(-width |a - b|^2) of every row a of the first with every row b of the second."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    apart = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.exp(-width * np.maximum(apart, 0)), dtype=np.float64)
