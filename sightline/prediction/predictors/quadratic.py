"""A curved surface over the wording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from sightline.errors import UsageError
from sightline.extension import TextEncoder, needs, predictor
from sightline.prediction.predictors._parts import FEWEST, Array, WordingModel, settled_columns, wording
from sightline.records import Examples
from sightline.statistics.folds import k_fold

PENALTIES = (0.5, 1.0, 2.0, 4.0, 8.0, 32.0)


@predictor(sees="prompt", source="Hoerl and Kennard 1970; Saunders et al. 1998", licence="Apache-2.0")
class quadratic(WordingModel):
    """Regression on the encoded wording, its main directions, and the products of every two of them.

    Each block of the encoder's vectors (a layer, an encoder) is centred and brought to length 1, and all are
    turned to the `dimensions` directions in which the examples differ most (drawn with `seed`). On what they
    are there, p, with s the mean of |p|^2, ridge regression with the kernel (1 + p'q / s)^2 / 2 is fitted,
    for each target with the penalty of `penalties` that has the least error on a fifth of the examples. It is
    kept as one curved surface a target, b + w'p + p'Ap: no example is.
    """

    LEARNED = ("centre", "turn", "base", "slope", "curve")

    def __init__(
        self,
        *,
        encoder: TextEncoder = needs("encoder", "hashed_words"),
        dimensions: int = 256,
        penalties: tuple[float, ...] = PENALTIES,
        seed: int = 0,
    ) -> None:
        if dimensions < 1:
            raise UsageError(f"quadratic: dimensions={dimensions}", remedy="1 or more, for example 256.")
        super().__init__(encoder)
        self._dimensions = dimensions
        self._penalties = penalties
        self._seed = seed
        self._centre = np.zeros(0, dtype=np.float32)
        self._turn = np.zeros((0, 0), dtype=np.float32)
        self._slope = np.zeros((0, 0))
        self._curve = np.zeros((0, 0, 0))

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        raw = np.asarray(wording(x, self._encoder), dtype=np.float32)
        self._centre = raw.mean(axis=0) if len(raw) else np.zeros(raw.shape[1], dtype=np.float32)
        even = self._evened(raw)
        self._turn = _main_directions(even, self._dimensions, self._seed)
        turned = (even @ self._turn).astype(np.float64)
        size = float((turned**2).sum(axis=1).mean()) if turned.size else 0.0
        # In units in which the mean square is 1, the kernel is (1 + p'q)^2 / 2.
        self._turn = self._turn / np.float32(np.sqrt(size) if size > 1e-12 else 1.0)
        turned = (even @ self._turn).astype(np.float64)
        targets, width = truth.shape[1], turned.shape[1]
        self._base, self._slope = np.zeros(targets), np.zeros((width, targets))
        self._curve = np.zeros((targets, width, width))
        for rows, columns in settled_columns(truth):
            self._fit_some(turned[rows], truth[rows][:, columns], columns)
        return self

    def _fit_some(self, turned: Array, y: Array, columns: Sequence[int]) -> None:
        mean = y.mean(axis=0)
        self._base[columns] = mean
        if len(turned) < FEWEST or not turned.any():
            return
        kernel = (1 + turned @ turned.T) ** 2 / 2
        chosen = self._choose(kernel, y)
        for penalty in sorted(set(chosen)):
            some = [number for number, each in enumerate(chosen) if each == penalty]
            weights = _solved(kernel, y[:, some] - mean[some], penalty)
            for number, of_rows in zip(some, weights.T, strict=True):
                column = columns[number]
                # (1 + p'q)^2 / 2 = 1/2 + p'q + p'(qq')p / 2, summed over the examples q.
                self._base[column] += of_rows.sum() / 2
                self._slope[:, column] = turned.T @ of_rows
                self._curve[column] = (turned.T * of_rows) @ turned / 2

    def _choose(self, kernel: Array, y: Array) -> list[float]:
        """For each target the penalty with the least error on a fifth that was held out."""
        held = k_fold(len(y), min(5, len(y)), seed=self._seed) == 0
        learn, test = np.flatnonzero(~held), np.flatnonzero(held)
        among, across, mean = kernel[np.ix_(learn, learn)], kernel[np.ix_(test, learn)], y[learn].mean(axis=0)
        errors = [
            ((across @ _solved(among, y[learn] - mean, penalty) + mean - y[test]) ** 2).mean(axis=0)
            for penalty in self._penalties
        ]
        return [self._penalties[int(best)] for best in np.argmin(errors, axis=0)]

    def _evened(self, raw: np.ndarray) -> np.ndarray:
        """Every block centred and of length 1; a text that no block tells from the mean stays at 0."""
        even = np.asarray(raw, dtype=np.float32) - self._centre
        start = 0
        for width in _blocks(self._encoder, even.shape[1]):
            block = even[:, start : start + width]
            block /= np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-9)
            start += width
        return even

    def _parts(self, x: Examples) -> tuple[Array, Array]:
        raw = np.asarray(wording(x, self._encoder), dtype=np.float32)
        turned = (self._evened(raw) @ self._turn).astype(np.float64)
        curved = np.stack([((turned @ each) * turned).sum(axis=1) for each in self._curve], axis=1)
        return turned @ self._slope, curved

    def predict(self, x: Examples) -> np.ndarray:
        if not len(x) or not self._turn.size:
            return np.tile(self._base, (len(x), 1))
        straight, curved = self._parts(x)
        return straight + curved + self._base


def _blocks(encoder: TextEncoder, width: int) -> tuple[int, ...]:
    return tuple(getattr(encoder, "blocks", (width,)))


def _main_directions(vectors: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Columns along which the vectors differ most, at most as many as there are vectors or dimensions."""
    from sklearn.utils.extmath import randomized_svd

    count = min(most, *vectors.shape)
    if not count:
        return np.zeros((vectors.shape[1], 0), dtype=np.float32)
    _, _, rows = randomized_svd(vectors, count, n_iter=3, random_state=seed)
    return np.asarray(rows.T, dtype=np.float32)


def _solved(kernel: Array, y: Array, penalty: float) -> Array:
    from scipy.linalg import cho_factor, cho_solve

    damped = kernel.copy()
    damped[np.diag_indices(len(damped))] += penalty
    factor = cho_factor(damped, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, y, check_finite=False))
