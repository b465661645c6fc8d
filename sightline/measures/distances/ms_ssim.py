"""Difference of images in their structure, seen from near and from afar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance
from sightline.measures.distances._structure import WINDOW, grey, halved, structure

WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
LEAST = WINDOW * 2 ** (len(WEIGHTS) - 1)


@distance(range=(0, 1), source="Wang, Simoncelli and Bovik 2003", licence="Apache-2.0")
def ms_ssim(images: Sequence[Picture], *, side: int = 256) -> np.ndarray:
    """Multi-scale structural dissimilarity 1 - MS-SSIM of the luminance, from 0 (equal) to 1 (nothing alike).

    MS-SSIM = l5^w5 times the product of cs_j^w_j over five scales, each half the size of the one before
    (means of 2 x 2 pixels), with weights .0448, .2856, .3001, .2363 and .1333; l cs is SSIM as the distance
    `ssim` has it. Structure that is inverted on the mean of a scale counts as none: a power of a negative
    number would have no value. Every image is first scaled to `side` x `side` pixels.
    """
    if side < LEAST:
        raise UsageError(
            f"ms_ssim: side={side} leaves less than a window at the fifth scale", remedy=f"At least {LEAST}."
        )
    luma = grey(images, side)
    found = np.ones((len(images), len(images)))
    for scale, weight in enumerate(WEIGHTS, start=1):
        whole, part = structure(luma)
        found *= np.maximum(whole if scale == len(WEIGHTS) else part, 0) ** weight
        luma = halved(luma)
    # Equal images may differ from 0 by rounding, and only by that.
    return np.clip(1 - found, 0, 1)
