"""Distances, against hand arithmetic and a plain loop."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from PIL import Image

from sightline import registry
from sightline.errors import UsageError
from sightline.extension import Picture
from sightline.testing.inputs import encoded

IMAGEHASH = ("800f1f3f3c787871", "802a55293f3f3d2e", "811f031bb6697b56", "803f78676cd95295")


def picture(pixels: np.ndarray) -> Picture:
    return encoded(Image.fromarray(pixels.astype(np.uint8)))


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


def scikit_ssim(a: np.ndarray, b: np.ndarray, k1: float = 0.01) -> float:
    from skimage.metrics import structural_similarity

    settings = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    return float(structural_similarity(a, b, K1=k1, **settings))


# Sides on either border of the blocks in which windows are averaged, and enough images for several strides.
@pytest.mark.parametrize(("side", "count"), [(11, 3), (42, 4), (43, 4), (75, 3), (150, 9)])
def test_ssim_is_that_of_scikit_image(side: int, count: int) -> None:
    images = photo_like(count, side)
    found = distances(f"ssim(side={side})", *images)
    luma = [image @ np.array([0.2126, 0.7152, 0.0722]) for image in images]
    for i in range(count):
        for j in range(count):
            assert found[i, j] == pytest.approx((1 - scikit_ssim(luma[i], luma[j])) / 2, abs=1e-10)


def photo_like(count: int, side: int) -> list[np.ndarray]:
    """Smooth and rough at once, the last ones near copies of the first."""
    rng = np.random.default_rng(side)
    y, x = np.mgrid[:side, :side] / side
    made = []
    for number in range(count - 1):
        waves = np.sin(np.outer(rng.normal(0, 9, 3), x.ravel()) + np.outer(rng.normal(0, 9, 3), y.ravel()))
        noise = rng.normal(0, 20, (side, side, 3))
        made.append(128 + 90 * waves.T.reshape(side, side, 3) + noise * (number % 2))
    made.append(made[0] + rng.normal(0, 10, made[0].shape))
    return [np.clip(image, 0, 255).astype(np.uint8) for image in made]


def test_ms_ssim_is_the_product_over_scales_of_what_scikit_image_finds() -> None:
    """With a very large first constant only contrast and structure are left of its SSIM."""
    from skimage.transform import downscale_local_mean

    images = photo_like(4, 190)
    images[1] = np.rot90(images[0])
    found = distances("ms_ssim(side=190)", *images)
    weights = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
    for i in range(4):
        for j in range(i):
            a, b = (images[n] @ np.array([0.2126, 0.7152, 0.0722]) for n in (i, j))
            expected = 1.0
            for weight in weights[:-1]:
                expected *= max(scikit_ssim(a, b, 1e9), 0) ** weight
                # An odd last row and column have no partner; theirs would be filled up with zeros.
                a, b = (downscale_local_mean(c[: len(c) // 2 * 2, : len(c) // 2 * 2], (2, 2)) for c in (a, b))
            expected *= max(scikit_ssim(a, b), 0) ** weights[-1]
            assert found[i, j] == pytest.approx(1 - expected, abs=1e-9)
    assert found[0, 3] < 0.1 < found[0, 1]


def test_ms_ssim_by_hand() -> None:
    # Without structure only the luminance of the fifth scale remains: (C1 / (255^2 + C1))^.1333, C1 = 6.5025.
    found = distances("ms_ssim", flat(0, 0, 0), flat(255, 255, 255))
    assert found[0, 1] == pytest.approx(1 - (6.5025 / (255**2 + 6.5025)) ** 0.1333)
    # The opposite of a pattern of 16 grey levels has the structure -1: none of it is shared.
    tiles = np.kron(np.indices((16, 16)).sum(axis=0) % 2, np.ones((16, 16)))[:, :, None] * np.ones(3) * 255
    assert distances("ms_ssim", tiles, 255 - tiles)[0, 1] == 1


def test_a_perceptual_hash_by_hand() -> None:
    """Of 8 x 8 pixels 2 x 2 frequencies are kept: the mean, the first cosine across, the first down, both.

    A ramp across from dark to bright has a negative cosine across and no other: above the median (0 and 0 are
    the middle two) is the mean alone. From bright to dark that cosine is positive: two bits. Down likewise.
    """
    ramp = np.repeat(np.arange(8)[None, :] * 30, 8, axis=0)[:, :, None] * np.ones(3)
    shown = [ramp, ramp[:, ::-1], ramp.transpose(1, 0, 2)[::-1], ramp * 0.5]
    found = distances("perceptual_hash(bits=2)", *shown)
    assert found[0].tolist() == [0, 1 / 4, 1 / 4, 0]
    assert found[1, 2] == 2 / 4


def test_perceptual_hashes_are_those_of_the_library_imagehash() -> None:
    """Recorded from ImageHash 4.3.2, phash(image, hash_size=8), of pictures of 32 x 32: none is scaled."""
    hashes = [int(text, 16) for text in IMAGEHASH]
    expected = [[(a ^ b).bit_count() / 64 for a in hashes] for b in hashes]
    assert distances("perceptual_hash", *hashed()).tolist() == expected


def hashed() -> list[np.ndarray]:
    y, x = np.mgrid[:32, :32]
    return [
        np.stack([(x * a + y * b) % 256, (x * y * a) % 251, (x * x + b * y) % 239], axis=2)
        for a, b in ((3, 5), (7, 2), (11, 13), (1, 8))
    ]


def test_ssim_of_flat_images_by_hand() -> None:
    # Without structure only means remain: (2 * 0 * 255 + C1) / (255^2 + C1), C1 = 6.5025.
    found = distances("ssim", flat(0, 0, 0), flat(255, 255, 255))
    assert found[0, 1] == pytest.approx((1 - 6.5025 / (255**2 + 6.5025)) / 2)


@pytest.mark.parametrize(
    "text",
    ["embedding(metric=euclid)", "ssim(side=5)", "colour_histogram(bins=0)", "ms_ssim(side=175)",
     "perceptual_hash(bits=1)"],
)  # fmt: skip
def test_impossible_parameters_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        distances(text, flat(0, 0, 0), flat(1, 1, 1))
