"""Linear predictors: on features alone, and on features and wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.extension import TextEncoder, needs, predictor
from sightline.prediction.predictors._parts import (
    Linear,
    Scaled,
    explanations,
    penalised,
    with_wording,
    wording,
)
from sightline.records import Examples

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)


class _Line:
    """A penalised line through the features and, where there is an encoder, the encoded wording."""

    def __init__(self, penalties: tuple[float, ...], encoder: TextEncoder | None = None) -> None:
        self._penalties = penalties
        self._encoder = encoder
        self._features = Scaled()
        self._line = Linear(np.zeros((0, 0)), np.zeros(0), np.zeros(0))

    def prepare(self, x: Examples) -> Examples:
        return x if self._encoder is None else with_wording(x, self._encoder)

    def _words(self, x: Examples) -> np.ndarray | None:
        return None if self._encoder is None else wording(x, self._encoder)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        inputs = self._features.fit(x, self._words(x))
        self._line = penalised(inputs, np.asarray(truth, dtype=np.float64), self._penalties)
        return self

    def predict(self, x: Examples) -> np.ndarray:
        return self._features.apply(x, self._words(x)) @ self._line.weights + self._line.base

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each feature and the wording add to the base; all together they are the prediction."""
        inputs = self._features.apply(x, self._words(x))
        names, count = list(self._features.names), len(self._features.names)
        parts = [inputs[:, :count] * weights[:count] for weights in self._line.weights.T]
        if self._encoder is not None:
            names.append("wording")
            words = inputs[:, count:] @ self._line.weights[count:]
            parts = [np.column_stack([part, column]) for part, column in zip(parts, words.T, strict=True)]
        return explanations(self._line.base, names, parts)

    def state(self) -> dict[str, np.ndarray]:
        line = {name: column.copy() for name, column in self._line._asdict().items()}
        return {**self._features.state(), **line}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._features.restore(state)
        self._line = Linear(*(np.array(state[name], dtype=np.float64) for name in Linear._fields))
        return self


@predictor(sees="prompt", source="Hoerl and Kennard 1970", licence="Apache-2.0")
class linear(_Line):
    """Linear regression on the features alone, held small by a penalty on its weights.

    Features are standardised on what was learned from; one that has no value counts as average. The penalty
    is the one of `penalties` with the least leave-one-out error, per target.
    """

    def __init__(self, *, penalties: tuple[float, ...] = PENALTIES) -> None:
        super().__init__(penalties)


@predictor(sees="prompt", source="Hoerl and Kennard 1970", licence="Apache-2.0")
class ridge(_Line):
    """Linear regression on the features and the encoded wording, held small by a penalty on its weights.

    Features are standardised on what was learned from; one that has no value counts as average. The penalty
    is the one of `penalties` with the least leave-one-out error among the examples learned from, per target.
    """

    def __init__(
        self,
        *,
        encoder: TextEncoder = needs("encoder", "hashed_words"),
        penalties: tuple[float, ...] = PENALTIES,
    ) -> None:
        super().__init__(penalties, encoder)
