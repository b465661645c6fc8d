"""An image encoder that needs no weights: where which colours lie, and which way the edges run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import ImageEncoder, Picture, encoder

SIDE = 64


@encoder(encodes=("image",), source="Kasutani and Yamada 2001; Dalal and Triggs 2005", licence="Apache-2.0")
def colour_layout(*, grid: int = 4, directions: int = 8) -> ImageEncoder:
    """Images as a coarse grid of mean colours and of edge directions.

    The image is scaled to 64 x 64 pixels and cut into `grid` x `grid` cells. A cell gives its mean red,
    green and blue (0..1) and, for each of `directions` equal sectors of 180 degrees, the mean strength of
    the luminance gradient that points there. Dimensions: grid^2 (3 + directions).
    """
    if grid not in (1, 2, 4, 8, 16) or directions < 1:
        raise UsageError(
            f"colour_layout: grid={grid}, directions={directions}",
            remedy="The grid is 1, 2, 4, 8 or 16, and there is at least one direction.",
        )
    return _ColourLayout(grid, directions)


class _ColourLayout:
    def __init__(self, grid: int, directions: int) -> None:
        self._grid = grid
        self._directions = directions

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        size = self._grid**2 * (3 + self._directions)
        rows = [self._row(image.rgb) for image in images]
        return np.stack(rows).astype(np.float32) if rows else np.zeros((0, size), dtype=np.float32)

    def _row(self, rgb: np.ndarray) -> np.ndarray:
        from PIL import Image

        small = Image.fromarray(rgb).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        colour = np.asarray(small, dtype=np.float64) / 255
        down, across = np.gradient(colour @ np.array([0.2126, 0.7152, 0.0722]))
        strength = np.hypot(down, across)
        sector = np.floor(np.arctan2(down, across) % np.pi / np.pi * self._directions).astype(np.int64)
        sector = np.minimum(sector, self._directions - 1)
        edges = strength[:, :, None] * (sector[:, :, None] == np.arange(self._directions))
        return np.concatenate([self._cells(colour), self._cells(edges)])

    def _cells(self, layers: np.ndarray) -> np.ndarray:
        cell = SIDE // self._grid
        return layers.reshape(self._grid, cell, self._grid, cell, -1).mean(axis=(1, 3)).ravel()
