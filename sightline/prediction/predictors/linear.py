"""A linear predictor on features alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.extension import predictor
from sightline.prediction.predictors._parts import Linear, Scaled, explanations, penalised
from sightline.records import Examples

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)


@predictor(sees="prompt", source="Hoerl and Kennard 1970", licence="Apache-2.0")
class linear:
    """Linear regression on the features alone, held small by a penalty on its weights.

    Features are standardised on what was learned from; one that has no value counts as average. The penalty
    is the one of `penalties` with the least leave-one-out error, per target.
    """

    def __init__(self, *, penalties: tuple[float, ...] = PENALTIES) -> None:
        self._penalties = penalties
        self._features = Scaled()
        self._line = Linear(np.zeros((0, 0)), np.zeros(0), np.zeros(0))

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        inputs = self._features.fit(x)
        self._line = penalised(inputs, np.asarray(truth, dtype=np.float64), self._penalties)
        return self

    def predict(self, x: Examples) -> np.ndarray:
        return self._features.apply(x) @ self._line.weights + self._line.base

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each feature adds to the base; all together they are the prediction."""
        inputs = self._features.apply(x)
        parts = [inputs * weights for weights in self._line.weights.T]
        return explanations(self._line.base, self._features.names, parts)

    def state(self) -> dict[str, np.ndarray]:
        line = {name: column.copy() for name, column in self._line._asdict().items()}
        return {**self._features.state(), **line}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._features.restore(state)
        self._line = Linear(*(np.array(state[name], dtype=np.float64) for name in Linear._fields))
        return self
