"""How light, contrasted and colourful an image is, and how much of it is one colour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import Picture, Value, Values, measure
from sightline.measures.of_image._luma import luma


@measure.of_image(range=(0, 1), source="ITU-R BT.709", licence="Apache-2.0")
def brightness(images: Sequence[Picture]) -> Values:
    """Mean luma of the image, from 0 (black) to 1 (white).

    Y = 0.2126 R + 0.7152 G + 0.0722 B on the stored (gamma-coded) values, which is how light the image
    looks rather than how much light a screen emits.
    """
    # Rounding can put white a hair above 1.
    return [min(float(luma(image.rgb, 1.0).mean()), 1.0) for image in images]


@measure.of_image(range=(0, 0.5), source="Peli 1990", licence="Apache-2.0")
def contrast(images: Sequence[Picture]) -> Values:
    """RMS contrast: standard deviation of the luma, from 0 (uniform) to 0.5 (half black, half white).

    Population standard deviation of Y = (0.2126 R + 0.7152 G + 0.0722 B) / 255 over all pixels.
    """
    # Rounding can put half-black-half-white a hair above the largest possible value.
    return [min(float(luma(image.rgb, 1.0).std()), 0.5) for image in images]


@measure.of_image(range=(0, None), source="Hasler and Suesstrunk 2003", licence="Apache-2.0")
def colourfulness(images: Sequence[Picture]) -> Values:
    """Spread and strength of opponent colours: 0 is grey, about 15 slightly, above 100 extremely colourful.

    With rg = R - G and yb = (R + G) / 2 - B on 0..255:
    M = sqrt(var rg + var yb) + 0.3 sqrt(mean(rg)^2 + mean(yb)^2), their metric M^(3).
    """
    return [_colourfulness(image.rgb) for image in images]


def _colourfulness(rgb: np.ndarray) -> float:
    red, green, blue = (rgb[:, :, channel].astype(np.float64) for channel in range(3))
    rg, yb = red - green, (red + green) / 2 - blue
    return float(np.sqrt(rg.var() + yb.var()) + 0.3 * np.hypot(rg.mean(), yb.mean()))


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
