"""The bell-shaped kernel on encoded wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.extension import TextEncoder
from sightline.prediction.predictors._parts import Array, explanations, with_wording, wording
from sightline.records import Examples


class KernelModel:
    """What predictors on the kernel share: a weighted sum of bells around the wordings they keep."""

    def __init__(self, encoder: TextEncoder, width: float) -> None:
        self._encoder = encoder
        self._width = width
        self._kept = np.zeros((0, 0), dtype=np.float32)
        self._spread = 1.0
        self._weights = np.zeros((0, 0))
        self._base = np.zeros(0)

    def prepare(self, x: Examples) -> Examples:
        return with_wording(x, self._encoder)

    def predict(self, x: Examples) -> np.ndarray:
        if not len(x) or not len(self._kept):
            return np.tile(self._base, (len(x), 1))
        return np.asarray(self._kernel(wording(x, self._encoder)) @ self._weights + self._base)

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What the wording as a whole adds to the base."""
        parts = self.predict(x) - self._base
        return explanations(self._base, ["wording"], [parts[:, [target]] for target in range(parts.shape[1])])

    def state(self) -> dict[str, np.ndarray]:
        return {
            "kept": self._kept.copy(),
            "spread": np.array(self._spread),
            "weights": self._weights.copy(),
            "base": self._base.copy(),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._kept = np.array(state["kept"], dtype=np.float32)
        self._spread = float(state["spread"])
        self._weights = np.array(state["weights"], dtype=np.float64)
        self._base = np.array(state["base"], dtype=np.float64)
        return self

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
