"""Measures of an image, on images small enough to be worked out by hand."""

from __future__ import annotations

import io
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from sightline.extension import NoValue, Picture, Value
from sightline.measures.of_image.detail import noise as grain
from sightline.measures.of_image.detail import sharpness
from sightline.measures.of_image.tone import blank, brightness, colourfulness, contrast


def picture(pixels: Any, format: str = "PNG") -> Picture:
    file = io.BytesIO()
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(file, format)
    return Picture(file.getvalue())


def flat(colour: tuple[int, int, int], side: int = 8) -> np.ndarray:
    return np.full((side, side, 3), colour, dtype=np.uint8)


def noise(side: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


BLACK, WHITE = flat((0, 0, 0)), flat((255, 255, 255))
HALVES = np.concatenate([BLACK, WHITE], axis=1)


def test_brightness() -> None:
    found = brightness([picture(BLACK), picture(WHITE), picture(HALVES), picture(flat((0, 255, 0)))])
    assert list(found) == pytest.approx([0, 1, 0.5, 0.7152])


def test_contrast() -> None:
    # Half the pixels at 0 and half at 1: mean 1/2, every deviation 1/2. Red is uniform.
    found = contrast([picture(BLACK), picture(HALVES), picture(flat((255, 0, 0)))])
    assert list(found) == pytest.approx([0, 0.5, 0], abs=1e-12)


def test_colourfulness_of_grey_of_one_and_of_two_colours() -> None:
    # Red: rg = 255, yb = 127.5, no spread: 0.3 sqrt(255^2 + 127.5^2).
    found = colourfulness([picture(HALVES), picture(flat((255, 0, 0)))])
    assert list(found) == pytest.approx([0, 0.3 * sqrt(255**2 + 127.5**2)])
    # Red and blue halves: rg = 255, 0 (mean 127.5, SD 127.5); yb = 127.5, -255 (mean -63.75, SD 191.25).
    pixels = np.concatenate([flat((255, 0, 0)), flat((0, 0, 255))])
    expected = sqrt(127.5**2 + 191.25**2) + 0.3 * sqrt(127.5**2 + 63.75**2)
    assert list(colourfulness([picture(pixels)])) == pytest.approx([expected])


def test_sharpness_by_hand() -> None:
    # A white dot on black, 4 x 4: the four inner pixels have Laplacians -4, 1, 1 and 0 times 255.
    pixels = np.zeros((4, 4, 3))
    pixels[1, 1] = 255
    mean = (-4 + 1 + 1 + 0) / 4
    variance = ((-4 - mean) ** 2 + 2 * (1 - mean) ** 2 + mean**2) / 4
    assert list(sharpness([picture(pixels)])) == pytest.approx([variance * 255**2])


def test_blur_lowers_sharpness() -> None:
    blurred = [Image.fromarray(noise(64)).filter(ImageFilter.GaussianBlur(r)) for r in (0, 1, 2)]
    first, second, third = sharpness([picture(image) for image in blurred])
    assert first > second > third


def test_sharpness_of_the_same_scene_at_two_resolutions_agrees() -> None:
    scene = Image.fromarray(noise(128)).resize((1024, 1024), Image.Resampling.BICUBIC)
    large, small = picture(scene), picture(scene.resize((512, 512), Image.Resampling.BOX))
    robust = [float(value) for value in sharpness([large, small])]
    plain = [float(value) for value in sharpness([large, small], side=0)]
    assert robust[0] == pytest.approx(robust[1], rel=0.05)
    assert plain[1] > 5 * plain[0]


def test_sharpness_and_noise_need_an_inner_pixel() -> None:
    assert isinstance(sharpness([picture(noise(8)[:2])])[0], NoValue)
    assert isinstance(grain([picture(noise(8)[:, :2])])[0], NoValue)
    # Three rows do not survive the scaling.
    assert isinstance(sharpness([picture(noise(1024)[:3])])[0], NoValue)


def test_noise_by_hand() -> None:
    # A white dot amid 3 x 3 black pixels meets the 4 of the mask: sqrt(pi / 2) / 6 * 4 * 255.
    pixels = np.zeros((3, 3, 3))
    pixels[1, 1] = 255
    assert list(grain([picture(pixels)])) == pytest.approx([sqrt(np.pi / 2) / 6 * 4 * 255])


@pytest.mark.parametrize("sigma", [3, 10, 20])
def test_noise_finds_the_grain_that_was_put_in(sigma: int) -> None:
    # On a slope with a straight edge; grey, so that the luma has the noise of a channel.
    slope = np.tile(np.linspace(70, 130, 128), (128, 1))
    slope[:, 64:] += 40
    grainy = slope + np.random.default_rng(0).normal(0, sigma, slope.shape)
    (found,) = grain([picture(np.repeat(grainy.round()[:, :, None], 3, axis=2))])
    assert found == pytest.approx(sigma, rel=0.05)


def test_blank_finds_black_images_through_compression_noise() -> None:
    dark = np.random.default_rng(1).integers(0, 4, (64, 64, 3), dtype=np.uint8)
    found = blank([picture(dark, "JPEG"), picture(noise(64)), picture(HALVES)])
    assert all(isinstance(each, Value) for each in found)
    assert found[0].value == 1
    assert found[1].value < 0.05
    assert found[2].value == 0.5


def test_blank_is_not_split_by_the_edge_of_a_cell() -> None:
    # 15 and 16 lie in different cells of the grid; the lower one is fuller.
    pixels = flat((16, 16, 16))
    pixels[:5] = 15
    (found,) = blank([picture(pixels)])
    assert found == Value(1.0, {"colour": "#0f0f0f"})


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
def test_a_uniform_image_is_blank_without_contrast_or_detail(red: int, green: int, blue: int) -> None:
    image = [picture(flat((red, green, blue), 4))]
    assert blank(image)[0].value == 1
    assert contrast(image)[0] == pytest.approx(0, abs=1e-9)
    assert sharpness(image)[0] == pytest.approx(0, abs=1e-9)
    assert brightness(image)[0] == pytest.approx((0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255)
