"""Images for tests, made from pixels or colours, and one that only claims to be large."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image

from sightline.pictures import Picture


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of these pixels."""
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def picture(pixels: np.ndarray) -> Picture:
    """These pixels as extensions see them."""
    return Picture(png(pixels))


def header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds almost nothing."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    claims = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0" * 100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", claims) + body + chunk(b"IEND", b"")
