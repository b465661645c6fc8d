"""The baseline every predictor must beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.extension import predictor
from sightline.prediction.predictors._parts import Learned, explanations, settled_columns
from sightline.records import Examples


@predictor(sees="prompt", source="common practice", licence="Apache-2.0")
class mean(Learned):
    """Predicts the mean of the truth it was shown, whatever the prompt."""

    LEARNED = ("mean",)

    def __init__(self) -> None:
        self._mean = np.zeros(0)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        list(settled_columns(truth))
        self._mean = np.nanmean(np.asarray(truth, dtype=np.float64), axis=0)
        return self

    def predict(self, x: Examples) -> np.ndarray:
        return np.tile(self._mean, (len(x), 1))

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        return explanations(self._mean, (), [np.zeros((len(x), 0))] * len(self._mean))
