"""The hash that finds twins, against scipy's cosine transform and averages taken the long way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy.fft import dctn

from sightline.extension import NoValue, Picture, Value
from sightline.measures.of_image.coarse_structure import coarse_structure
from sightline.testing.inputs import encoded


def picture(pixels: np.ndarray) -> Picture:
    return encoded(Image.fromarray(pixels.astype(np.uint8)))


def coarse(pixels: np.ndarray) -> Value | NoValue:
    (result,) = coarse_structure([picture(pixels)])
    return result


def cells(pixels: np.ndarray) -> np.ndarray:
    """Every pixel 32 times each way, so that 32 x 32 cells of whole pixels can be averaged."""
    height, width = pixels.shape[:2]
    large = pixels.astype(np.float64).repeat(32, axis=0).repeat(32, axis=1)
    return large.reshape(32, height, 32, width, 3).mean(axis=(1, 3))


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_against_scipy(height: int, width: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3))
    grey = cells(pixels) @ [0.299, 0.587, 0.114]
    low = dctn(grey, norm="ortho")[:8, :8].ravel()
    strength = np.sqrt((low[1:] ** 2).sum()) / 32
    result = coarse(pixels)
    if isinstance(result, NoValue):
        assert strength < 0.5
        return
    assert result.value == pytest.approx(strength)
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(result.evidence["hash"]), dtype=np.uint8))
    # Coefficients that rounding may put on either side of the median are left out.
    clear = np.abs(low - np.median(low[1:])) > 1e-5
    clear[0] = False
    assert (bits[clear] == (low > np.median(low[1:]))[clear]).all()
    assert bits[0] == 0


def test_a_step_by_hand() -> None:
    """Left half 0, right half 255: only cosines across differ from 0.

    The k-th of a row of 16 times 0 and 16 times 255 is sqrt(2/32) times the sum of cosines over the right
    half, and the transform down the columns multiplies it by sqrt(32).
    """
    pixels = np.zeros((64, 64, 3))
    pixels[:, 32:] = 255
    result = coarse(pixels)
    assert isinstance(result, Value) and result.evidence is not None
    x = np.arange(16, 32)
    across = [255 * np.sqrt(2) * np.cos(np.pi * k * (2 * x + 1) / 64).sum() for k in range(1, 8)]
    assert result.value == pytest.approx(np.sqrt(np.sum(np.square(across))) / 32)
    # 57 of 63 coefficients are 0, so is the median; of the first row the positive ones are set: k = 3 and 7.
    assert [k for k, value in enumerate(across, start=1) if value > 1e-6] == [3, 7]
    assert result.evidence["hash"] == "11" + "00" * 7
    assert result.evidence["colours"] == ("000000" * 4 + "ffffff" * 4) * 8


@pytest.mark.parametrize("grey", [0, 127, 255])
def test_a_plain_image_has_no_hash(grey: int) -> None:
    assert coarse(np.full((50, 40, 3), grey)) == NoValue("it has no shapes that can be seen from afar")


def test_faint_noise_has_no_hash_either() -> None:
    noise = np.random.default_rng(0).integers(126, 129, (256, 256, 3))
    assert isinstance(coarse(noise), NoValue)
