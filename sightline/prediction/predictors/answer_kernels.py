"""Predictors of single answers: kernels on the image, the wording, both together, and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.extension import ImageEncoder, TextEncoder, needs, predictor
from sightline.prediction.predictors._kernel import bells, spread_of
from sightline.prediction.predictors._parts import (
    FEWEST,
    Array,
    Learned,
    Scaled,
    explanations,
    settled_columns,
    with_wording,
    wording,
)
from sightline.prediction.predictors._pictured import image_vectors, with_images
from sightline.records import Examples

BLOCKS = ("image", "wording", "image x wording")


class _AnswerKernel(Learned):
    """A sum of kernels, so that what each kind of evidence adds to a prediction is known exactly.

    Vectors of an image and of a text have a bell-shaped kernel each, exp(-width d^2 / s) with d the distance
    of two vectors and s their mean squared distance from the centre; "image x wording" is the product of the
    two; measures have a linear kernel, which is 1 for an average example. A block that has no vector of an
    example adds nothing to its prediction.
    """

    LEARNED = ("images", "texts", "measured", "spreads", "weights", "base")

    def __init__(
        self,
        image_encoder: ImageEncoder,
        text_encoder: TextEncoder,
        shares: Sequence[float],
        widths: tuple[float, float],
    ) -> None:
        if min(widths) <= 0:
            raise UsageError(f"widths of kernels are {widths}", remedy="Above 0, usually about 1.")
        if min(shares) < 0 or not any(shares):
            raise UsageError(
                "answers need evidence: image, wording, interaction and measures are all 0 or one is below 0",
                remedy="image=1 and wording=1 is usual.",
            )
        self._image_encoder = image_encoder
        self._text_encoder = text_encoder
        self._shares = np.array(shares) / sum(shares)
        self._widths = widths
        self._features = Scaled()
        self._images = np.zeros((0, 0), dtype=np.float32)
        self._texts = np.zeros((0, 0), dtype=np.float32)
        self._measured = np.zeros((0, 0))
        self._spreads = np.ones(2)
        self._weights = np.zeros((0, 0))
        self._base = np.zeros(0)

    @property
    def _looks(self) -> bool:
        return bool(self._shares[0] or self._shares[2])

    @property
    def _reads(self) -> bool:
        return bool(self._shares[1] or self._shares[2])

    def prepare(self, x: Examples) -> Examples:
        x = with_images(x, self._image_encoder) if self._looks else x
        return with_wording(x, self._text_encoder) if self._reads else x

    def _vectors(self, x: Examples) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of images (the mean of several; NaN for none) and of texts."""
        images, texts = np.zeros((len(x), 0), np.float32), np.zeros((len(x), 0), np.float32)
        if self._looks:
            several = image_vectors(x, self._image_encoder)
            there = np.isfinite(several).all(axis=2)
            count = there.sum(axis=1)[:, None]
            total = np.where(there[:, :, None], several, 0.0).sum(axis=1)
            images = np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)
        if self._reads:
            texts = np.asarray(wording(x, self._text_encoder), dtype=np.float32)
        return images, texts

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        self._measured = self._features.fit(x)
        self._images, self._texts = self._vectors(x)
        seen = np.isfinite(self._images).all(axis=1)
        if self._looks and not seen.any():
            raise DataError("none of the answers has an image that could be read")
        self._spreads = np.array([spread_of(self._images[seen]), spread_of(self._texts)])
        kernel = self._kernels(self._measured, self._images, self._texts).sum(axis=0)
        self._weights, self._base = np.zeros(truth.shape), np.zeros(truth.shape[1])
        for rows, targets in settled_columns(truth):
            places = np.flatnonzero(rows)
            among = kernel[np.ix_(places, places)]
            for target in targets:
                y = truth[places, target]
                self._base[target] = y.mean()
                if len(y) >= FEWEST and np.ptp(y) > 0:
                    self._weights[places, target], self._base[target] = self._solve(among, y)
        used = (self._weights != 0).any(axis=1)
        self._images, self._texts, self._measured, self._weights = (
            each[used] for each in (self._images, self._texts, self._measured, self._weights)
        )
        return self

    def _solve(self, kernel: Array, y: Array) -> tuple[Array, float]:
        raise NotImplementedError

    def _kernels(self, measured: Array, images: np.ndarray, texts: np.ndarray) -> Array:
        """Blocks x given x kept: image, wording, their product, and measures."""
        shape = (len(measured), len(self._measured))
        ones = []
        for given, kept, width in (
            (images, self._images, self._widths[0] / self._spreads[0]),
            (texts, self._texts, self._widths[1] / self._spreads[1]),
        ):
            if not kept.shape[1]:
                ones.append(np.zeros(shape))
                continue
            if given.shape[1] != kept.shape[1]:
                raise DataError(f"learned from vectors of {kept.shape[1]} numbers, given {given.shape[1]}")
            there, stay = (np.asarray(np.isfinite(each).all(axis=1)) for each in (given, kept))
            alike = bells(np.nan_to_num(given), np.nan_to_num(kept), width)
            ones.append(alike * np.outer(there, stay))
        line = measured @ self._measured.T / max(measured.shape[1], 1)
        blocks = [ones[0], ones[1], ones[0] * ones[1], line]
        return np.stack([share * block for share, block in zip(self._shares, blocks, strict=True)])

    def predict(self, x: Examples) -> np.ndarray:
        if not len(x) or not len(self._weights):
            return np.tile(self._base, (len(x), 1))
        kernels = self._kernels(self._features.apply(x), *self._vectors(x))
        return np.asarray(kernels.sum(axis=0) @ self._weights + self._base)

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What the image, the wording, both together and each measure add to the base; together it all."""
        if not len(x):
            return []
        measured = self._features.apply(x)
        kernels = self._kernels(measured, *self._vectors(x))
        blocks = np.stack([kernel @ self._weights for kernel in kernels[:3]], axis=1)
        slopes = self._shares[3] * self._measured.T @ self._weights / max(measured.shape[1], 1)
        parts = [
            np.hstack([blocks[:, :, target], measured * slopes[:, target]])
            for target in range(len(self._base))
        ]
        return explanations(self._base, [*BLOCKS, *self._features.names], parts)

    def state(self) -> dict[str, np.ndarray]:
        return {**self._features.state(), **super().state()}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._features.restore(state)
        return super().restore(state)


@predictor(
    sees="answer",
    source="Saunders et al. 1998; Duvenaud et al. 2011 (additive kernels)",
    licence="Apache-2.0",
)
class answer_ridge(_AnswerKernel):
    """Kernel ridge regression on the image and the wording of an answer, and on measures of it.

    The kernel is a sum: `image` times that of the images as `image_encoder` encodes them, `wording` times
    that of the prompts as `text_encoder` does, `interaction` times their product, and `measures` times a
    linear one of the measures, all divided by the sum of the four. `image_width` and
    `wording_width` are how fast the kernels fall. `penalty` holds the weights small.
    """

    def __init__(
        self,
        *,
        image_encoder: ImageEncoder = needs("encoder", "colour_layout"),
        text_encoder: TextEncoder = needs("encoder", "hashed_words"),
        image: float = 1.0,
        wording: float = 1.0,
        interaction: float = 0.0,
        measures: float = 0.2,
        image_width: float = 1.0,
        wording_width: float = 0.5,
        penalty: float = 0.2,
    ) -> None:
        if penalty <= 0:
            raise UsageError(f"answer_ridge: penalty={penalty}", remedy="penalty above 0.")
        super().__init__(
            image_encoder, text_encoder, (image, wording, interaction, measures), (image_width, wording_width)
        )
        self._penalty = penalty

    def _solve(self, kernel: Array, y: Array) -> tuple[Array, float]:
        damped = kernel + self._penalty * np.eye(len(y))
        return np.linalg.solve(damped, y - y.mean()), float(y.mean())


@predictor(
    sees="answer",
    source="Drucker et al. 1997; as in Li et al. 2023 (AGIQA-3K)",
    licence="Apache-2.0",
    aliases=("answer_svr",),
)
class answer_support_vectors(_AnswerKernel):
    """Support vector regression on the image and the wording of an answer, and on measures of it.

    The kernel is that of answer_ridge, with `image`, `wording`, `interaction`, `measures`, `image_width` and
    `wording_width`, over vectors by `image_encoder` and `text_encoder`. Errors up to `epsilon` cost nothing,
    larger ones linearly with weight `C`; both are in standard deviations of the truth.
    """

    def __init__(
        self,
        *,
        image_encoder: ImageEncoder = needs("encoder", "colour_layout"),
        text_encoder: TextEncoder = needs("encoder", "hashed_words"),
        image: float = 1.0,
        wording: float = 1.0,
        interaction: float = 0.0,
        measures: float = 0.2,
        image_width: float = 1.0,
        wording_width: float = 0.5,
        C: float = 1.0,
        epsilon: float = 0.2,
    ) -> None:
        if C <= 0 or epsilon < 0:
            raise UsageError(
                f"answer_support_vectors: C={C}, epsilon={epsilon}", remedy="C above 0, epsilon not below 0."
            )
        super().__init__(
            image_encoder, text_encoder, (image, wording, interaction, measures), (image_width, wording_width)
        )
        self._cost = C
        self._epsilon = epsilon

    def _solve(self, kernel: Array, y: Array) -> tuple[Array, float]:
        from sklearn.svm import SVR

        model = SVR(kernel="precomputed", C=self._cost, epsilon=self._epsilon, cache_size=500)
        model.fit(kernel, (y - y.mean()) / y.std())
        weights = np.zeros(len(y))
        weights[model.support_] = model.dual_coef_[0] * y.std()
        return weights, float(y.mean() + model.intercept_[0] * y.std())
