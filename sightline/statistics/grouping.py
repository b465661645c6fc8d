"""Sums by group, the one primitive behind every group-by in this room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sum_by(group: NDArray[np.int64], what: NDArray[np.bool_] | Array, groups: int = 0) -> Array:
    """The sum of `what` over the rows of each group 0 to groups-1, at least to the highest seen."""
    return np.asarray(np.bincount(group, weights=what, minlength=groups), dtype=np.float64)
