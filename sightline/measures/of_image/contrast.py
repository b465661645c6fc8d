"""How far light and dark lie apart in an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import Picture, Values, measure


@measure.of_image(range=(0, 0.5), source="Peli 1990", licence="Apache-2.0")
def contrast(images: Sequence[Picture]) -> Values:
    """RMS contrast: standard deviation of the luma, from 0 (uniform) to 0.5 (half black, half white).

    Population standard deviation of Y = (0.2126 R + 0.7152 G + 0.0722 B) / 255 over all pixels.
    """
    return [_rms(image.rgb) for image in images]


def _rms(rgb: np.ndarray) -> float:
    luma = rgb @ (np.array([0.2126, 0.7152, 0.0722]) / 255)
    # Rounding can put half-black-half-white a hair above the largest possible value.
    return min(float(luma.std()), 0.5)
