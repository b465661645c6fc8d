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


def split_interval(
    predicted: ArrayLike,
    errors: ArrayLike,
    *,
    coverage: float = 0.9,
    scale: ArrayLike | None = None,
    error_scale: ArrayLike | None = None,
    low: float = -np.inf,
    high: float = np.inf,
) -> tuple[Array, Array]:
    """Ends of an interval about each prediction, from the errors on examples that were held out.

    With `scale`, how unsure each prediction is, and `error_scale`, the same of the examples held out, errors
    are compared in that unit: |error| / error_scale, so that unsure predictions get wider intervals. Truth
    cannot lie outside low and high, so neither need the interval: cutting it there loses no coverage.
    Source: Papadopoulos et al., Inductive confidence machines for regression (2002); Lei et al. (2018).
    """
    centre, made = _column(predicted, "predictions"), _column(errors, "errors")
    if (scale is None) != (error_scale is None):
        raise ValueError("the scale of the predictions and the scale of the errors go together")
    unit, error_unit = np.ones(len(centre)), np.ones(len(made))
    if scale is not None and error_scale is not None:
        unit, error_unit = _column(scale, "scales"), _column(error_scale, "scales")
        if unit.shape != centre.shape or error_unit.shape != made.shape:
            raise ValueError("a scale is needed for every prediction and for every error")
        if (unit <= 0).any() or (error_unit <= 0).any():
            raise ValueError("a scale must be above 0")
    half = half_width(made / error_unit, coverage=coverage) * unit
    return np.clip(centre - half, low, high), np.clip(centre + half, low, high)


def cv_plus(
    predicted: ArrayLike,
    errors: ArrayLike,
    fold: ArrayLike,
    *,
    coverage: float = 0.9,
    low: float = -np.inf,
    high: float = np.inf,
) -> tuple[Array, Array]:
    """Ends of the CV+ interval of each new example, from models each fitted without one fold.

    `predicted` has a row a new example and a column a fold: what the model without that fold says of it.
    With a = 1 - coverage, the ends are the floor(a (n + 1))-th smallest of predicted - |error| and the
    ceil((1 - a)(n + 1))-th smallest of predicted + |error|, over all n examples, each with the model that had
    not seen it. It holds with probability 1 - 2a at the least, less about sqrt(2 / n), and in practice 1 - a,
    and no example is spent on calibration alone.
    Source: Barber et al., Predictive inference with the jackknife+, Annals of Statistics 49 (2021).
    """
    said = np.asarray(predicted, dtype=np.float64)
    sizes, owner = np.abs(_column(errors, "errors")), np.asarray(fold, dtype=np.int64)
    if said.ndim != 2 or owner.shape != sizes.shape:
        raise ValueError("a column of predictions a fold, and a fold for every error, are needed")
    if owner.size and not 0 <= owner.min() <= owner.max() < said.shape[1]:
        raise ValueError(f"folds are numbered from 0, and there are predictions for {said.shape[1]}")
    place = _place_above(len(sizes), coverage)
    lower, upper = np.full(len(said), low, dtype=np.float64), np.full(len(said), high, dtype=np.float64)
    if place > len(sizes):
        return lower, upper
    # A row at a time, since all rows at once would be new examples x old ones.
    for row, of_folds in enumerate(said):
        models = of_folds[owner]
        # By symmetry the lower end counts as many from above as the upper one counts from below.
        lower[row] = -np.partition(sizes - models, place - 1)[place - 1]
        upper[row] = np.partition(models + sizes, place - 1)[place - 1]
    return np.clip(lower, low, high), np.clip(upper, low, high)


def covered(truth: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Share of the truths, among those known, that lie within their interval, ends included."""
    known = np.asarray(truth, dtype=np.float64)
    inside = (np.asarray(low) <= known) & (known <= np.asarray(high))
    settled = np.isfinite(known)
    return float(inside[settled].mean()) if settled.any() else float("nan")


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
