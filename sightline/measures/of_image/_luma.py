"""The luma that measures of an image share."""

from __future__ import annotations

import numpy as np


def luma(rgb: np.ndarray, white: float = 255.0) -> np.ndarray:
    """Rec. 709 luma of every pixel, from 0 to `white`."""
    return np.asarray(rgb @ (np.array([0.2126, 0.7152, 0.0722]) / (255 / white)))
