"""Intervals of predictions that hold as often as they say, whatever the predictor and the errors' shape.

All that is asked is that the examples calibrated on and the new one could have come in any other order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def half_width(errors: ArrayLike, *, coverage: float = 0.9) -> float:
    """The ceil((n + 1) coverage)-th smallest absolute error of n examples that were held out.

    A prediction plus and minus this covers the truth of the next example with at least that probability. It
    is infinite where n is too small for any finite width to: n < coverage / (1 - coverage).
    Source: Lei et al., Distribution-free predictive inference for regression, JASA 113 (2018).
    """
    sizes = np.sort(np.abs(_column(errors, "errors")))
    place = _place_above(len(sizes), coverage)
    return float(sizes[place - 1]) if place <= len(sizes) else float("inf")


def covered_across(errors: ArrayLike, fold: ArrayLike, *, coverage: float = 0.9) -> float:
    """Proportion of the errors of held-out examples within the width that the errors of the other folds set.

    The width that all errors set together covers that proportion by construction; here it may fall short.
    Source: Vovk, Cross-conformal predictors, Annals of Mathematics and Artificial Intelligence 74 (2015).
    """
    sizes, owner = np.abs(_column(errors, "errors")), np.asarray(fold)
    if owner.shape != sizes.shape:
        raise ValueError("a fold for every error is needed")
    if not sizes.size:
        return float("nan")
    inside = np.zeros(len(sizes), dtype=bool)
    for each in np.unique(owner):
        mine = owner == each
        inside[mine] = sizes[mine] <= half_width(sizes[~mine], coverage=coverage)
    return float(inside.mean())


def _place_above(n: int, coverage: float) -> int:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage is {coverage}; it lies between 0 and 1")
    # Without the last digit 10 x 0.9 would be 9.000000000000002 somewhere, and one place too far.
    return int(np.ceil(round((n + 1) * coverage, 9)))


def _column(values: ArrayLike, what: str) -> Array:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ValueError(f"{what} must be a column of finite numbers")
    return column
