"""A predictor of shares and chances from features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.errors import UsageError
from sightline.extension import predictor
from sightline.prediction.predictors._parts import Array, Learned, Scaled, explanations, settled_columns
from sightline.records import Examples

ROUNDS = 100
CLOSE = 1e-10


@predictor(sees="prompt", source="Cox 1958; le Cessie and van Houwelingen 1992", licence="Apache-2.0")
class logistic(Learned):
    """Logistic regression on the features, for truth with two ends such as relevant or not.

    Chance = 1 / (1 + exp(-(a + sum of w z))), with the features z standardised on what was learned from; one
    that has no value counts as average. The weights are those of least cross-entropy plus `penalty` / 2 times
    the sum of their squares. Truth from 0 to 1 is a chance as it is; other truth is brought there from the
    least to the greatest that was learned from, and predictions back. What a feature adds is its part w z of
    the way from the base, the prediction where every feature is average, to the prediction.
    """

    LEARNED = ("weights", "intercept", "low", "width")

    def __init__(self, *, penalty: float = 1.0) -> None:
        if penalty <= 0:
            raise UsageError(f"logistic: penalty={penalty:g}", remedy="Above 0, usually 1.")
        self._penalty = penalty
        self._features = Scaled()
        self._weights = np.zeros((0, 0))
        self._intercept = np.zeros(0)
        self._low, self._width = np.zeros(0), np.zeros(0)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        inputs = self._features.fit(x)
        self._weights = np.zeros((inputs.shape[1], truth.shape[1]))
        self._intercept, self._low, self._width = (np.zeros(truth.shape[1]) for _ in range(3))
        for rows, targets in settled_columns(truth):
            for target in targets:
                y = truth[rows, target]
                low, high = (0.0, 1.0) if y.min() >= 0 and y.max() <= 1 else (y.min(), y.max())
                self._low[target], self._width[target] = low, high - low
                scaled = (y - low) / (high - low or 1.0)
                found = cross_entropy_minimum(inputs[rows], scaled, self._penalty)
                self._intercept[target], self._weights[:, target] = found[0], found[1:]
        return self

    def predict(self, x: Examples) -> np.ndarray:
        made = chance(self._features.apply(x) @ self._weights + self._intercept)
        return self._low + self._width * made

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each feature adds to the base; all together they are the prediction."""
        inputs = self._features.apply(x)
        base = chance(self._intercept)
        parts = []
        for target, weights in enumerate(self._weights.T):
            ways = inputs * weights
            way = ways.sum(axis=1)
            gone = chance(way + self._intercept[target]) - base[target]
            # A step counts as much as the curve is steep on the way; where there is no way, p(1 - p).
            steep = np.where(
                np.abs(way) > 1e-9, gone / np.where(way, way, 1), base[target] * (1 - base[target])
            )
            parts.append(ways * steep[:, None] * self._width[target])
        return explanations(self._low + self._width * base, self._features.names, parts)

    def state(self) -> dict[str, np.ndarray]:
        return {**self._features.state(), **super().state()}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._features.restore(state)
        return super().restore(state)


def chance(z: np.ndarray) -> Array:
    """1 / (1 + exp(-z)), which no z can overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(np.asarray(z, dtype=np.float64) / 2))


def cross_entropy_minimum(x: Array, y: Array, penalty: float) -> Array:
    """Intercept and weights by Newton's method, its steps halved until they lead down.

    The intercept is penalised too, by a millionth: without, it would run away where all truth is alike.
    """
    design = np.column_stack([np.ones(len(x)), x])
    held = np.full(design.shape[1], penalty)
    held[0] = 1e-6
    weights = np.zeros(design.shape[1])

    def loss(w: Array) -> float:
        z = design @ w
        return float((np.logaddexp(0, z) - y * z).sum() + (held * w**2).sum() / 2)

    here = loss(weights)
    for _ in range(ROUNDS):
        p = chance(design @ weights)
        slope = design.T @ (p - y) + held * weights
        bend = (design * (p * (1 - p))[:, None]).T @ design + np.diag(held)
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while loss(weights - size * step) > here and size > 1e-6:
            size /= 2
        weights = weights - size * step
        before, here = here, loss(weights)
        if before - here <= CLOSE * (1 + abs(here)):
            break
    return weights
