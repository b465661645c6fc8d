"""From any image file to pixels, and what is said of those that have none."""

from __future__ import annotations

import hashlib
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from images import header
from PIL import Image as Pillow

from sightline.errors import DataError
from sightline.pictures import MOST_PIXELS, Picture, decode, image_size

# Four pixels, so that every turn and mirror looks different.
CORNERS = np.array(
    [[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[255, 255, 255], [0, 0, 0], [128, 128, 128]]], np.uint8
)


def saved(picture: Any, form: str = "PNG", **more: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, form, **more)
    return out.getvalue()


def test_plain_colours_come_through() -> None:
    found = decode(saved(Pillow.fromarray(CORNERS)))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, CORNERS)


def test_grey_and_black_and_white_become_three_channels() -> None:
    grey = np.array([[0, 100, 255]], np.uint8)
    np.testing.assert_array_equal(decode(saved(Pillow.fromarray(grey)))[0, :, 1], grey[0])
    bits = Pillow.fromarray(np.array([[0, 255]], np.uint8)).convert("1")
    assert decode(saved(bits)).tolist() == [[[0, 0, 0], [255, 255, 255]]]


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(form: str) -> None:
    # 65535 / 257 = 255, 32896 / 257 = 128, 257 / 257 = 1, 0
    deep = Pillow.fromarray(np.array([[65535, 32896, 257, 0]], np.uint16))
    assert decode(saved(deep, form))[0, :, 0].tolist() == [255, 128, 1, 0]
    assert decode(saved(deep, form)).shape == (1, 4, 3)


def test_a_palette_gives_its_colours() -> None:
    indexed = Pillow.fromarray(CORNERS).quantize(8)
    assert indexed.mode == "P"
    np.testing.assert_array_equal(decode(saved(indexed)), np.asarray(indexed.convert("RGB")))


def test_what_is_transparent_lies_over_white() -> None:
    layers = np.array([[[255, 0, 0, 255], [255, 0, 0, 0], [0, 0, 0, 51]]], np.uint8)
    # 51/255 = 0.2 of black over white: 0.8 * 255 = 204
    assert decode(saved(Pillow.fromarray(layers))).tolist() == [
        [[255, 0, 0], [255, 255, 255], [204, 204, 204]]
    ]
    grey = Pillow.fromarray(np.array([[[0, 255], [0, 0]]], np.uint8), "LA")
    assert decode(saved(grey)).tolist() == [[[0, 0, 0], [255, 255, 255]]]


def test_a_transparent_palette_entry_lies_over_white() -> None:
    indexed = Pillow.new("P", (2, 1))
    indexed.putpalette([255, 0, 0, 0, 0, 255])
    indexed.putdata([0, 1])
    assert decode(saved(indexed, transparency=1)).tolist() == [[[255, 0, 0], [255, 255, 255]]]


def test_a_jpeg_for_print_becomes_screen_colours() -> None:
    print_ = Pillow.new("CMYK", (16, 16), (0, 255, 255, 0))
    found = decode(saved(print_, "JPEG", quality=95)).astype(int)
    # No cyan, all magenta and yellow: red.
    assert np.abs(found - [255, 0, 0]).max() <= 6


def test_the_first_frame_of_an_animation_counts() -> None:
    frames = [Pillow.new("RGB", (4, 3), colour) for colour in ("blue", "red", "lime")]
    moving = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode(moving).tolist() == [[[0, 0, 255]] * 4] * 3
    assert image_size(moving) == (4, 3)


# What each EXIF orientation asks for, in numpy's words (rows run down, columns to the right).
TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a),
}


@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("form", ["PNG", "TIFF", "WEBP", "JPEG"])
def test_orientation_is_applied(orientation: int, form: str) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    # Blocks of 16 pixels, which JPEG keeps apart.
    blocks = CORNERS.repeat(16, 0).repeat(16, 1)
    exact: dict[str, dict[str, Any]] = {
        "WEBP": {"lossless": True},
        "JPEG": {"quality": 100, "subsampling": 0},
    }
    more = exact.get(form, {})
    data = saved(Pillow.fromarray(blocks), form, exif=exif, **more)
    found, expected = decode(data), TURNS[orientation](blocks)
    assert found.shape == expected.shape
    centres = (slice(8, None, 16), slice(8, None, 16))
    assert np.abs(found[centres].astype(int) - expected[centres].astype(int)).max() <= 4
    assert image_size(data) == (expected.shape[1], expected.shape[0])


def test_a_bomb_is_refused_by_its_header() -> None:
    for data in (header(100_000, 100_000), header(40_000, 10)):
        for ask in (image_size, decode):
            with pytest.raises(DataError, match="more than can be decoded safely") as caught:
                ask(data, "bomb.png")
            assert caught.value.where == "bomb.png"
            assert "Scale it below" in caught.value.remedy


def test_large_pictures_within_the_limit_pass_without_a_warning() -> None:
    side = int(MOST_PIXELS**0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert image_size(header(side, side)) == (side, side)
        with pytest.raises(DataError, match=f"claims {side + 1:,} x {side + 1:,} pixels"):
            image_size(header(side + 1, side + 1))


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 100, b"GIF89a", b"\x89PNG\r\n\x1a\n", "Straße".encode("latin-1")]
)
def test_what_is_no_image_is_said_so(data: bytes) -> None:
    for ask in (image_size, decode):
        with pytest.raises(DataError, match="not a readable image") as caught:
            ask(data, "list.csv:3")
        assert caught.value.where == "list.csv:3"
        assert "BytesIO" not in str(caught.value)
        assert "--keep-broken" in caught.value.remedy


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_file_cut_short_is_refused(form: str) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    data = saved(Pillow.fromarray(noise), form)
    with pytest.raises(DataError, match="not a readable image"):
        decode(data[: len(data) // 2])


@given(
    st.binary(max_size=200),
    st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"]),
    st.integers(0, 200),
)
def test_damage_gives_pixels_or_a_data_error(noise: bytes, form: str, at: int) -> None:
    data = saved(Pillow.fromarray(CORNERS), form)
    damaged = data[:at] + noise + data[at + len(noise) :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of some damage besides refusing it
        try:
            found = decode(damaged)
        except DataError:
            return
    assert (found.ndim, found.shape[2], found.dtype) == (3, 3, np.uint8)


def test_a_picture_reads_hashes_and_decodes_once(tmp_path: Path) -> None:
    data = saved(Pillow.fromarray(CORNERS))
    path = tmp_path / "a.png"
    path.write_bytes(data)
    picture = Picture(path=path)
    assert picture.sha256 == hashlib.sha256(data).hexdigest()
    path.unlink()
    assert picture.rgb is picture.rgb
    np.testing.assert_array_equal(picture.rgb, CORNERS)
    assert picture.name == str(path)
    assert Picture(data, sha256="given").sha256 == "given"
    with pytest.raises(ValueError, match="bytes or a path"):
        Picture()


def test_a_picture_without_its_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read the image") as caught:
        _ = Picture(path=tmp_path / "none.png").data
    assert caught.value.where == str(tmp_path / "none.png")
