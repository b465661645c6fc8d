"""Difference of images in their structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance
from sightline.measures.distances._structure import WINDOW, grey, structure


@distance(range=(0, 1), source="Wang et al. 2004", licence="Apache-2.0")
def ssim(images: Sequence[Picture], *, side: int = 128) -> np.ndarray:
    """Structural dissimilarity (1 - SSIM) / 2 of the luminance, from 0 (equal) to 1 (inverted).

    SSIM = (2 ma mb + C1)(2 cov + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2)) in an 11 x 11 Gaussian window
    (sigma 1.5, C1 = (0.01 * 255)^2, C2 = (0.03 * 255)^2), averaged over windows that lie inside the image.
    Every image is first scaled to `side` x `side` pixels.
    """
    if side < WINDOW:
        raise UsageError(f"ssim: side={side} is smaller than its window", remedy=f"At least {WINDOW}.")
    whole, _ = structure(grey(images, side))
    # Equal images may differ from 0 by rounding, and only by that.
    return np.clip((1 - whole) / 2, 0, 1)
