"""The bell-shaped kernel on encoded wording."""

from __future__ import annotations

import numpy as np

from sightline.extension import TextEncoder
from sightline.prediction.predictors._parts import Array, WordingModel, wording
from sightline.records import Examples


class KernelModel(WordingModel):
    """What predictors on the kernel share: a weighted sum of bells around the wordings they keep."""

    LEARNED = ("kept", "spread", "weights", "base")

    def __init__(self, encoder: TextEncoder, width: float) -> None:
        super().__init__(encoder)
        self._width = width
        self._kept = np.zeros((0, 0), dtype=np.float32)
        self._spread = 1.0
        self._weights = np.zeros((0, 0))

    def predict(self, x: Examples) -> np.ndarray:
        if not len(x) or not len(self._kept):
            return np.tile(self._base, (len(x), 1))
        return np.asarray(self._kernel(wording(x, self._encoder)) @ self._weights + self._base)

    def _kernel(self, vectors: np.ndarray) -> Array:
        return bells(vectors, self._kept, self._width / self._spread)


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
