"""An image as extensions see it, and the one careful way from a file to pixels."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.errors import DataError

if TYPE_CHECKING:
    import numpy as np

MOST_PIXELS = 100_000_000
LONGEST_SIDE = 32_768
ORIENTATION = 0x0112
TURNED = (5, 6, 7, 8)
"""Values of that EXIF tag that exchange width and height."""


class DamagedImage(DataError):
    """An image file of a study does not hold the bytes it is named after."""


class Picture:
    """An image file with its content hash, and its pixels decoded once."""

    __slots__ = ("_data", "_path", "_rgb", "_sha256", "name")

    def __init__(
        self, data: bytes | None = None, *, path: str | Path | None = None, sha256: str = "", name: str = ""
    ) -> None:
        if data is None and path is None:
            raise ValueError("a Picture needs bytes or a path")
        self._data = data
        self._path = path
        self._sha256 = sha256
        self._rgb: np.ndarray | None = None
        self.name = name or (str(path) if path is not None else "")

    @property
    def data(self) -> bytes:
        """The file as it is."""
        if self._data is None:
            assert self._path is not None
            try:
                self._data = Path(self._path).read_bytes()
            except OSError as error:
                raise DataError(f"cannot read the image ({error.strerror})", where=self.name) from None
            if self._sha256:
                refuse_damaged(self._data, self._sha256, self.name)
        return self._data

    @property
    def sha256(self) -> str:
        """The content hash that caches are keyed on."""
        if not self._sha256:
            self._sha256 = hashlib.sha256(self.data).hexdigest()
        return self._sha256

    @property
    def rgb(self) -> np.ndarray:
        """Height x width x 3 bytes: first frame, orientation applied, transparency over white."""
        if self._rgb is None:
            self._rgb = decode(self.data, self.name)
        return self._rgb


def refuse_damaged(data: bytes, sha256: str, where: str) -> None:
    """Raise unless these bytes have the hash they are known by."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DamagedImage(
            f"the image file {sha256[:12]}... is damaged",
            where=where,
            remedy="Run sightline doctor STUDY --repair, then import the image again.",
        )


def image_size(data: bytes, where: str = "") -> tuple[int, int]:
    """Width and height as `decode` gives them, from the header alone; refuses bombs and what is no image."""
    with _opened(data, where) as opened:
        width, height = opened.size
        # Pillow turns a TIFF's size by itself, and decodes all of a PNG to look for what its header lacks.
        oriented = opened.format != "TIFF" and (opened.format != "PNG" or "exif" in opened.info)
        if oriented and opened.getexif().get(ORIENTATION, 1) in TURNED:
            width, height = height, width
        return int(width), int(height)


def decode(data: bytes, where: str = "") -> np.ndarray:
    """Pixels of an image file as height x width x 3 bytes, or a DataError that says why not."""
    import numpy as np
    from PIL import Image as Pillow
    from PIL import ImageOps

    with _opened(data, where) as opened:
        turned = ImageOps.exif_transpose(opened)
        if turned.mode.startswith("I"):
            # Pillow clips 16-bit greys to white instead of scaling them.
            grey = np.clip(np.asarray(turned, dtype=np.float64) / 257.0, 0, 255).round()
            return np.repeat(grey.astype(np.uint8)[:, :, None], 3, axis=2)
        if "A" in turned.getbands() or "transparency" in turned.info:
            layer = turned.convert("RGBA")
            ground = Pillow.new("RGBA", layer.size, "white")
            return np.asarray(Pillow.alpha_composite(ground, layer).convert("RGB"))
        return np.asarray(turned.convert("RGB"))


@contextmanager
def _opened(data: bytes, where: str) -> Iterator[Any]:
    from PIL import Image as Pillow

    try:
        with warnings.catch_warnings():
            # Our own limit below is stricter than the one Pillow warns about.
            warnings.simplefilter("ignore", Pillow.DecompressionBombWarning)
            with Pillow.open(io.BytesIO(data)) as opened:
                _refuse_bomb(*opened.size, where)
                yield opened
    except DataError:
        raise
    except Pillow.DecompressionBombError as error:
        # Pillow stops before it tells the sides; its message holds the number of pixels.
        pixels = re.search(r"\d+", str(error))
        raise _bomb(f"the image claims {int(pixels[0]) if pixels else MOST_PIXELS:,} pixels", where) from None
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
