"""The baseline every predictor must beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.errors import DataError
from sightline.extension import predictor
from sightline.records import Examples


@predictor(sees="prompt", source="common practice", licence="Apache-2.0")
class mean:
    """Predicts the mean of the truth it was shown, whatever the prompt."""

    def __init__(self) -> None:
        self._mean = np.zeros(0)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        known = np.isfinite(truth).sum(axis=0)
        if not len(known) or (known == 0).any():
            raise DataError("a target has no settled value to learn from")
        self._mean = np.nanmean(np.asarray(truth, dtype=np.float64), axis=0)
        return self

    def predict(self, x: Examples) -> np.ndarray:
        return np.tile(self._mean, (len(x), 1))

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        names = ["base"] if len(self._mean) == 1 else [f"base[{target}]" for target in range(len(self._mean))]
        means = dict(zip(names, self._mean.tolist(), strict=True))
        return [dict(means) for _ in range(len(x))]

    def state(self) -> dict[str, np.ndarray]:
        return {"mean": self._mean.copy()}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._mean = np.array(state["mean"], dtype=np.float64)
        return self
