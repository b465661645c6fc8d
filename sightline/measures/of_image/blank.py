"""How much of an image is one colour: what a generator gives when it refuses or breaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import Picture, Value, Values, measure


@measure.of_image(direction="none", range=(0, 1), source="Sightline", licence="Apache-2.0")
def blank(images: Sequence[Picture], *, tolerance: int = 8) -> Values:
    """Proportion of pixels that look like the image's most common colour; 1 is a blank image.

    The most common colour is the median of the fullest cell of a 16 x 16 x 16 grid over RGB; a pixel looks
    like it if no channel differs by more than `tolerance` of 255, so that the noise a JPEG adds to a black
    image does not hide it. The evidence names that colour.
    """
    return [_blank(image.rgb, tolerance) for image in images]


def _blank(rgb: np.ndarray, tolerance: int) -> Value:
    pixels = np.ascontiguousarray(rgb.reshape(-1, 3).T)
    red, green, blue = (pixels >> 4).astype(np.uint16)
    cell = red << 8 | green << 4 | blue
    fullest = int(np.bincount(cell, minlength=4096).argmax())
    colour = np.median(pixels[:, cell == fullest], axis=1).astype(int).tolist()
    alike = np.ones(cell.size, dtype=bool)
    for channel, middle in zip(pixels, colour, strict=True):
        alike &= (channel >= max(0, middle - tolerance)) & (channel <= min(255, middle + tolerance))
    return Value(float(alike.mean()), {"colour": "#{:02x}{:02x}{:02x}".format(*colour)})
