"""Difference of images pixel by pixel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import Picture, distance


@distance(range=(0, 1), source="common practice", licence="Apache-2.0")
def pixel_l2(images: Sequence[Picture], *, side: int = 64) -> np.ndarray:
    """Root mean square difference of the pixels, from 0 (equal) to 1 (black against white).

    Every image is first scaled to `side` x `side` pixels, so that images of any size and shape can be
    compared; what a shape does to the content is part of the difference. d = sqrt(mean((a - b)^2)) / 255.
    """
    from PIL import Image
    from scipy.spatial.distance import pdist, squareform

    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    small = [Image.fromarray(image.rgb).resize((side, side), Image.Resampling.BILINEAR) for image in images]
    rows = np.stack([np.asarray(each, dtype=np.float64).ravel() for each in small])
    # Rounding can put black against white a hair above 1.
    return np.minimum(squareform(pdist(rows)) / (255 * np.sqrt(rows.shape[1])), 1.0)
