"""Difference of images in their coarsest shapes, as a hash of a few bits keeps them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance

FINER = 4
"""Pixels per frequency that is kept."""


@distance(range=(0, 1), source="Zauner 2010 (pHash)", licence="Apache-2.0", aliases=("phash",))
def perceptual_hash(images: Sequence[Picture], *, bits: int = 8) -> np.ndarray:
    """Proportion of bits in which the perceptual hashes of two images differ: 0 for copies, .5 by chance.

    Hash: luma (ITU-R BT.601) scaled to 4 bits x 4 bits pixels, its two-dimensional cosine transform, of which
    the lowest `bits` x `bits` frequencies are compared with their median. Made for finding copies: it sees no
    colour, and images without any shape, such as a black and a grey one, look the same to it.
    """
    from scipy.spatial.distance import pdist, squareform

    if not 2 <= bits <= 64:
        raise UsageError(f"perceptual_hash: bits={bits}", remedy="Between 2 and 64, for example bits=8.")
    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    return np.asarray(squareform(pdist(np.stack([_hash(image.rgb, bits) for image in images]), "hamming")))


def _hash(rgb: np.ndarray, bits: int) -> np.ndarray:
    from PIL import Image
    from scipy.fft import dctn

    side = bits * FINER
    small = Image.fromarray(rgb).convert("L").resize((side, side), Image.Resampling.LANCZOS)
    low = dctn(np.asarray(small, dtype=np.float64))[:bits, :bits]
    # Rounded, so that a frequency that is absent is so on every machine.
    coefficients = np.round(low.ravel(), 6)
    return np.asarray(coefficients > np.median(coefficients))
