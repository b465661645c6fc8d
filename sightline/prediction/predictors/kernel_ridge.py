"""Kernel ridge regression on the wording."""

from __future__ import annotations

from typing import Self

import numpy as np

from sightline.errors import UsageError
from sightline.extension import TextEncoder, needs, predictor
from sightline.prediction.predictors._kernel import KernelModel, spread_of
from sightline.prediction.predictors._parts import penalised, wording
from sightline.records import Examples

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@predictor(
    sees="prompt",
    source="Saunders et al. 1998; Williams and Seeger 2001",
    licence="Apache-2.0",
    aliases=("krr",),
)
class kernel_ridge(KernelModel):
    """Kernel ridge regression on the encoded wording: prompts that mean alike are predicted alike.

    The kernel is exp(-`width` d^2 / s), d the distance of two vectors and s their mean squared distance from
    the centre. It is spanned by `landmarks` examples drawn at random with `seed` (Nystroem's method), so that
    what is kept stays small; with fewer examples it is exact. The penalty is the one of `penalties` with the
    least leave-one-out error, per target.
    """

    def __init__(
        self,
        *,
        encoder: TextEncoder = needs("encoder", "hashed_words"),
        width: float = 1.0,
        landmarks: int = 1000,
        penalties: tuple[float, ...] = PENALTIES,
        seed: int = 0,
    ) -> None:
        if width <= 0 or landmarks < 1:
            raise UsageError(
                f"kernel_ridge: width={width}, landmarks={landmarks}",
                remedy="A width above 0, and 1 or more landmarks.",
            )
        super().__init__(encoder, width)
        self._landmarks = landmarks
        self._penalties = penalties
        self._seed = seed

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        vectors = wording(x, self._encoder)
        rows = np.random.default_rng(self._seed).permutation(len(vectors))[: self._landmarks]
        self._kept = np.array(vectors[np.sort(rows)], dtype=np.float32)
        self._spread = spread_of(vectors)
        values, directions = np.linalg.eigh(self._kernel(self._kept))
        # Directions that rounding made up would be blown up by the division.
        real = values > values.max(initial=0) * 1e-10
        root = directions[:, real] / np.sqrt(values[real])
        line = penalised(self._kernel(vectors) @ root, np.asarray(truth, dtype=np.float64), self._penalties)
        self._weights, self._base = root @ line.weights, line.base
        return self
