"""What an annotator is sent: the same picture, and no word of who made it."""

from __future__ import annotations

import io
import struct
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageCms, PngImagePlugin

from sightline.errors import DataError
from sightline.judging.blinding import blind, redrawn
from sightline.pictures import decode

SECRET = b"Made by Syst7"
WORD = SECRET.decode()
NOISE = np.random.default_rng(7).integers(0, 256, (24, 32, 3), np.uint8)
SMOOTH = np.asarray(Pillow.fromarray(NOISE).resize((48, 40), Pillow.Resampling.BICUBIC))
ORIENTATION = 0x0112


def saved(picture: Any = SMOOTH, form: str = "PNG", **more: Any) -> bytes:
    out = io.BytesIO()
    (Pillow.fromarray(picture) if isinstance(picture, np.ndarray) else picture).save(out, form, **more)
    return out.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Kinds and contents of a PNG's chunks."""
    found, at = [], 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        found.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    return found


def png(parts: list[tuple[bytes, bytes]]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, body) for kind, body in parts)


def with_chunk(kind: bytes, body: bytes, *, last: bool = False, base: bytes | None = None) -> bytes:
    """A PNG with one more chunk: after its header, or after its picture."""
    parts = chunks(base or saved())
    parts.insert(len(parts) - 1 if last else 1, (kind, body))
    return png(parts)


def with_segment(marker: int, body: bytes, base: bytes | None = None) -> bytes:
    """A JPEG with one more segment after its start."""
    data = base or saved(form="JPEG")
    return data[:2] + struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body + data[2:]


def with_riff(kind: bytes, body: bytes) -> bytes:
    """A WebP with one more chunk at its end."""
    data = saved(form="WEBP")[8:] + kind + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)
    return b"RIFF" + struct.pack("<I", len(data)) + data


def exif(orientation: int = 1) -> bytes:
    tags = Pillow.Exif()
    tags[0x0131] = WORD
    tags[ORIENTATION] = orientation
    return tags.tobytes()


def srgb(description: str = "sRGB built-in") -> bytes:
    """An sRGB profile under a name of as many letters."""
    plain = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    named = plain.replace("sRGB built-in".encode("utf-16-be"), description.encode("utf-16-be"))
    assert len(named) == len(plain)
    return named


def exchanged() -> bytes:
    """A profile of sRGB's colours in which the first channel is green and the second red."""
    plain = srgb(WORD)
    return plain.replace(b"rXYZ", b"????", 1).replace(b"gXYZ", b"rXYZ", 1).replace(b"????", b"gXYZ", 1)


def texts(**told: str) -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    for key, value in told.items():
        info.add_text(key, value)
    return info


def progressive_with_comment() -> bytes:
    """A JPEG of several scans with a comment between two of them."""
    data = saved(form="JPEG", progressive=True)
    second = data.index(b"\xff\xda", data.index(b"\xff\xda") + 2)
    return data[:second] + b"\xff\xfe" + struct.pack(">H", len(SECRET) + 2) + SECRET + data[second:]


FRAMES = [Pillow.fromarray(SMOOTH), Pillow.fromarray(SMOOTH[::-1])]
LAYERS = np.concatenate([SMOOTH, np.full((*SMOOTH.shape[:2], 1), 90, np.uint8)], axis=2)
UTF16 = WORD.encode("utf-16-be")

PLANTED: dict[str, Callable[[], bytes]] = {
    "png tEXt": lambda: with_chunk(b"tEXt", b"parameters\0" + SECRET),
    "png tEXt after the picture": lambda: with_chunk(b"tEXt", b"Software\0" + SECRET, last=True),
    "png zTXt": lambda: with_chunk(b"zTXt", b"prompt\0\0" + zlib.compress(SECRET)),
    "png iTXt": lambda: with_chunk(b"iTXt", b"workflow\0\1\0\0\0" + zlib.compress(SECRET)),
    "png XMP": lambda: with_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x>" + SECRET),
    "png eXIf": lambda: saved(exif=exif()),
    "png C2PA": lambda: with_chunk(b"caBX", SECRET * 9),
    "png private": lambda: with_chunk(b"vpAg", SECRET),
    "png gamma of letters": lambda: with_chunk(b"cHRM", (SECRET * 3)[:32]),
    "png name of profile": lambda: with_chunk(b"iCCP", SECRET + b"\0\0" + zlib.compress(srgb())),
    "png text of profile": lambda: saved(icc_profile=srgb(WORD)),
    "png broken profile": lambda: with_chunk(b"iCCP", b"it\0\0" + zlib.compress(SECRET * 20)),
    "png palette as a hint": lambda: with_chunk(b"PLTE", SECRET + b"--"),
    "png after its end": lambda: saved() + SECRET,
    "png of two pictures": lambda: saved() + saved(pnginfo=texts(Software=WORD)),
    "png with transparency": lambda: saved(LAYERS, pnginfo=texts(prompt=WORD)),
    "png with palette": lambda: saved(FRAMES[0].quantize(9), pnginfo=texts(prompt=WORD)),
    "png moving": lambda: saved(
        FRAMES[0], save_all=True, append_images=FRAMES[1:], pnginfo=texts(prompt=WORD)
    ),
    "jpeg EXIF": lambda: saved(form="JPEG", exif=exif()),
    "jpeg XMP": lambda: with_segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0<x>" + SECRET),
    "jpeg C2PA": lambda: with_segment(0xEB, b"JP\0\1\0\0\0\1" + SECRET),
    "jpeg Photoshop": lambda: with_segment(0xED, b"Photoshop 3.0\0" + SECRET),
    "jpeg thumbnail": lambda: with_segment(0xE0, b"JFXX\0\x13" + SECRET),
    "jpeg Adobe": lambda: with_segment(0xEE, b"Adobe\0\x64\0\0\0\0\1" + SECRET),
    "jpeg profile": lambda: saved(form="JPEG", icc_profile=srgb(WORD)),
    "jpeg comment": lambda: saved(form="JPEG", comment=SECRET),
    "jpeg comment between scans": progressive_with_comment,
    "jpeg after its end": lambda: saved(form="JPEG") + SECRET,
    "jpeg density": lambda: with_segment(0xE0, b"JFIF\0\1\2\0\0\1\0\1\0\0" + SECRET),
    "jpeg in CMYK": lambda: saved(FRAMES[0].convert("CMYK"), "JPEG", comment=SECRET),
    "jpeg in RGB": lambda: saved(form="JPEG", keep_rgb=True, comment=SECRET),
    "webp EXIF": lambda: saved(form="WEBP", exif=exif()),
    "webp XMP": lambda: saved(form="WEBP", xmp=b"<x>" + SECRET),
    "webp profile": lambda: saved(form="WEBP", icc_profile=srgb(WORD)),
    "webp lossless": lambda: saved(form="WEBP", lossless=True, exif=exif()),
    "webp private": lambda: with_riff(b"SDXL", SECRET),
    "webp after its end": lambda: saved(form="WEBP") + SECRET,
    "webp with transparency": lambda: saved(LAYERS, "WEBP", exif=exif()),
    "webp lossless with transparency": lambda: saved(LAYERS, "WEBP", lossless=True, exif=exif()),
    "webp moving": lambda: saved(
        FRAMES[0], "WEBP", save_all=True, append_images=FRAMES[1:], exif=exif()
    ),
    "gif comment": lambda: saved(FRAMES[0], "GIF", comment=SECRET),
    "gif after its end": lambda: saved(form="GIF") + SECRET,
    "gif moving": lambda: saved(
        FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:], comment=SECRET
    ),
    "tiff description": lambda: saved(form="TIFF", description=WORD),
    "bmp after its end": lambda: saved(form="BMP") + SECRET,
}  # fmt: skip


def everything(data: bytes) -> bytes:
    """The bytes, and after them whatever unpacks from any place in them."""
    found = [data]
    for at in range(len(data) - 1):
        if data[at] == 0x78 and (data[at] << 8 | data[at + 1]) % 31 == 0:
            try:
                found.append(zlib.decompressobj().decompress(data[at:]))
            except zlib.error:
                continue
    return b"".join(found)


def names_its_maker(data: bytes) -> bool:
    told = everything(data)
    return SECRET in told or UTF16 in told or WORD.encode("utf-16-le") in told


DRAWN_ANEW = ("transparency", "palette", "moving", "CMYK", "RGB")


@pytest.mark.parametrize("kind", PLANTED)
def test_the_maker_is_gone_and_the_pixels_stay(kind: str) -> None:
    planted = PLANTED[kind]()
    assert names_its_maker(planted)
    shown, media = blind(planted, kind)
    assert not names_its_maker(shown)
    np.testing.assert_array_equal(decode(shown), decode(planted))
    with Pillow.open(io.BytesIO(shown)) as opened:
        assert Pillow.MIME[opened.format or ""] == media
        assert getattr(opened, "n_frames", 1) == 1
    form = kind.split()[0]
    if form not in ("png", "jpeg", "webp") or kind.endswith(DRAWN_ANEW):
        assert (shown, media) == (redrawn(saved(decode(planted))), "image/png")
    else:
        # Files of one encoder cannot be told apart: the same bytes with the metadata or without it.
        more = {"progressive": True} if "scans" in kind else {"lossless": True} if "lossless" in kind else {}
        assert (shown, media) == (blind(saved(form=form.upper(), **more))[0], f"image/{form}")


def test_how_a_png_was_cut_into_chunks_is_gone() -> None:
    whole = chunks(saved())
    picture = b"".join(body for kind, body in whole if kind == b"IDAT")
    pieces = [(b"IDAT", picture[at : at + 100]) for at in range(0, len(picture), 100)]
    cut = png([whole[0], *pieces, (b"IEND", b"")])
    assert len(pieces) > 2
    assert blind(cut) == blind(saved())


def test_the_packer_that_a_png_names_is_gone() -> None:
    # The first two bytes of a zlib stream name a window and a level; 0x7801, 0x789c, 0x78da are all valid.
    parts = chunks(saved())
    shown = set()
    for level in (0x01, 0x9C, 0xDA):
        renamed = [(k, bytes([0x78, level]) + b[2:]) if k == b"IDAT" else (k, b) for k, b in parts]
        np.testing.assert_array_equal(decode(png(renamed)), SMOOTH)
        shown.add(blind(png(renamed)))
    assert len(shown) == 1


def test_one_picture_in_lossless_formats_gives_one_file_when_redrawn() -> None:
    opaque = np.concatenate([SMOOTH, np.full((*SMOOTH.shape[:2], 1), 255, np.uint8)], axis=2)
    files = [saved(form=form) for form in ("PNG", "TIFF", "BMP")]
    files += [saved(form="WEBP", lossless=True), saved(opaque), saved(opaque, "WEBP", lossless=True)]
    assert len({redrawn(data) for data in files}) == 1
    np.testing.assert_array_equal(decode(redrawn(files[0])), SMOOTH)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_pictures_stand_upright(form: str, orientation: int) -> None:
    stored = saved(form=form, exif=exif(orientation))
    shown, media = blind(stored)
    np.testing.assert_array_equal(decode(shown), decode(stored))
    assert media == (f"image/{form.lower()}" if orientation == 1 and form != "TIFF" else "image/png")
    with Pillow.open(io.BytesIO(shown)) as opened:
        assert opened.getexif().get(ORIENTATION, 1) == 1


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_the_turn_that_xmp_tells_is_followed(form: str) -> None:
    told = b'<x:xmpmeta xmlns:x="adobe:ns:meta/" tiff:Orientation="6"/>'
    stored = (
        with_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + told)
        if form == "PNG"
        else saved(form="WEBP", lossless=True, xmp=told)
    )
    shown, _ = blind(stored)
    np.testing.assert_array_equal(decode(shown), np.rot90(SMOOTH, -1))


def test_an_interlaced_png_is_drawn_anew() -> None:
    # Of one pixel there is one pass, so that its bytes are those of a file that is not interlaced.
    parts = chunks(saved(SMOOTH[:1, :1].copy()))
    parts[0] = (b"IHDR", parts[0][1][:12] + b"\1")
    shown, _ = blind(png(parts))
    assert chunks(shown)[0][1][12] == 0
    np.testing.assert_array_equal(decode(shown), SMOOTH[:1, :1])


def test_sixteen_bits_become_eight() -> None:
    deep = np.array([[65535, 32896, 257, 0]], np.uint16)
    shown, media = blind(saved(deep))
    assert (decode(shown)[0, :, 0].tolist(), media) == ([255, 128, 1, 0], "image/png")
    assert chunks(shown)[0][1][8] == 8


# -- colours --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_a_profile_that_changes_colours_is_applied(form: str) -> None:
    """The profile names the first channel green and the second red: shown right, they are exchanged."""
    stored = saved(form=form, icc_profile=exchanged())
    shown, media = blind(stored)
    assert media == "image/png"
    assert not names_its_maker(shown)
    expected = decode(stored)[:, :, [1, 0, 2]].astype(int)
    assert np.abs(decode(shown) - expected).max() <= 2
    assert np.abs(decode(stored) - expected).max() > 50


def test_a_grey_profile_is_applied() -> None:
    # A grey profile is an sRGB one whose kind says GRAY and whose curve is linear: level v of 255 shines
    # as v/255 of white, which sRGB writes as 255 (1.055 (v/255)^(1/2.4) - 0.055).
    curve = b"curv" + bytes(8)
    white = b"XYZ " + bytes(4) + struct.pack(">iii", 63190, 65536, 54061)
    table = struct.pack(">I4sII4sII", 2, b"kTRC", 156, len(curve), b"wtpt", 168, len(white))
    body = table + curve + white
    head = bytearray(128)
    head[0:4] = struct.pack(">I", 128 + len(body))
    head[8:12], head[12:16], head[16:20], head[20:24] = b"\x02\x10\0\0", b"mntr", b"GRAY", b"XYZ "
    head[36:40], head[68:80] = b"acsp", struct.pack(">iii", 63190, 65536, 54061)
    linear = bytes(head) + body
    grey = np.array([[0, 32, 64, 128, 200, 255]], np.uint8)
    shown, _ = blind(saved(grey, icc_profile=linear))
    expected = 255 * (1.055 * (grey[0] / 255) ** (1 / 2.4) - 0.055).clip(0)
    assert np.abs(decode(shown)[0, :, 1] - expected).max() <= 1.5
    assert expected[2] > 120


def test_a_profile_of_another_kind_of_colour_is_passed_over() -> None:
    # What is said of greys cannot be followed for colours.
    grey = srgb().replace(b"RGB XYZ ", b"GRAYXYZ ", 1)
    for data in (saved(icc_profile=grey), saved(icc_profile=b"no profile"), saved(icc_profile=srgb()[:200])):
        assert blind(data) == blind(saved())


GAMMA_1 = struct.pack(">I", 100_000)
GAMMA_SRGB = struct.pack(">I", 45_455)
P3 = struct.pack(">8I", 31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000)
HDR = bytes([9, 16, 0, 1])


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ([(b"gAMA", GAMMA_SRGB)], []),
        ([(b"sRGB", b"\0"), (b"gAMA", GAMMA_1)], []),
        ([(b"gAMA", GAMMA_1)], [b"gAMA"]),
        ([(b"gAMA", GAMMA_SRGB), (b"cHRM", P3)], [b"gAMA", b"cHRM"]),
        ([(b"gAMA", GAMMA_1), (b"cHRM", (SECRET * 3)[:32])], [b"gAMA"]),
        ([(b"gAMA", b"Syst")], []),
        ([(b"gAMA", bytes(4))], []),
        ([(b"gAMA", b"\0\0")], []),
        ([(b"cICP", bytes([1, 13, 0, 1])), (b"gAMA", GAMMA_1)], []),
        ([(b"cICP", HDR), (b"gAMA", GAMMA_1)], [b"cICP"]),
        ([(b"eXIf", exif()[6:]), (b"gAMA", GAMMA_1)], [b"gAMA"]),
        ([(b"tEXt", b"prompt\0" + SECRET), (b"tIME", bytes(7))], []),
        ([(b"pHYs", bytes(9)), (b"sBIT", b"\5\6\5"), (b"bKGD", bytes(6))], []),
    ],
)
def test_what_numbers_mean_is_kept_where_it_is_not_srgb(
    told: list[tuple[bytes, bytes]], kept: list[bytes]
) -> None:
    parts = chunks(saved())
    shown, _ = blind(png([parts[0], *told, *parts[1:]]))
    assert [kind for kind, _ in chunks(shown)] == [b"IHDR", *kept, b"IDAT", b"IEND"]
    assert all((kind, body) in told for kind, body in chunks(shown) if kind in kept)


# -- broken and hostile files -----------------------------------------------------------------------------

REAL = {
    "png": saved(pnginfo=texts(parameters=WORD)),
    "png with EXIF": saved(exif=exif(6)),
    "jpeg": saved(form="JPEG", exif=exif()),
    "jpeg progressive": progressive_with_comment(),
    "jpeg in RGB": saved(form="JPEG", keep_rgb=True),
    "webp": saved(form="WEBP", exif=exif()),
    "webp lossless": saved(form="WEBP", lossless=True),
    "gif": saved(form="GIF", comment=SECRET),
}


def damaged() -> bytes:
    data = bytearray(saved())
    data[data.index(b"IDAT") + 40] ^= 0xFF
    return bytes(data)


NO_PICTURES = [b"", b"no picture", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF", b"GIF89a", damaged()]
WHOLE = [saved(form=form) for form in ("PNG", "JPEG", "WEBP", "GIF", "TIFF")]


@pytest.mark.parametrize("data", NO_PICTURES + [whole[: len(whole) // 2] for whole in WHOLE])
def test_what_is_no_whole_picture_is_refused(data: bytes) -> None:
    with pytest.raises(DataError) as raised:
        blind(data, "ann/7")
    assert raised.value.where == "ann/7"


def test_a_bomb_is_refused() -> None:
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    with pytest.raises(DataError, match="decoded safely"):
        blind(png([(b"IHDR", header), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")]))


def _changed(data: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    changed = bytearray(data)
    for how, where, what in changes:
        at = where % (len(changed) + 1)
        if how == "write":
            changed[at : at + len(what)] = what
        elif how == "insert":
            changed[at:at] = what
        else:
            del changed[at : at + max(1, len(what))]
    return bytes(changed)


def _with_right_sums(data: bytes) -> bytes:
    """A PNG with sums that fit its chunks, so that changes get past them."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return data
    fixed, at = bytearray(data), 8
    while at + 12 <= len(data):
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        if end + 4 > len(data):
            break
        fixed[end : end + 4] = struct.pack(">I", zlib.crc32(data[at + 4 : end]))
        at = end + 4
    return bytes(fixed)


PIECES = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(
        [b"\xff\xd9", b"\xff\xe0", b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0", b"\xff\xda", b"\xff\xc0",
         b"\xff\xff", b"\0\0\0\0", b"IDAT", b"IEND", b"tRNS", b"PLTE", b"acTL", b"iCCP", b"VP8L", b"ALPH"]
    ),
)  # fmt: skip
CHANGES = st.lists(
    st.tuples(st.sampled_from(["write", "insert", "delete"]), st.integers(0, 20_000), PIECES), max_size=4
)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@given(kind=st.sampled_from(sorted(REAL)), changes=CHANGES, sums=st.booleans())
@example(kind="png", changes=[], sums=False)
def test_damaged_files_are_refused_or_shown_as_measures_see_them(
    kind: str, changes: list[tuple[str, int, bytes]], sums: bool
) -> None:
    data = _changed(REAL[kind], changes)
    data = _with_right_sums(data) if sums else data
    try:
        shown, _ = blind(data)
    except DataError:
        shown = None
    try:
        seen = decode(data)
    except DataError:
        return
    assert shown is not None
    if kind == "webp lossless" and changes:
        return  # where its code is damaged, decoders read on into what follows the picture
    np.testing.assert_array_equal(decode(shown), seen)


@given(start=st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\xff\0\0\0WEBP", b"GIF89a", b""]),
       rest=st.binary(max_size=300))  # fmt: skip
def test_any_bytes_are_refused_or_shown(start: bytes, rest: bytes) -> None:
    try:
        blind(start + rest)
    except DataError as error:
        assert error.what


def test_a_large_picture_is_blinded_without_decoding_it() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (1024, 1024, 3), np.uint8)
    data = saved(noise, compress_min_rel=1, pnginfo=texts(parameters=WORD))
    assert len(data) > 3_000_000
    took: dict[Any, list[float]] = {blind: [], decode: []}
    for _ in range(10):
        for act, times in took.items():
            start = time.perf_counter()
            act(data)
            times.append(time.perf_counter() - start)
    assert min(took[blind]) < min(took[decode]) / 2
