"""W1KP (Tang et al. 2024): the published reference CDF, worked set statistics, and its fairness check."""

from __future__ import annotations

import zipfile

import numpy as np
from numpy.typing import NDArray

from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import NoValue
from sightline.reproductions.card import Obtained, Paper, Part, Printed
from sightline.statistics.choices import spread
from sightline.statistics.reference import step_cdf
from sightline.statistics.sets import k_expected_minimum, k_expected_minimum_exact, pairwise_mean

REFERENCE = "cdf_xy.npz"
PADDING = 2
SQUARED, DISTANCE = 0.5, 0.7
ON_A_LINE = (0.0, 1.0, 2.0, 10.0)
ALPHA = 0.01
SYSTEMS = ("SDXL", "Imagen", "DALL-E 3")
# Table 1, 2AFC scores by system; the mean spread is over the encoders, without the oracle.
TABLE_1 = {
    "oracle": (80.0, 80.7, 79.3),
    "l2": (54.8, 61.0, 58.5),
    "ssim": (55.2, 59.1, 57.6),
    "lpips": (64.7, 67.6, 64.8),
    "st_lpips": (60.0, 63.4, 59.6),
    "dists": (65.5, 67.5, 63.7),
    "sscd": (63.4, 66.0, 63.3),
    "coper": (63.2, 64.4, 62.4),
    "clip": (67.3, 70.3, 67.3),
    "dreamsim": (69.2, 71.3, 70.3),
    "dreamsim_l2": (69.3, 71.5, 70.7),
}


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
    sample = x[1:-1]
    return {
        "cdf.points": x.size,
        "cdf.samples": sample.size,
        "cdf.first": float(x[0]),
        "cdf.last": float(x[-1]),
        "cdf.interpolated": float(np.interp(SQUARED, x, y)),
        "cdf.step": float(step_cdf(sample, SQUARED)),
        "cdf.of_distance": float(step_cdf(sample, DISTANCE**2)),
    }


def _uniformity(source: Source) -> Obtained:
    from scipy.stats import ks_2samp, kstest

    x, _ = _arrays(source)
    raw = np.sqrt(x[1:-1])
    low, middle, high = np.quantile(raw, (0.1, 0.5, 0.9)).tolist()
    # Half of the sample makes F, and the other half is read on it: a test of two samples.
    made, read = np.array_split(np.random.default_rng(0).permutation(raw), [raw.size // 2])
    return {
        "raw.p10": low,
        "raw.p50": middle,
        # What the paper measured went further: its tail is not in the file, and no verdict can be given.
        "raw.p90": high
        if raw.max() > 1
        else NoValue(f"the released samples all lie below 1 (their 90th percentile is {high:.3f})"),
        "uniform.raw": int(kstest(raw, "uniform").pvalue >= ALPHA),
        "uniform.normalised": int(ks_2samp(made, read).pvalue >= ALPHA),
    }


def _four_points(source: Source) -> Obtained:
    points = np.array(ON_A_LINE)
    distances = np.abs(points[:, None] - points[None, :])
    exact, drawn = k_expected_minimum_exact(distances), k_expected_minimum(distances, permutations=20_000)
    total_variance = float(points.var())
    n = points.size
    return {
        **{f"k_expected.{k}": value for k, value in zip(exact.k.tolist(), exact.value.tolist(), strict=True)},
        **{f"drawn.{k}": value for k, value in zip(drawn.k.tolist(), drawn.value.tolist(), strict=True)},
        "trace.pairwise": pairwise_mean(distances**2),
        "trace.variance": n / (n - 1) * 2 * total_variance,
    }


def _fairness(source: Source) -> Obtained:
    spreads = {name: spread(name, scores, SYSTEMS).spread for name, scores in TABLE_1.items()}
    encoders = [value for name, value in spreads.items() if name != "oracle"]
    return {
        "spread.oracle": spreads["oracle"],
        "spread.dreamsim_l2": spreads["dreamsim_l2"],
        "spread.mean": float(np.mean(encoders)),
    }


OURS = "Proportion of reference distances at or below, as the paper defines it."
THEIRS = "As the released code does; the paper defines a step function."
LINE = "Points 0, 1, 2, 10 on a line; needs no data."
DRAWN = "The same by 20,000 random orders, within four standard errors."
TRACE = "Squared distances of the same points: 251/6, n/(n-1) times twice their variance 15.6875."
PERCENTILE = "Of the raw distances, the roots of the released samples, which all lie below 1."
TABLE = "From the scores that Table 1 prints; needs no data."

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
                Printed("drawn.2", "5.1667", "The mean over all pairs, whatever is drawn."),
                Printed("drawn.3", "1.25", DRAWN, 0.013),
                Printed("drawn.4", "1.0", DRAWN),
                Printed("trace.pairwise", "41.8333", TRACE),
                Printed("trace.variance", "41.8333", TRACE),
            ),
            _four_points,
        ),
        Part(
            (
                Printed("raw.p10", "0.4", PERCENTILE),
                Printed("raw.p50", "0.7", PERCENTILE),
                Printed("raw.p90", "1.1"),
                Printed("uniform.raw", "0", "Raw distances: 0 where the KS test rejects, p < .01."),
                Printed("uniform.normalised", "1", "Half of the samples, read on the scale of the others."),
            ),
            _uniformity,
            (REFERENCE,),
        ),
        Part(
            (
                Printed("spread.oracle", "1.4", TABLE),
                Printed("spread.dreamsim_l2", "2.2", TABLE),
                Printed("spread.mean", "3.3", f"Over the ten encoders. {TABLE}"),
            ),
            _fairness,
        ),
    ),
)
