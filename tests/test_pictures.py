"""From any image file to pixels, and what is said of those that have none."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
from hypothesis import given
from hypothesis import strategies as st
from images import header
from PIL import Image as Pillow

from sightline import decoding
from sightline.bounded import MEGABYTE, Crew
from sightline.decoding import MOST_PIXELS
from sightline.errors import DataError
from sightline.pictures import DECODERS, Picture, decode, image_size, shrunk

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


EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 20 20
%%EndComments
1 0 0 setrgbcolor 0 0 20 20 rectfill
showpage
%%EOF
"""
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'


def others() -> dict[str, bytes]:
    """Files of formats that Pillow reads and we do not."""
    small = Pillow.fromarray(CORNERS)
    forms = ("PPM", "ICO", "TGA", "PCX", "PDF")
    return {"EPS": EPS, "SVG": SVG} | {form: saved(small, form) for form in forms}


def test_only_the_named_formats_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A program called gs that leaves a mark stands for Ghostscript, which Pillow runs for an EPS file.
    mark = tmp_path / "ran"
    ghostscript = tmp_path / "gs"
    ghostscript.write_text(f"#!/bin/sh\ntouch {mark}\n")
    ghostscript.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    DECODERS.close()
    for form, data in others().items():
        for ask in (image_size, decode, lambda data, where: shrunk(data, 64, where)):
            with pytest.raises(DataError, match=r"not a readable image \(unknown format\)") as caught:
                ask(data, f"{form}.png")
            assert caught.value.where == f"{form}.png"
    assert not mark.exists()


def grey(width: int, height: int, depth: int = 16, colour: int = 0) -> bytes:
    """A PNG of nothing, which packs to a thousandth."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    row = bytes(1 + width * (depth // 8) * (3 if colour == 2 else 1))
    packer = zlib.compressobj(9)
    body = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    claims = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", claims) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


KINDS = ("16 bits", "16 bits colour", "colour", "transparent", "JPEG", "progressive")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_pictures_near_the_limit_are_decoded_within_300_megabytes(kind: str) -> None:
    side = int(MOST_PIXELS**0.5)
    if kind in ("JPEG", "progressive"):
        data = saved(Pillow.new("RGB", (side, side)), "JPEG", progressive=kind == "progressive")
    elif kind == "transparent":
        data = saved(Pillow.new("RGBA", (side, side)), "PNG", compress_level=1)
    else:
        data = grey(side, side, 16 if "16" in kind else 8, 2 if "colour" in kind else 0)
    crew = Crew(DECODERS.memory, most=1)
    try:
        facts, stored = crew.run(decoding.pixels, data, "large.png", seconds=60)
        assert facts == [side, side, 1]
        assert len(stored) == 3 * side * side
        crew.run(decoding.thumbnail, data, "large.png", 192, seconds=60)
        assert crew.run(tasks.peak, seconds=5)[0] < 300 * MEGABYTE
    finally:
        crew.close()


def test_a_picture_of_many_strips_is_the_same_as_one_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = np.random.default_rng(0).integers(0, 255, (50, 40, 4), dtype=np.uint8)
    for picture in (Pillow.fromarray(layers), Pillow.fromarray(layers[:, :, :3]).quantize(16)):
        _, whole = decoding.pixels(saved(picture), "")
        expected = b"".join(whole)
        with monkeypatch.context() as patch:
            patch.setattr(decoding, "STRIP", 7 * 40)
            strips = list(decoding.pixels(saved(picture), "")[1])
        assert len(strips) == 8
        assert b"".join(strips) == expected


def test_a_thumbnail_of_a_large_picture_looks_like_it() -> None:
    left, right = np.array([255, 0, 0], np.uint8), np.array([0, 0, 255], np.uint8)
    halves = np.concatenate([np.tile(left, (900, 800, 1)), np.tile(right, (900, 800, 1))], axis=1)
    for form in ("PNG", "JPEG"):
        small = decode(shrunk(saved(Pillow.fromarray(halves), form), 64)).astype(int)
        assert small.shape == (36, 64, 3)
        assert np.abs(small[:, :28] - left).max() <= 12
        assert np.abs(small[:, -28:] - right).max() <= 12


def test_a_pipe_is_no_picture(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(DataError, match="it is a pipe, not a file"):
        _ = Picture(path=tmp_path / "a.png").rgb


def test_a_file_larger_than_any_picture_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(DataError, match="more than the 160,000,000 that are read"):
        _ = Picture(path=tmp_path / "a.png").rgb
