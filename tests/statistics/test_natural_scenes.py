"""Natural scene statistics: fits that return the parameters of known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scipy.signal import convolve2d
from scipy.stats import gennorm

from sightline.statistics.natural_scenes import (
    asymmetric_fit,
    block_features,
    grey_levels,
    halved,
    normalised,
)


@pytest.mark.parametrize("shape", [0.8, 1.0, 2.0, 4.0])
def test_the_shape_of_a_generalised_gaussian_is_found(shape: float) -> None:
    sample = gennorm.rvs(shape, scale=2.0, size=200_000, random_state=1)
    found, left, right = (float(each[0]) for each in asymmetric_fit(sample[None]))
    assert found == pytest.approx(shape, rel=0.03)
    assert left == pytest.approx(gennorm.std(shape, scale=2.0), rel=0.02) == pytest.approx(right, rel=0.03)


def test_both_sides_of_an_asymmetric_one_are_found() -> None:
    sample = np.abs(np.random.default_rng(0).normal(size=300_000))
    # A Gaussian whose left side is three times as wide; each side has its part of the values.
    side = np.random.default_rng(1).random(300_000) < 0.75
    found, left, right = (
        float(each[0]) for each in asymmetric_fit(np.where(side, -3 * sample, sample)[None])
    )
    assert (found, left, right) == (
        pytest.approx(2, rel=0.02),
        pytest.approx(3, rel=0.02),
        pytest.approx(1, rel=0.02),
    )


def test_what_has_one_side_alone_has_no_fit() -> None:
    shape, _, _ = asymmetric_fit(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
    assert np.isnan(shape).all()


def test_normalised_is_what_a_whole_window_gives() -> None:
    grey = np.random.default_rng(0).integers(0, 256, (20, 24)).astype(float)
    place = np.arange(7) - 3
    window = np.exp(-(place[:, None] ** 2 + place**2) / (2 * (7 / 6) ** 2))
    window /= window.sum()
    mean = convolve2d(grey, window, "same")
    deviation = np.sqrt(np.abs(convolve2d(grey**2, window, "same") - mean**2))
    np.testing.assert_allclose(normalised(grey, "constant"), (grey - mean) / (deviation + 1), atol=1e-9)


def test_a_flat_area_is_exactly_zero() -> None:
    assert not normalised(np.full((9, 9), 201.0)).any()


def test_halved_is_pillow_in_the_middle() -> None:
    grey = np.random.default_rng(0).random((40, 60)).astype(np.float32) * 255
    theirs = np.asarray(Image.fromarray(grey).resize((30, 20), Image.Resampling.BICUBIC))
    np.testing.assert_allclose(halved(grey.astype(float))[3:-3, 3:-3], theirs[3:-3, 3:-3], atol=1e-3)
    assert halved(np.ones((5, 7))).shape == (3, 4)


def test_grey_levels_are_pillows() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (50, 50, 3), dtype=np.uint8)
    theirs = np.asarray(Image.fromarray(rgb).convert("L")).astype(float)
    assert np.abs(grey_levels(rgb) - theirs).max() <= 1


def test_blocks_are_fitted_one_by_one() -> None:
    field = np.random.default_rng(0).normal(size=(64, 96))
    whole = block_features(field, 32)
    assert whole.shape == (6, 18)
    np.testing.assert_allclose(whole[4], block_features(field[32:, 32:64], 32)[0])
