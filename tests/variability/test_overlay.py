"""Two images laid over each other: which colour is whose, and what is said of odd pairs."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from sightline.rendering.blocks import Overlay
from sightline.variability.overlay import SIDE, Side, green_magenta, overlay, small_size


def flat(colour: tuple[int, int, int], height: int = 6, width: int = 6) -> np.ndarray:
    return np.full((height, width, 3), colour, dtype=np.uint8)


def shown(found: Overlay, which: str) -> np.ndarray:
    data = base64.b64decode(getattr(found, which).source.partition("base64,")[2])
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def test_the_first_is_green_the_second_magenta_and_agreement_grey() -> None:
    """Luminance of white is 255, of black 0, of pure green .7152 x 255 = 182.4."""
    white, black, green = flat((255, 255, 255)), flat((0, 0, 0)), flat((0, 255, 0))
    assert green_magenta(white, black)[0, 0].tolist() == [0, 255, 0]
    assert green_magenta(black, white)[0, 0].tolist() == [255, 0, 255]
    assert green_magenta(white, white)[0, 0].tolist() == [255, 255, 255]
    # Its green is the first's, its red and blue the second's; two equal images keep their colours.
    assert green_magenta(green, white)[0, 0].tolist() == [255, 255, 255]
    red = flat((200, 10, 20))
    assert np.array_equal(green_magenta(red, red), red)
    assert green_magenta(red, green)[0, 0].tolist() == [0, 10, 0]


def test_images_of_other_sizes_do_not_lie_on_each_other_by_themselves() -> None:
    with pytest.raises(ValueError, match="do not lie on each other"):
        green_magenta(flat((0, 0, 0)), flat((0, 0, 0), 5))


def test_the_embedded_picture_has_the_two_colours() -> None:
    left, right = flat((0, 0, 0), 40, 40), flat((0, 0, 0), 40, 40)
    left[:, :20], right[:, 20:] = 255, 255
    found = overlay(Side(left, "a"), Side(right, "b"), prompt="p", distance=0.25, measured="ssim")
    both = shown(found, "both")
    assert both[20, 5] == pytest.approx([0, 255, 0], abs=12)
    assert both[20, 35] == pytest.approx([255, 0, 255], abs=12)
    assert found.value == "0.25" and "ssim" in found.what
    assert found.both.alt == "a in green and b in magenta, one on the other"
    assert found.first.alt == "a: p" and found.note == ""


def test_what_is_embedded_is_small_and_keeps_its_shape() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1500, 3000, 3)).astype(np.uint8)
    found = overlay(Side(noise, "a"), Side(noise[::-1], "b"), prompt="p", distance=0.5, measured="d")
    assert shown(found, "both").shape == (SIDE // 2, SIDE, 3)
    assert sum(len(getattr(found, name).source) for name in ("first", "second", "both")) < 250_000
    assert small_size((10, 20)) == (20, 10)
    assert small_size((1, 10_000)) == (SIDE, 1)


def test_identical_images_and_other_shapes_are_said() -> None:
    same = overlay(
        Side(flat((9, 9, 9)), "a"), Side(flat((9, 9, 9)), "b"), prompt="p", distance=0, measured="d"
    )
    assert "same, pixel by pixel" in same.note and same.value == "0"
    other = overlay(
        Side(flat((9, 9, 9), 20, 40), "a"), Side(flat((9, 9, 9), 40, 40), "b"), prompt="p", distance=0,
        measured="d", note="Looked far.",
    )  # fmt: skip
    assert other.note.startswith("Looked far. ") and "stretched" in other.note
    assert shown(other, "second").shape == shown(other, "first").shape == (20, 40, 3)
