"""What an image looks like from afar, and a hash of it by which twins are found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sightline.extension import NoValue, Picture, Value, Values, measure

SIDE = 32
KEPT = 8
LUMA = (0.299, 0.587, 0.114)


@measure.of_image(
    direction="none", range=(0, 128), source="Zauner 2010; ITU-R BT.601 luma", licence="Apache-2.0"
)
def coarse_structure(images: Sequence[Picture], *, least: float = 0.5) -> Values:
    """How strong the coarsest shapes of an image are, in grey levels of 255; its evidence is a hash of them.

    The image is averaged over a grid of 32 x 32 cells of equal area and its luma taken; of the orthonormal
    two-dimensional cosine transform the 8 x 8 lowest frequencies without the constant one are kept, and the
    value is their root sum of squares over 32, which is the standard deviation they alone would give.
    Evidence `hash`: a bit for each of the 64 in order of rows, set where the coefficient exceeds the median
    of the 63 (the constant's bit is 0), as 16 hexadecimal digits. Evidence `colours`: the mean colours of 8 x
    8 cells in order of rows, two digits per channel, since a hash of greys cannot tell a red ball from a blue
    one.

    Below `least` grey levels noise would decide the bits, hence there is no value.
    """
    return [_coarse(image.rgb, least) for image in images]


def _coarse(rgb: np.ndarray, least: float) -> Value | NoValue:
    cells = _averaged(rgb)
    low = _cosines() @ (cells @ np.array(LUMA)) @ _cosines().T
    low[0, 0] = 0.0
    strength = float(np.sqrt(np.square(low).sum()) / SIDE)
    if strength < least:
        return NoValue("it has no shapes that can be seen from afar")
    # Rounded, so that a frequency that is absent is so on every machine.
    coefficients = np.round(low.ravel(), 6)
    bits = coefficients > np.median(coefficients[1:])
    bits[0] = False
    step = SIDE // KEPT
    colours = cells.reshape(KEPT, step, KEPT, step, 3).mean(axis=(1, 3))
    return Value(
        strength,
        {
            "hash": np.packbits(bits).tobytes().hex(),
            "colours": np.round(colours, 6).round().astype(np.uint8).tobytes().hex(),
        },
    )


def _averaged(rgb: np.ndarray) -> np.ndarray:
    """The mean colours of 32 x 32 cells of equal area; a pixel on a border counts to both by its parts."""
    height, width = rgb.shape[:2]
    rows = _stretches(rgb.reshape(height, width * 3)).reshape(SIDE, width, 3)
    columns = _stretches(rows.transpose(1, 0, 2).reshape(width, SIDE * 3))
    return columns.reshape(SIDE, SIDE, 3).transpose(1, 0, 2)


def _stretches(lines: np.ndarray) -> np.ndarray:
    """The means of 32 equal stretches of lines; whole lines of bytes are summed as such, which is exact."""
    length = len(lines)
    borders = np.arange(SIDE + 1) * length / SIDE
    exact = np.uint32 if lines.dtype == np.uint8 else np.float64
    sums = np.empty((SIDE, lines.shape[1]))
    for number, (begin, end) in enumerate(itertools.pairwise(borders)):
        first, last = math.ceil(begin), math.floor(end)
        if first > last:
            sums[number] = (end - begin) * lines[last]
            continue
        sums[number] = lines[first:last].sum(axis=0, dtype=exact)
        if first > begin:
            sums[number] += (first - begin) * lines[first - 1]
        if end > last:
            sums[number] += (end - last) * lines[last]
    return sums * (SIDE / length)


def _cosines() -> np.ndarray:
    frequency, place = np.arange(KEPT)[:, None], np.arange(SIDE)
    waves = np.cos(np.pi * frequency * (2 * place + 1) / (2 * SIDE)) * np.sqrt(2 / SIDE)
    waves[0] = np.sqrt(1 / SIDE)
    return waves
