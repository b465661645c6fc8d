"""What decodes image files, in the processes of `sightline.bounded`: the one place where Pillow opens a file.

Only the formats that are named here are opened: of the others that Pillow knows, some run programs (EPS). A
picture is converted strip by strip, so that it takes little more memory than Pillow needs to load it.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sightline.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
MOST_PIXELS = 36_000_000
LONGEST_SIDE = 32_768
ORIENTATION = 0x0112
TURNED = (5, 6, 7, 8)
"""Values of that EXIF tag that exchange width and height."""
STRIP = 2_000_000
"""Pixels that are converted at a time."""


def header(data: bytes, where: str) -> tuple[Any, tuple[bytes, ...]]:
    """Width and height as `pixels` gives them, from the header alone."""
    with opened(data, where) as image:
        width, height = image.size
        # Pillow turns a TIFF's size by itself, and decodes all of a PNG to look for what its header lacks.
        oriented = image.format != "TIFF" and (image.format != "PNG" or "exif" in image.info)
        if oriented and image.getexif().get(ORIENTATION, 1) in TURNED:
            width, height = height, width
        return [int(width), int(height)], ()


def pixels(data: bytes, where: str) -> tuple[Any, Iterator[bytes]]:
    """Height, width and orientation, and the pixels as they are stored, three bytes each, row by row."""
    image, orientation = _loaded(data, where)
    return [image.height, image.width, orientation], (strip.tobytes() for _, strip in _strips(image))


def thumbnail(data: bytes, where: str, side: int, form: str = "JPEG") -> tuple[Any, tuple[bytes]]:
    """A JPEG, or a WebP, of the picture, no side longer than `side`."""
    from PIL import Image as Pillow

    image, orientation = _loaded(data, where, at_least=2 * side)
    # A picture far larger than its thumbnail is averaged down while it is converted.
    small = _drawn(image, orientation, max(1, min(image.size) // (2 * side)))
    small.thumbnail((side, side), Pillow.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, form, **_SAVED[form])
    return None, (out.getvalue(),)


_SAVED: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 85, "optimize": True},
    # The default method, 4, takes twice as long for a hundredth of the bytes.
    "WEBP": {"quality": 80, "method": 2},
}


def picture(data: bytes, where: str) -> tuple[Image.Image, bytes]:
    """The picture in RGB as it is to be seen, and its colour profile; for tasks of other modules."""
    image, orientation = _loaded(data, where)
    return _drawn(image, orientation), profile_of(image)


def profile_of(image: Image.Image) -> bytes:
    """The colour profile of a picture; a text of a PNG may have taken its place."""
    profile = image.info.get("icc_profile")
    return profile if isinstance(profile, bytes) else b""


def _drawn(image: Image.Image, orientation: int, factor: int = 1) -> Image.Image:
    """The picture in RGB, turned, with squares of `factor` pixels averaged into one."""
    from PIL import Image as Pillow

    drawn = Pillow.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    for top, strip in _strips(image, factor):
        drawn.paste(strip.reduce(factor) if factor > 1 else strip, (0, top // factor))
    if orientation in _TRANSPOSED:
        drawn = drawn.transpose(Pillow.Transpose(_TRANSPOSED[orientation]))
    return drawn


_TRANSPOSED = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""What Pillow calls the turn or mirror that each orientation asks for."""


def _loaded(data: bytes, where: str, at_least: int = 0) -> tuple[Image.Image, int]:
    """The first frame and its orientation; a JPEG may come smaller, with no side below `at_least`."""
    with opened(data, where) as image:
        if at_least:
            image.draft(None, (at_least, at_least))
        image.load()
        orientation = image.getexif().get(ORIENTATION, 1)
        return image, orientation if orientation in range(1, 9) else 1


def _strips(image: Image.Image, multiple: int = 1) -> Iterator[tuple[int, Image.Image]]:
    """The picture in RGB from top to bottom, each strip after its first row, a `multiple` of rows high."""
    rows = max(1, STRIP // image.width // multiple) * multiple
    for top in range(0, image.height, rows):
        bottom = min(top + rows, image.height)
        whole = bottom - top == image.height
        yield top, _in_colour(image if whole else image.crop((0, top, image.width, bottom)))


def _in_colour(strip: Image.Image) -> Image.Image:
    """RGB, transparency over white."""
    from PIL import Image as Pillow

    if strip.mode.startswith("I"):
        import numpy as np

        # Pillow clips 16-bit greys to white instead of scaling them.
        grey = np.clip(np.asarray(strip, dtype=np.float64) / 257.0, 0, 255).round()
        return Pillow.fromarray(grey.astype(np.uint8)).convert("RGB")
    if "A" in strip.getbands() or "transparency" in strip.info:
        layer = strip.convert("RGBA")
        ground = Pillow.new("RGBA", layer.size, "white")
        return Pillow.alpha_composite(ground, layer).convert("RGB")
    return strip.convert("RGB")


@contextmanager
def opened(data: bytes, where: str) -> Iterator[Any]:
    """An image file as Pillow opens it, not decoded yet; a DataError for bombs and what is no image."""
    from PIL import Image as Pillow

    try:
        with warnings.catch_warnings():
            # Our own limit below is stricter than the one Pillow warns about; of damage it raises or warns.
            warnings.simplefilter("ignore")
            with Pillow.open(io.BytesIO(data), formats=FORMATS) as image:
                _refuse_bomb(*image.size, where)
                yield image
    except (DataError, MemoryError):
        raise
    except Pillow.DecompressionBombError as error:
        # Pillow stops before it tells the sides; its message holds the number of pixels.
        claimed = re.search(r"\d+", str(error))
        number = int(claimed[0]) if claimed else MOST_PIXELS
        raise _bomb(f"the image claims {number:,} pixels", where) from None
    except Exception as error:  # Pillow raises many types on broken files; to a user all mean this
        raise DataError(
            f"not a readable image ({_plain(error)})",
            where=where,
            remedy="Repair or remove the file, or import with --keep-broken to record it as broken.",
        ) from None


def _refuse_bomb(width: int, height: int, where: str) -> None:
    if width * height > MOST_PIXELS or max(width, height) > LONGEST_SIDE:
        raise _bomb(f"the image claims {width:,} x {height:,} pixels", where)


def _bomb(claim: str, where: str) -> DataError:
    return DataError(
        f"{claim}: more than can be decoded safely",
        where=where,
        remedy=f"Scale it below {MOST_PIXELS:,} pixels and {LONGEST_SIDE:,} a side, or leave it out.",
    )


def _plain(error: Exception) -> str:
    # Pillow names the in-memory buffer in its message, which tells a reader nothing.
    said = str(error) or type(error).__name__
    return "unknown format" if "cannot identify image file" in said else said
