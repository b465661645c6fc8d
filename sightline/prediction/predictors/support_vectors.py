"""Support vector regression on the wording."""

from __future__ import annotations

from typing import Self

import numpy as np

from sightline.errors import UsageError
from sightline.extension import TextEncoder, needs, predictor
from sightline.prediction.predictors._kernel import KernelModel, bells, spread_of
from sightline.prediction.predictors._parts import FEWEST, settled_columns, wording
from sightline.records import Examples


@predictor(
    sees="prompt",
    source="Drucker et al. 1997; Chang and Lin 2011",
    licence="Apache-2.0",
    aliases=("svr", "svm"),
)
class support_vectors(KernelModel):
    """Support vector regression on the encoded wording: errors up to `epsilon` cost nothing, others linearly.

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
        super().__init__(encoder, width)
        self._cost = C
        self._epsilon = epsilon

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
