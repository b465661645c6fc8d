"""Difference of images in the colours they use, wherever in the image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance


@distance(range=(0, 1), source="Swain and Ballard 1991", licence="Apache-2.0")
def colour_histogram(images: Sequence[Picture], *, bins: int = 8) -> np.ndarray:
    """Proportion of pixels whose colour has no counterpart in the other image, from 0 to 1.

    One minus the intersection of the joint RGB histograms p and q with `bins` steps per channel:
    d = 1 - sum min(p, q) = sum |p - q| / 2. Proportions, not counts: images of any size can be compared.
    """
    from scipy.spatial.distance import pdist, squareform

    if not 1 <= bins <= 32:
        raise UsageError(f"colour_histogram: bins={bins}", remedy="Between 1 and 32, for example bins=8.")
    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    histograms = np.stack([_histogram(image.rgb, bins) for image in images])
    # Rounding can put two images without a common colour a hair above 1.
    return np.minimum(squareform(pdist(histograms, "cityblock")) / 2, 1.0)


def _histogram(rgb: np.ndarray, bins: int) -> np.ndarray:
    # 32 steps per channel still fit into 16 bits: 32^3 = 32,768 cells.
    red, green, blue = np.moveaxis(rgb.astype(np.uint16) * bins >> 8, 2, 0)
    cell = ((red * bins + green) * bins + blue).ravel()
    return np.bincount(cell, minlength=bins**3) / cell.size
