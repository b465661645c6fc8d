"""What measures of a system share: features of both sets, enough of them, and the interval as evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sightline.extension import ImageEncoder, NoValue, Picture, Value
from sightline.statistics.feature_sets import LEAST, Array, Interval

FEW = 2_000
"""Below so many images in either set the value is said to be uncertain."""


def compared(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    encoder: ImageEncoder,
    measure: Callable[[Array, Array], Interval],
    least: int = LEAST,
) -> Value | NoValue:
    """A measure of two sets of features, or why there is none."""
    own, other = _features(images, encoder), _features(reference, encoder)
    for what, rows in (("the system", own), ("the reference", other)):
        if len(rows) < least:
            return NoValue(f"{what} has {len(rows)} readable images; {least} are needed")
    return estimated(measure(own, other), len(own), len(other), own.shape[1])


def estimated(found: Interval, n: int, others: int | None, dimensions: int) -> Value:
    """The value with its interval, or why there is none, counts and, where images are few, a warning."""
    fewest = n if others is None else min(n, others)
    evidence: dict[str, Any] = {"n": n}
    if found.low is not None:
        evidence |= {"low": found.low, "high": found.high}
    if others is not None:
        evidence["reference_n"] = others
    said = ""
    if fewest < FEW:
        said = f"only {fewest:,} images: compare no published values, and only systems with as many images"
        if fewest <= dimensions and others is not None:
            said += f"; the {dimensions:,} features outnumber them, so that kid is safer than fid"
    said = "; ".join(each for each in (found.reason, said) if each)
    return Value(found.value, {**evidence, "warning": said} if said else evidence)


def _features(images: Sequence[Picture], encoder: ImageEncoder) -> Array:
    rows = np.asarray(encoder.image(images), dtype=np.float64)
    return rows[np.isfinite(rows).all(axis=1)]
