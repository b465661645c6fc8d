"""An image as an annotator may have it: the same picture, and nothing that tells which system made it.

Files of generators carry prompts, settings and signatures next to the picture (text chunks, EXIF, XMP, C2PA,
comments, bytes after the end), and the name of a colour profile or a density may give a system away as well.
Plain PNG, JPEG and WebP files are taken apart and put together again without them, which decodes nothing;
every other file is decoded as measures see it and written again as PNG.

What stays tells of the encoder alone: the format, how strongly a file is packed, its quantisation tables, and
what may hide inside the coded picture. `redrawn` removes even that, for the price of decoding and encoding;
only a watermark in the pixels themselves is beyond both.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sightline import decoding
from sightline.errors import DataError
from sightline.pictures import DECODERS, SECONDS

if TYPE_CHECKING:
    from PIL import Image

PNG = "image/png"
# Large contents are joined once: every copy of them costs as much as the sums do.
Part = bytes | memoryview


def blind(data: bytes, where: str = "") -> tuple[bytes, str]:
    """The picture without anything that names its maker, and its media type; a DataError if it is broken.

    Pixels stay as `pictures.decode` gives them, except that a colour profile other than sRGB is applied:
    without it the picture would look different to people.
    """
    media, blinded = DECODERS.run(_blind, data, where, seconds=SECONDS, where=where)
    return blinded, media


def redrawn(data: bytes, where: str = "") -> bytes:
    """A PNG of the picture's decoded pixels in sRGB: equal pictures give equal bytes."""
    return DECODERS.run(_redrawn, data, where, seconds=SECONDS, where=where)[1]


def _blind(data: bytes, where: str) -> tuple[str, tuple[bytes]]:
    strip = next((strip for start, strip in STRIPPERS.items() if data.startswith(start)), None)
    try:
        bare = strip(data) if strip else None
    except Odd:
        bare = None
    if bare is None or not _looks_as_stored(data, bare):
        return _redrawn(data, where)
    decoding.header(bare.data, where)
    return bare.media, (bare.data,)


def _redrawn(data: bytes, where: str) -> tuple[str, tuple[bytes]]:
    image, profile = decoding.picture(data, where)
    if profile and not _is_srgb(profile):
        image = _in_srgb(image, profile) or image
        # The profile it was converted to would be written as well.
        image.info.clear()
    out = io.BytesIO()
    # Stronger packing takes half as long again for a tenth of the bytes.
    image.save(out, "PNG", compress_level=3)
    return PNG, (out.getvalue(),)


class Bare(NamedTuple):
    """A file put together again from the parts that draw the picture."""

    data: bytes
    media: str
    turns: bool
    """Whether a part was left out that may say how to turn the picture."""
    coloured: bool
    """Whether a colour profile was left out."""


class Odd(Exception):
    """The file is not of the plain kind that can be taken apart without decoding it, or it is broken."""


# -- PNG ------------------------------------------------------------------------------------------------

PNG_START = b"\x89PNG\r\n\x1a\n"
IMAGE, END = b"IDAT", b"IEND"
FREE_TO_LEAVE = 0x20
"""Bit of a chunk's first letter: a decoder may pass it over."""
COLOURS = {b"gAMA": 4, b"cHRM": 32, b"cICP": 4, b"sRGB": 1}
"""Chunks that say what numbers mean as colours, with their lengths."""
TEXTS = (b"tEXt", b"zTXt", b"iTXt")
TURNING_TEXTS = (b"XML:com.adobe.xmp", b"Raw profile type")
SRGB = {b"gAMA": (45_455,), b"cHRM": (31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000)}
"""Its gamma, and the corners of its gamut, in hundred-thousandths."""
NOUGHT = bytes(4)
SRGB_CODE = bytes([1, 13, 0, 1])


def _png(data: bytes) -> Bare:
    """An opaque PNG of 8 bits a channel with one IDAT chunk, and no chunk that does not draw it.

    Others are odd: transparency shows the page instead of white, palettes and depths name encoders.
    """
    header, picture, ended = b"", list[memoryview](), False
    colours: dict[bytes, bytes] = {}
    turns = profile = False
    for kind, body in _chunks(data):
        ended = ended or (bool(picture) and kind != IMAGE)
        if kind == b"IHDR" and not header:
            header = bytes(body)
        elif kind == IMAGE and not ended:
            picture.append(body)
        elif kind in COLOURS and len(body) == COLOURS[kind] and not picture:
            colours.setdefault(kind, bytes(body))
        elif kind in (b"tRNS", b"acTL") or (not kind[0] & FREE_TO_LEAVE and (kind != b"PLTE" or picture)):
            raise Odd
        profile = profile or kind == b"iCCP"
        turns = turns or kind == b"eXIf" or (kind in TEXTS and bytes(body[:20]).startswith(TURNING_TEXTS))
    # Depth 8, grey or colour, the only methods there are, not interlaced.
    if len(header) != 13 or header[8:] not in (bytes([8, 0, 0, 0, 0]), bytes([8, 2, 0, 0, 0])):
        raise Odd
    kept = [] if profile and b"cICP" not in colours else _kept_colours(colours)
    parts: list[Part] = [PNG_START, *_chunk(b"IHDR", [header])]
    for kind, content in kept:
        parts += _chunk(kind, [content])
    parts += [*_chunk(IMAGE, _packed(picture)), *_chunk(END, [])]
    return Bare(b"".join(parts), PNG, turns, profile)


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The chunks of a PNG up to its end, with the sums of those that draw it checked."""
    at = len(PNG_START)
    whole = memoryview(data)
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = whole[at + 8 : at + 8 + length]
        at += 12 + length
        if at > len(data):
            raise Odd
        if not kind[0] & FREE_TO_LEAVE and _sum(kind, [body]) != int.from_bytes(data[at - 4 : at], "big"):
            raise Odd
        if kind == END:
            return
        yield kind, body
    raise Odd


def _packed(pieces: Sequence[Part]) -> list[Part]:
    """A zlib stream whose first two bytes say nothing about who packed it."""
    first = bytes(pieces[0][:2]) if pieces else b""
    if len(first) < 2 or first[0] & 0x0F != 8 or first[1] & 0x20 or (first[0] << 8 | first[1]) % 31:
        raise Odd
    return [b"\x78\x01", pieces[0][2:], *pieces[1:]]


def _kept_colours(colours: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The colour chunks that a browser would follow to something else than sRGB, which it takes unasked."""
    code = colours.get(b"cICP")
    if code is not None:
        return [] if code == SRGB_CODE else [(b"cICP", code)]
    if b"sRGB" in colours:
        return []
    # Numbers that make no sense are passed over by browsers, and could be letters.
    usable = [
        (kind, colours[kind]) for kind in SRGB if 0 < max(_numbers(colours.get(kind, NOUGHT))) <= 200_000
    ]
    return usable if any(not _is_near(_numbers(body), SRGB[kind]) for kind, body in usable) else []


def _numbers(body: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(body) // 4}I", body)


def _is_near(given: tuple[int, ...], known: tuple[int, ...]) -> bool:
    return all(abs(its - our) <= 0.05 * our for its, our in zip(given, known, strict=True))


def _chunk(kind: bytes, pieces: Sequence[Part]) -> list[Part]:
    length = sum(map(len, pieces))
    return [struct.pack(">I4s", length, kind), *pieces, struct.pack(">I", _sum(kind, pieces))]


def _sum(kind: bytes, pieces: Sequence[Part]) -> int:
    total = zlib.crc32(kind)
    for piece in pieces:
        total = zlib.crc32(piece, total)
    return total


# -- JPEG -----------------------------------------------------------------------------------------------

START_OF_SCAN, END_OF_IMAGE, COMMENT = 0xDA, 0xD9, 0xFE
FRAMES = (0xC0, 0xC1, 0xC2)
"""Baseline, extended and progressive, all Huffman-coded: those that browsers show."""
TABLES = (0xC4, 0xDB, 0xDD)
"""Huffman tables, quantisation tables, restart interval."""
# A marker inside a scan: not a stuffed FF, a restart, or a fill byte.
NEXT_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"


def _jpeg(data: bytes) -> Bare:
    """A JPEG of its tables, frame and scans alone, with the shortest JFIF header.

    What is not plainly grey or YCbCr is odd: it needs a marker to say so, and browsers differ in it.
    """
    parts = [data[:2], JFIF]
    frame, scans = b"", 0
    notes: dict[int, list[bytes]] = {}
    for marker, body, scan in _segments(data):
        if 0xE0 <= marker <= 0xEF or marker == COMMENT:
            if not scans:
                notes.setdefault(marker, []).append(body)
            continue
        if marker in FRAMES and not frame:
            frame = body
        elif marker == START_OF_SCAN and frame:
            scans += 1
        elif marker not in TABLES:
            raise Odd
        parts += [struct.pack(">BBH", 0xFF, marker, len(body) + 2), body, scan]
    if not scans or not _is_plain(frame, notes):
        raise Odd
    return Bare(b"".join([*parts, b"\xff\xd9"]), "image/jpeg", 0xE1 in notes, 0xE2 in notes)


def _segments(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The segments of a JPEG up to its end: marker, content, and the coded picture that follows a scan's."""
    at = 2
    while at + 2 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == END_OF_IMAGE:
            return
        if marker == 0xFF:
            at += 1
            continue
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        body = data[at + 4 : at + 2 + length]
        at += 2 + length
        if length < 2 or at > len(data):
            raise Odd
        scan = b""
        if marker == START_OF_SCAN:
            found = NEXT_MARKER.search(data, at)
            if found is None:
                raise Odd
            scan, at = data[at : found.start()].rstrip(b"\xff"), found.start()
        yield marker, body, scan
    raise Odd


def _is_plain(frame: bytes, notes: Mapping[int, list[bytes]]) -> bool:
    """Whether every decoder takes the numbers as 8-bit grey or YCbCr, by the rules of JFIF and Adobe."""
    if len(frame) < 6 or frame[0] != 8 or len(frame) != 6 + 3 * frame[5] or frame[1:3] == b"\0\0":
        return False
    if frame[5] == 1:
        return True
    if frame[5] != 3:
        return False
    if any(note.startswith(b"JFIF\0") and len(note) >= 14 for note in notes.get(0xE0, ())):
        return True
    adobe = [note[11] for note in notes.get(0xEE, ()) if note.startswith(b"Adobe") and len(note) >= 12]
    if adobe:
        return adobe[-1] != 0
    return frame[6::3] != b"RGB"


# -- WebP -----------------------------------------------------------------------------------------------


def _webp(data: bytes) -> Bare:
    """A WebP of its one opaque picture alone; what is animated or transparent is odd."""
    end = 8 + int.from_bytes(data[4:8], "little")
    if data[8:12] != b"WEBP" or end > len(data):
        raise Odd
    at, left = 12, set[bytes]()
    pictures: list[tuple[bytes, bytes]] = []
    while at + 8 <= end:
        kind, length = struct.unpack_from("<4sI", data, at)
        body = data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2
        if at > end + 1 or kind in (b"ALPH", b"ANIM", b"ANMF"):
            raise Odd
        if kind in (b"VP8 ", b"VP8L"):
            pictures.append((kind, body))
        left.add(kind)
    if len(pictures) != 1:
        raise Odd
    [(kind, body)] = pictures
    # In the lossless kind, bit 28 after the signature says that there is transparency.
    if kind == b"VP8L" and int.from_bytes(body[1:5], "little") >> 28 & 1:
        raise Odd
    inner = b"WEBP" + struct.pack("<4sI", kind, len(body)) + body + b"\0" * (len(body) % 2)
    whole = b"RIFF" + struct.pack("<I", len(inner)) + inner
    return Bare(whole, "image/webp", not left.isdisjoint((b"EXIF", b"XMP ")), b"ICCP" in left)


STRIPPERS: Mapping[bytes, Callable[[bytes], Bare]] = {
    PNG_START: _png,
    b"\xff\xd8\xff": _jpeg,
    b"RIFF": _webp,
}


# -- what metadata says about the look --------------------------------------------------------------------


def _looks_as_stored(data: bytes, bare: Bare) -> bool:
    """Whether nothing that was left out changes how the stored pixels look: a turn, or a colour profile."""
    if not (bare.turns or bare.coloured):
        return True
    try:
        with decoding.opened(data, "") as opened:
            profile = decoding.profile_of(opened)
            # Pillow may decode a whole PNG to find out, so that it is asked only where there is need.
            upright = not bare.turns or opened.getexif().get(decoding.ORIENTATION, 1) not in range(2, 9)
    except DataError:  # the decoder then says what is wrong
        return False
    return upright and (not profile or _is_srgb(profile))


@lru_cache(maxsize=32)
def _is_srgb(profile: bytes) -> bool:
    """Whether a profile shows colours as sRGB does, to four levels of 255, or cannot be followed at all."""
    from PIL import Image as Pillow

    steps = range(0, 256, 51)
    cube = bytes(level for red in steps for green in steps for blue in steps for level in (red, green, blue))
    greys = bytes(level for level in range(256) for _ in range(3))
    for colours in (cube, greys):
        shown = _in_srgb(Pillow.frombytes("RGB", (len(colours) // 3, 1), colours), profile)
        if shown is not None and max(abs(a - b) for a, b in zip(shown.tobytes(), colours, strict=True)) > 4:
            return False
    return True


def _in_srgb(image: Image.Image, profile: bytes) -> Image.Image | None:
    """Colours of a profile as sRGB; None where it is broken or not about colours of this kind."""
    from PIL import ImageChops, ImageCms

    try:
        its = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        space = its.profile.xcolor_space.strip()
        if space == "GRAY":
            red, green, blue = image.split()
            if any(ImageChops.difference(red, other).getbbox() for other in (green, blue)):
                return None
            image = red
        return ImageCms.profileToProfile(image, its, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return None
