"""Difference of images in their pixels, in the colours they use, and in their coarsest shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance

FINER = 4
"""Pixels per frequency that a hash keeps."""


def _pairs(rows: Sequence[np.ndarray], metric: str) -> np.ndarray:
    from scipy.spatial.distance import pdist, squareform

    if len(rows) < 2:
        return np.zeros((len(rows), len(rows)))
    return np.asarray(squareform(pdist(np.stack(rows), metric)))


@distance(range=(0, 1), source="common practice", licence="Apache-2.0")
def pixel_l2(images: Sequence[Picture], *, side: int = 64) -> np.ndarray:
    """Root mean square difference of the pixels, from 0 (equal) to 1 (black against white).

    Every image is first scaled to `side` x `side` pixels, so that images of any size and shape can be
    compared; what a shape does to the content is part of the difference. d = sqrt(mean((a - b)^2)) / 255.
    """
    from PIL import Image

    small = [Image.fromarray(image.rgb).resize((side, side), Image.Resampling.BILINEAR) for image in images]
    rows = [np.asarray(each, dtype=np.float64).ravel() for each in small]
    # Rounding can put black against white a hair above 1.
    return np.minimum(_pairs(rows, "euclidean") / (255 * np.sqrt(3 * side * side)), 1.0)


@distance(range=(0, 1), source="Swain and Ballard 1991", licence="Apache-2.0")
def colour_histogram(images: Sequence[Picture], *, bins: int = 8) -> np.ndarray:
    """Proportion of pixels whose colour has no counterpart in the other image, from 0 to 1.

    One minus the intersection of the joint RGB histograms p and q with `bins` steps per channel:
    d = 1 - sum min(p, q) = sum |p - q| / 2. Proportions, not counts: images of any size can be compared.
    """
    if not 1 <= bins <= 32:
        raise UsageError(f"colour_histogram: bins={bins}", remedy="Between 1 and 32, for example bins=8.")
    histograms = [_histogram(image.rgb, bins) for image in images]
    # Rounding can put two images without a common colour a hair above 1.
    return np.minimum(_pairs(histograms, "cityblock") / 2, 1.0)


def _histogram(rgb: np.ndarray, bins: int) -> np.ndarray:
    # 32 steps per channel still fit into 16 bits: 32^3 = 32,768 cells.
    red, green, blue = np.moveaxis(rgb.astype(np.uint16) * bins >> 8, 2, 0)
    cell = ((red * bins + green) * bins + blue).ravel()
    return np.bincount(cell, minlength=bins**3) / cell.size


@distance(range=(0, 1), source="Zauner 2010 (pHash)", licence="Apache-2.0", aliases=("phash",))
def perceptual_hash(images: Sequence[Picture], *, bits: int = 8) -> np.ndarray:
    """Proportion of bits in which the perceptual hashes of two images differ: 0 for copies, .5 by chance.

    Hash: luma (ITU-R BT.601) scaled to 4 bits x 4 bits pixels, its two-dimensional cosine transform, of which
    the lowest `bits` x `bits` frequencies are compared with their median. Made for finding copies: it sees no
    colour, and images without any shape, such as a black and a grey one, look the same to it.
    """
    if not 2 <= bits <= 64:
        raise UsageError(f"perceptual_hash: bits={bits}", remedy="Between 2 and 64, for example bits=8.")
    return _pairs([_hash(image.rgb, bits) for image in images], "hamming")


def _hash(rgb: np.ndarray, bits: int) -> np.ndarray:
    from PIL import Image
    from scipy.fft import dctn

    side = bits * FINER
    small = Image.fromarray(rgb).convert("L").resize((side, side), Image.Resampling.LANCZOS)
    low = dctn(np.asarray(small, dtype=np.float64))[:bits, :bits]
    # Rounded, so that a frequency that is absent is so on every machine.
    coefficients = np.round(low.ravel(), 6)
    return np.asarray(coefficients > np.median(coefficients))
