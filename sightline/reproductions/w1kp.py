"""W1KP (Tang et al. 2024): points of the published reference CDF, and the worked k-expected maximum."""

from __future__ import annotations

import zipfile

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.reproductions._card import Obtained, Paper, Part, Printed
from sightline.sources import Source
from sightline.statistics.sets import StepCDF, k_expected_minimum_exact

REFERENCE = "cdf_xy.npz"
PADDING = 2
SQUARED, DISTANCE = 0.5, 0.7
ON_A_LINE = (0.0, 1.0, 2.0, 10.0)


def _arrays(source: Source) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The squared distances of the reference and the shares published with them, in order of distance."""
    try:
        with np.load(source.inside(REFERENCE, REFERENCE), allow_pickle=False) as held:
            x, y = (np.asarray(held[name], dtype=np.float64) for name in ("x", "y"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise DataError(
            f"not an archive with arrays x and y ({error})", where=REFERENCE, remedy="Obtain the file again."
        ) from None
    if x.ndim != 1 or x.shape != y.shape or x.size <= PADDING or not np.isfinite([x, y]).all():
        raise DataError(
            "x and y are not columns of finite numbers", where=REFERENCE, remedy="Obtain the file again."
        )
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _reference(source: Source) -> Obtained:
    x, y = _arrays(source)
    # The first and last point are padding, so that interpolation covers 0 to 1; they are no samples.
    step = StepCDF(x[1:-1])
    return {
        "cdf.points": x.size,
        "cdf.samples": step.reference.size,
        "cdf.first": float(x[0]),
        "cdf.last": float(x[-1]),
        "cdf.interpolated": float(np.interp(SQUARED, x, y)),
        "cdf.step": float(step(SQUARED)),
        "cdf.of_distance": float(step(DISTANCE**2)),
    }


def _four_points(source: Source) -> Obtained:
    points = np.array(ON_A_LINE)
    found = k_expected_minimum_exact(np.abs(points[:, None] - points[None, :]))
    return {f"k_expected.{k}": value for k, value in zip(found.k.tolist(), found.value.tolist(), strict=True)}


OURS = "Share of reference distances at or below, as the paper defines it."
THEIRS = "As the released code does; the paper defines a step function."
LINE = "Points 0, 1, 2, 10 on a line; needs no data."

PAPER = Paper(
    "W1KP: perceptual variability of the images of one prompt",
    {REFERENCE: ()},
    (
        Part(
            (
                Printed("cdf.points", "2663", "Two of them padding."),
                Printed("cdf.samples", "2661"),
                Printed("cdf.first", "0", "Padding."),
                Printed("cdf.last", "1", "Padding."),
                Printed("cdf.interpolated", "0.5149", f"At squared distance .5. {THEIRS}"),
                Printed("cdf.step", "0.5152", f"At squared distance .5. {OURS}"),
                Printed("cdf.of_distance", "0.507", f"At distance .7, looked up as its square. {OURS}"),
            ),
            _reference,
            (REFERENCE,),
        ),
        Part(
            (
                Printed("k_expected.2", "5.1667", LINE),
                Printed("k_expected.3", "1.25", LINE),
                Printed("k_expected.4", "1.0", LINE),
            ),
            _four_points,
        ),
    ),
)
