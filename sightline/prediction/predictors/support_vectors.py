"""Support vector regression on the wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.errors import UsageError
from sightline.extension import TextEncoder, needs, predictor
from sightline.prediction.predictors._kernel import bells, spread_of
from sightline.prediction.predictors._parts import (
    FEWEST,
    explanations,
    settled_columns,
    with_wording,
    wording,
)
from sightline.records import Examples


@predictor(sees="prompt", source="Drucker et al. 1997; Chang and Lin 2011", licence="Apache-2.0")
class support_vectors:
    """Support vector regression on the encoded wording: errors within a epsilon C nothing, others linearly.

    The kernel is exp(-`width` d^2 / s), d the distance of two vectors and s their mean squared distance from
    the centre. Targets are standardised first, so that `epsilon` and `C` are in standard deviations and mean
    the same on every scale.
    """

    def __init__(
        self,
        *,
        encoder: TextEncoder = needs("encoder", "hashed_words"),
        width: float = 1.0,
        C: float = 1.0,
        epsilon: float = 0.2,
    ) -> None:
        if width <= 0 or C <= 0 or epsilon < 0:
            raise UsageError(
                f"support_vectors: width={width}, C={C}, epsilon={epsilon}",
                remedy="width and C above 0, epsilon not below 0.",
            )
        self._encoder = encoder
        self._width = width
        self._cost = C
        self._epsilon = epsilon
        self._kept = np.zeros((0, 0), dtype=np.float32)
        self._spread = 1.0
        self._weights = np.zeros((0, 0))
        self._base = np.zeros(0)

    def prepare(self, x: Examples) -> Examples:
        return with_wording(x, self._encoder)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        vectors = np.asarray(wording(x, self._encoder), dtype=np.float32)
        self._spread = spread_of(vectors)
        kernel = bells(vectors, vectors, self._width / self._spread)
        weights, self._base = np.zeros(truth.shape), np.zeros(truth.shape[1])
        for rows, targets in settled_columns(truth):
            places = np.flatnonzero(rows)
            among = kernel if rows.all() else kernel[np.ix_(places, places)]
            for target in targets:
                weights[places, target], self._base[target] = self._fit_one(among, truth[places, target])
        used = (weights != 0).any(axis=1)
        self._kept, self._weights = vectors[used].copy(), weights[used]
        return self

    def _fit_one(self, kernel: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
        weights, mean, spread = np.zeros(len(y)), float(y.mean()), float(y.std())
        if len(y) < FEWEST or np.ptp(y) == 0:
            return weights, mean
        from sklearn.svm import SVR

        model = SVR(kernel="precomputed", C=self._cost, epsilon=self._epsilon, cache_size=500)
        model.fit(kernel, (y - mean) / spread)
        weights[model.support_] = model.dual_coef_[0] * spread
        return weights, mean + float(model.intercept_[0]) * spread

    def predict(self, x: Examples) -> np.ndarray:
        if not len(x) or not len(self._kept):
            return np.tile(self._base, (len(x), 1))
        kernel = bells(wording(x, self._encoder), self._kept, self._width / self._spread)
        return kernel @ self._weights + self._base

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
