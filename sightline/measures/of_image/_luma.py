"""The luma that measures of an image share."""

from __future__ import annotations

import numpy as np

LARGE = 12_000_000


def luma(rgb: np.ndarray, white: float = 255.0) -> np.ndarray:
    """Rec. 709 luma of every pixel, from 0 to `white`."""
    weights = np.array([0.2126, 0.7152, 0.0722]) / (255 / white)
    if rgb.size <= LARGE:
        return np.asarray(rgb @ weights)
    found = np.empty(rgb.shape[:2])
    # The product makes numbers of eight bytes of all it is given.
    rows = max(1, LARGE // (3 * rgb.shape[1]))
    for top in range(0, len(rgb), rows):
        found[top : top + rows] = rgb[top : top + rows] @ weights
    return found
