"""An image as extensions see it, and the one careful way from a file to pixels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline import decoding
from sightline.bounded import MEGABYTE, Crew
from sightline.errors import DataError
from sightline.regular import read_regular

if TYPE_CHECKING:
    import numpy as np

MOST_BYTES = 160 * MEGABYTE
"""As large a file may be: uncompressed, as many pixels as are decoded take less."""
SECONDS = 4.0
"""Of processor time, for one picture."""
DECODERS = Crew(400 * MEGABYTE)
"""Most pictures within the limit of pixels need 300 MB; Pillow's WebP takes more for each pixel."""


class DamagedImage(DataError):
    """An image file of a study does not hold the bytes it is named after."""


class Picture:
    """An image file with its content hash, and its pixels decoded once."""

    __slots__ = ("_data", "_path", "_rgb", "_sha256", "made_up", "name")

    def __init__(
        self, data: bytes | None = None, *, path: str | Path | None = None, sha256: str = "", name: str = ""
    ) -> None:
        if data is None and path is None:
            raise ValueError("a Picture needs bytes or a path")
        self._data = data
        self._path = path
        self._sha256 = sha256
        self._rgb: np.ndarray | None = None
        self.made_up = False
        """Whether it was computed from another, such as a crop: nothing about it is worth keeping."""
        self.name = name or (str(path) if path is not None else "")

    @property
    def data(self) -> bytes:
        """The file as it is."""
        if self._data is None:
            assert self._path is not None
            try:
                self._data = read_regular(self._path, self.name, MOST_BYTES)
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


class GeneratedImage(NamedTuple):
    """The bytes of an image with settings of its own, such as the prompt as a model rewrote it.

    `seeded` is false where the generator was not given the seed: none is then stored with the image.
    """

    data: bytes
    settings: Mapping[str, Any] = {}
    seeded: bool = True


class Crop(Picture):
    """A part of a picture, given by its box as fractions; it shares the pixels of the whole."""

    __slots__ = ("box",)

    def __init__(self, whole: Picture, box: tuple[float, float, float, float]) -> None:
        pixels = cropped(whole.rgb, box)
        key = hashlib.sha256(f"{whole.sha256} {box}".encode()).hexdigest()
        super().__init__(b"", sha256=key, name=f"{whole.name}, {box}")
        self._rgb = pixels
        self.made_up = True
        self.box = box

    @property
    def data(self) -> bytes:
        """The crop as a PNG file."""
        import io

        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(self.rgb).save(file, "PNG")
        return file.getvalue()


def cropped(rgb: np.ndarray, box: tuple[float, float, float, float]) -> np.ndarray:
    """The pixels within a box of fractions [left, top, right, bottom]; at least one in either direction."""
    height, width = rgb.shape[:2]
    left, top = min(int(box[0] * width), width - 1), min(int(box[1] * height), height - 1)
    right, bottom = max(round(box[2] * width), left + 1), max(round(box[3] * height), top + 1)
    return rgb[top:bottom, left:right]


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
    (width, height), _ = DECODERS.run(decoding.header, data, where, seconds=SECONDS, where=where)
    return width, height


def decode(data: bytes, where: str = "") -> np.ndarray:
    """Pixels of an image file as height x width x 3 bytes, or a DataError that says why not."""
    import numpy as np

    facts, stored = DECODERS.run(decoding.pixels, data, where, seconds=SECONDS, where=where)
    height, width, orientation = facts
    return _turned(np.frombuffer(stored, np.uint8).reshape(height, width, 3), orientation)


def shrunk(data: bytes, side: int, where: str = "", form: str = "JPEG") -> bytes:
    """A small JPEG, or WebP, of an image file, no side longer than `side`."""
    return DECODERS.run(decoding.thumbnail, data, where, side, form, seconds=SECONDS, where=where)[1]


def _turned(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Stored pixels as an EXIF orientation asks them to be seen."""
    import numpy as np

    if orientation == 1:
        return pixels
    if orientation in decoding.TURNED:
        pixels = pixels.transpose(1, 0, 2)
    across, down = orientation in (2, 3, 6, 7), orientation in (3, 4, 7, 8)
    turned = np.ascontiguousarray(pixels[:: -1 if down else 1, :: -1 if across else 1])
    turned.flags.writeable = False
    return turned
