"""A linear predictor on features and wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.errors import DataError
from sightline.extension import TextEncoder, needs, predictor
from sightline.prediction.predictors._parts import penalised, with_wording, wording
from sightline.records import Examples

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)


@predictor(sees="prompt", source="Hoerl and Kennard 1970", licence="Apache-2.0")
class ridge:
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
        self._encoder = encoder
        self._penalties = penalties
        self._names: tuple[str, ...] = ()
        self._centre = np.zeros(0)
        self._scale = np.zeros(0)
        self._weights = np.zeros((0, 0))
        self._base = np.zeros(0)
        self._penalty = np.zeros(0)

    def prepare(self, x: Examples) -> Examples:
        return with_wording(x, self._encoder)

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        features = np.asarray(x.features, dtype=np.float64)
        raw = np.hstack([features, self._wording(x)])
        known = np.isfinite(raw)
        count = np.maximum(known.sum(axis=0), 1)
        self._centre = np.where(known, raw, 0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, raw - self._centre, 0) ** 2).sum(axis=0) / count)
        # Encoded wording keeps its own scale: standardising would blow up words seen once.
        spread[features.shape[1] :] = 1.0
        self._scale = np.where(spread > 1e-12, spread, 1.0)
        self._names = tuple(x.feature_names)
        line = penalised(self._standardised(raw), truth, self._penalties)
        self._weights, self._base, self._penalty = line
        return self

    def _wording(self, x: Examples) -> np.ndarray:
        return np.asarray(wording(x, self._encoder), dtype=np.float64)

    def _inputs(self, x: Examples) -> np.ndarray:
        if tuple(x.feature_names) != self._names:
            raise DataError(
                f"learned from the features {', '.join(self._names) or '(none)'}, "
                f"but given {', '.join(x.feature_names) or '(none)'}",
                remedy="Score the same measures for these prompts, or fit again.",
            )
        return self._standardised(np.hstack([np.asarray(x.features, dtype=np.float64), self._wording(x)]))

    def _standardised(self, raw: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(raw), (raw - self._centre) / self._scale, 0.0)

    def predict(self, x: Examples) -> np.ndarray:
        return self._inputs(x) @ self._weights + self._base

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each feature and the wording add to the base; all together they are the prediction."""
        inputs = self._inputs(x)
        count = len(self._names)
        targets = len(self._base)
        marks = [""] if targets == 1 else [f"[{target}]" for target in range(targets)]
        made: list[dict[str, float]] = [{} for _ in range(len(x))]
        for target, mark in enumerate(marks):
            parts = inputs[:, :count] * self._weights[:count, target]
            words = inputs[:, count:] @ self._weights[count:, target]
            for row, each in enumerate(made):
                each[f"base{mark}"] = float(self._base[target])
                for name, part in zip(self._names, parts[row], strict=True):
                    each[f"{name}{mark}"] = float(part)
                each[f"wording{mark}"] = float(words[row])
        return made

    def state(self) -> dict[str, np.ndarray]:
        return {
            "names": np.array(self._names, dtype=np.str_),
            "centre": self._centre.copy(),
            "scale": self._scale.copy(),
            "weights": self._weights.copy(),
            "base": self._base.copy(),
            "penalty": self._penalty.copy(),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._names = tuple(str(name) for name in state["names"])
        self._centre = np.array(state["centre"], dtype=np.float64)
        self._scale = np.array(state["scale"], dtype=np.float64)
        self._weights = np.array(state["weights"], dtype=np.float64)
        self._base = np.array(state["base"], dtype=np.float64)
        self._penalty = np.array(state["penalty"], dtype=np.float64)
        return self
