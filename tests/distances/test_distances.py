"""Distances, against hand arithmetic and a plain loop."""

from __future__ import annotations

import io
from math import exp, sqrt

import numpy as np
import pytest
from PIL import Image

from sightline import registry
from sightline.errors import UsageError
from sightline.extension import Picture


def picture(pixels: np.ndarray) -> Picture:
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG")
    return Picture(file.getvalue())


def flat(*colour: int, size: tuple[int, int] = (20, 20)) -> np.ndarray:
    return np.full((*size, 3), colour, dtype=np.uint8)


def distances(text: str, *images: np.ndarray) -> np.ndarray:
    return registry.configure("distance", text).load()([picture(image) for image in images])


def test_pixel_l2_by_hand() -> None:
    # One channel of three differs in full: sqrt(1/3); sizes do not matter.
    found = distances("pixel_l2", flat(0, 0, 0), flat(255, 255, 255, size=(7, 90)), flat(255, 0, 0))
    assert found == pytest.approx(
        np.array([[0, 1, sqrt(1 / 3)], [1, 0, sqrt(2 / 3)], [sqrt(1 / 3), sqrt(2 / 3), 0]])
    )


def test_colour_histogram_is_the_share_without_counterpart() -> None:
    half = np.concatenate([flat(0, 0, 0), flat(255, 0, 0)])
    found = distances("colour_histogram", flat(0, 0, 0), half, half[::-1], flat(0, 0, 255, size=(3, 1)))
    assert found[0] == pytest.approx([0, 0.5, 0.5, 1])
    assert found[1, 2] == 0, "where a colour is does not matter"


def slow_ssim(a: np.ndarray, b: np.ndarray) -> float:
    """The definition, one window after another."""
    weights = np.array(
        [[exp(-((x - 5) ** 2 + (y - 5) ** 2) / (2 * 1.5**2)) for x in range(11)] for y in range(11)]
    )
    weights /= weights.sum()
    values = []
    for top in range(a.shape[0] - 10):
        for left in range(a.shape[1] - 10):
            p, q = a[top : top + 11, left : left + 11], b[top : top + 11, left : left + 11]
            mp, mq = (weights * p).sum(), (weights * q).sum()
            vp, vq = (weights * (p - mp) ** 2).sum(), (weights * (q - mq) ** 2).sum()
            cov = (weights * (p - mp) * (q - mq)).sum()
            c1, c2 = 6.5025, 58.5225
            values.append((2 * mp * mq + c1) * (2 * cov + c2) / ((mp**2 + mq**2 + c1) * (vp + vq + c2)))
    return float(np.mean(values))


def test_ssim_is_its_definition() -> None:
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (16, 16, 3)) for _ in range(3)]
    images[2] = np.clip(images[1] + rng.normal(0, 30, images[1].shape), 0, 255)
    found = distances("ssim(side=16)", *images)
    luma = [image.astype(np.uint8) @ np.array([0.2126, 0.7152, 0.0722]) for image in images]
    for i in range(3):
        for j in range(3):
            assert found[i, j] == pytest.approx((1 - slow_ssim(luma[i], luma[j])) / 2, abs=1e-12)


def test_ssim_of_flat_images_by_hand() -> None:
    # Without structure only means remain: (2 * 0 * 255 + C1) / (255^2 + C1), C1 = 6.5025.
    found = distances("ssim", flat(0, 0, 0), flat(255, 255, 255))
    assert found[0, 1] == pytest.approx((1 - 6.5025 / (255**2 + 6.5025)) / 2)


def test_embedding_is_the_distance_of_the_vectors() -> None:
    images = [flat(0, 0, 0), flat(255, 255, 255), flat(255, 0, 0)]
    # One cell, one direction: vectors (0, 0, 0, 0), (1, 1, 1, 0), (1, 0, 0, 0).
    told = "embedding(encoder=colour_layout(grid=1, directions=1))"
    assert distances(told, *images)[0] == pytest.approx([0, sqrt(3), 1])
    assert distances("embedding(encoder=colour_layout(grid=1, directions=1), metric=sqeuclidean)", *images)[
        0
    ] == pytest.approx([0, 3, 1])


def test_a_black_image_has_a_cosine_distance() -> None:
    found = distances("embedding(metric=cosine)", flat(0, 0, 0), flat(200, 10, 10), flat(0, 0, 0))
    assert found == pytest.approx(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))


@pytest.mark.parametrize("text", ["embedding(metric=euclid)", "ssim(side=5)", "colour_histogram(bins=0)"])
def test_impossible_parameters_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        distances(text, flat(0, 0, 0), flat(1, 1, 1))


@pytest.mark.parametrize("name", ["ssim", "pixel_l2", "colour_histogram", "embedding"])
def test_more_change_is_more_distance(name: str) -> None:
    rng = np.random.default_rng(0)
    base = np.kron(rng.integers(0, 256, (8, 8, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    a_little, a_lot = base.copy(), base.copy()
    a_little[:16] = 255 - a_little[:16]
    a_lot[:48] = 255 - a_lot[:48]
    found = distances(name, base, a_little, a_lot)
    assert 0 < found[0, 1] < found[0, 2]
