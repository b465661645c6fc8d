"""A curved surface over the wording: what kernel ridge regression with that kernel gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from sightline.errors import UsageError
from sightline.prediction.predictors.quadratic import quadratic
from sightline.records import Examples, Prompt, PromptKey


class Told:
    """An encoder that knows the vector of every text by its number."""

    def __init__(self, rows: np.ndarray, blocks: tuple[int, ...]) -> None:
        self.rows = rows
        self.blocks = blocks

    def text(self, texts: Sequence[str]) -> np.ndarray:
        return self.rows[[int(text) for text in texts]]


def examples(rows: Sequence[int]) -> Examples:
    prompts = [Prompt(PromptKey("s", str(row)), str(row)) for row in rows]
    return Examples(prompts, np.zeros((len(prompts), 0)), [])


def test_it_is_kernel_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(120, 7)).astype(np.float32) + 3
    truth = np.stack([vectors[:, 0] * vectors[:, 1], vectors[:, 2]], axis=1)
    model = quadratic.target(encoder=Told(vectors, (4, 3)), dimensions=7, penalties=(0.5,))
    model.fit(examples(range(100)), truth[:100])
    centred = vectors - vectors[:100].mean(axis=0)
    even = np.hstack(
        [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (centred[:, :4], centred[:, 4:])]
    )
    size = (even[:100] ** 2).sum(axis=1).mean()
    # (1 + p'q / s)^2 / 2 is scikit-learn's (gamma p'q + 1)^2 halved, and so are kernel and penalty.
    other = KernelRidge(alpha=0.5 * 2, kernel="poly", degree=2, gamma=1 / size, coef0=1)
    mean = truth[:100].mean(axis=0)
    wanted = other.fit(even[:100], truth[:100] - mean).predict(even[100:]) + mean
    np.testing.assert_allclose(model.predict(examples(range(100, 120))), wanted, atol=1e-4)


def test_a_product_that_no_line_can_follow() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(800, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    truth = (vectors[:, 0] * vectors[:, 1])[:, None] + 0.01 * rng.normal(size=(800, 1))
    model = quadratic.target(encoder=Told(vectors, (5,)), penalties=(0.01, 0.1, 1.0))
    predicted = model.fit(examples(range(600)), truth[:600]).predict(examples(range(600, 800)))
    assert np.corrcoef(predicted[:, 0], truth[600:, 0])[0, 1] > 0.9
    straight = np.linalg.lstsq(vectors[:600], truth[:600, 0], rcond=None)[0]
    assert abs(np.corrcoef(vectors[600:] @ straight, truth[600:, 0])[0, 1]) < 0.3


def test_texts_that_all_say_the_same() -> None:
    same = np.ones((6, 3), dtype=np.float32)
    truth = np.arange(6.0)[:, None]
    model = quadratic.target(encoder=Told(same, (3,))).fit(examples(range(6)), truth)
    np.testing.assert_allclose(model.predict(examples([0, 5])), 2.5)


def test_dimensions_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match="dimensions=0"):
        quadratic.target(dimensions=0)
