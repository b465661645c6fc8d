"""Difference of images in their structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance

WINDOW = 11
SIGMA = 1.5
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2


@distance(range=(0, 1), source="Wang et al. 2004", licence="Apache-2.0")
def ssim(images: Sequence[Picture], *, side: int = 128) -> np.ndarray:
    """Structural dissimilarity (1 - SSIM) / 2 of the luminance, from 0 (equal) to 1 (inverted).

    SSIM = (2 ma mb + C1)(2 cov + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2)) in an 11 x 11 Gaussian window
    (sigma 1.5, C1 = (0.01 * 255)^2, C2 = (0.03 * 255)^2), averaged over windows that lie inside the image.
    Every image is first scaled to `side` x `side` pixels.
    """
    if side < WINDOW:
        raise UsageError(f"ssim: side={side} is smaller than its window", remedy=f"At least {WINDOW}.")
    count = len(images)
    distances = np.zeros((count, count))
    if count < 2:
        return distances
    luma = np.stack([_luma(image.rgb, side) for image in images])
    blur = _window(side)
    mean = blur @ luma @ blur.T
    variance = blur @ luma**2 @ blur.T - mean**2
    for one in range(count - 1):
        rest = slice(one + 1, count)
        product = mean[one] * mean[rest]
        covariance = blur @ (luma[one] * luma[rest]) @ blur.T - product
        above = (2 * product + C1) * (2 * covariance + C2)
        below = (mean[one] ** 2 + mean[rest] ** 2 + C1) * (variance[one] + variance[rest] + C2)
        distances[one, rest] = (1 - (above / below).mean(axis=(1, 2))) / 2
    # Equal images may differ from 0 by rounding, and only by that.
    distances = np.clip(distances, 0, 1)
    return distances + distances.T


def _luma(rgb: np.ndarray, side: int) -> np.ndarray:
    from PIL import Image

    small = Image.fromarray(rgb).resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(small, dtype=np.float64) @ np.array([0.2126, 0.7152, 0.0722])


def _window(side: int) -> np.ndarray:
    """The Gaussian window as a band matrix: two products with it blur a whole stack of images at once."""
    offset = np.arange(WINDOW) - WINDOW // 2
    weight = np.exp(-(offset**2) / (2 * SIGMA**2))
    weight /= weight.sum()
    blur = np.zeros((side - WINDOW + 1, side))
    for row in range(len(blur)):
        blur[row, row : row + WINDOW] = weight
    return blur
