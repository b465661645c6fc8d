"""How often can a prompt be used again before its images repeat?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate
from sightline.statistics.grouping import Array, Indices
from sightline.statistics.intervals import block_rows
from sightline.statistics.sets import checked_distances

MORE, REPEATING, EXHAUSTED = "deserves more", "repeating", "exhausted"
"""What is to be done with a prompt; see `verdict`."""


@dataclass(frozen=True)
class Curve:
    """The k-expected maximum similarity for k = 2 up, averaged over prompts, with its interval over prompts.

    `low` and `high` are NaN where a single prompt shows no spread.
    """

    k: Indices
    value: Array
    low: Array
    high: Array
    prompts: int


@dataclass(frozen=True)
class Reusability:
    """How many images come before the curve reaches the cut-off; None: more than the `most` looked at.

    `low` and `high` are its 95 % limits over prompts, None again where they lie beyond `most`. Without limits
    (`interval` false) there are too few prompts.
    """

    images: int | None
    low: int | None
    high: int | None
    most: int
    prompts: int
    interval: bool


def mean_curve(curves: ArrayLike) -> Curve:
    """The mean over prompts of their curves, one a row from k = 2, with Student's 95 % interval at every k.

    Each prompt is an independent unit, so that its own sampling of images is part of the spread.
    Source: W1KP (Tang et al. 2024), section 4.1 and figure 5.
    """
    from scipy.special import stdtrit

    rows = _rows(curves)
    prompts = rows.shape[0]
    value = rows.mean(axis=0)
    k = np.arange(2, rows.shape[1] + 2)
    if prompts < 2:
        none = np.full(value.size, np.nan)
        return Curve(k, value, none, none, prompts)
    half = stdtrit(prompts - 1, 0.975) * rows.std(axis=0, ddof=1) / np.sqrt(prompts)
    # Similarity ends at 1, and so does what is likely of its mean.
    return Curve(k, value, value - half, np.minimum(value + half, np.maximum(value, 1.0)), prompts)


def before_crossing(curve: ArrayLike, cut_off: float) -> int | None:
    """The number of images before a curve, from k = 2, reaches the cut-off; None where it never does."""
    reached = np.flatnonzero(np.asarray(curve, dtype=np.float64) >= cut_off)
    return int(reached[0]) + 1 if reached.size else None


def reusability(curves: ArrayLike, cut_off: float, *, resamples: int = 2000, seed: int = 0) -> Reusability:
    """How many images a prompt gives before the mean curve crosses the cut-off, with limits over prompts.

    Percentiles of the crossing over resampled prompts; a resample that never crosses counts as beyond the
    last k.
    """
    rows = _rows(curves)
    prompts, width = rows.shape
    images = before_crossing(rows.mean(axis=0), cut_off)
    if prompts < 2:
        return Reusability(images, None, None, width + 1, prompts, False)
    rng = np.random.default_rng(seed)
    crossings = []
    for some in block_rows(resamples, max(prompts, width)):
        weight = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=some) / prompts
        above = weight @ rows >= cut_off
        crossings.append(np.where(above.any(axis=1), above.argmax(axis=1) + 1, width + 2))
    limits = np.quantile(np.concatenate(crossings), [0.025, 0.975], method="inverted_cdf")
    low, high = (None if limit > width + 1 else int(limit) for limit in limits)
    return Reusability(images, low, high, width + 1, prompts, True)


def repeated(matrix: ArrayLike, limit: float) -> Estimate:
    """The proportion of images with a double among the others: the probability that one more repeats.

    Clopper and Pearson's exact interval on half as many images, since doubles come in pairs: in simulations
    it covers at least what it promises.
    """
    from scipy.special import betaincinv

    doubles = _doubles(matrix, limit)
    n = doubles.size
    if n < 2:
        return Estimate(None, None, None, n, "clopper-pearson", "fewer than two images")
    share = float(np.count_nonzero(doubles)) / n
    units = n // 2
    least, most = np.floor(share * units), np.ceil(share * units)
    low = float(betaincinv(least, units - least + 1, 0.025)) if least > 0 else 0.0
    high = float(betaincinv(most + 1, units - most, 0.975)) if most < units else 1.0
    return Estimate(share, low, high, n, "clopper-pearson")


def verdict(repeated_share: float) -> str:
    """Whether a prompt deserves more images: no double yet, some, or more images repeated than not."""
    if repeated_share == 0:
        return MORE
    return REPEATING if repeated_share <= 0.5 else EXHAUSTED


def first_repeat(pairs: ArrayLike, images: ArrayLike) -> float | None:
    """About how many images come before two look alike, from how often pairs do; None where none does.

    `pairs` counts the pairs of a prompt that look alike, `images` its images. With p their proportion of all
    pairs and pairs taken as independent, k images have no double with chance (1 - p)^(k(k-1)/2), and the
    first double is expected at the sum of that over k from 0, for small p about sqrt(pi / 2p). It looks past
    the images at hand, and prompts that differ among themselves repeat sooner than it says.
    """
    alike = float(np.sum(pairs))
    n = np.asarray(images, dtype=np.float64)
    total = float((n * (n - 1) / 2).sum())
    if alike == 0 or total == 0:
        return None
    share = alike / total
    if share >= 1:
        return 2.0
    # Beyond this k less than e^-40 is left of the sum.
    last = int(np.ceil(np.sqrt(80 / -np.log1p(-share)))) + 2
    k = np.arange(last, dtype=np.float64)
    return float(np.exp(np.log1p(-share) * k * (k - 1) / 2).sum())


def pairs_alike(matrix: ArrayLike, limit: float) -> int:
    """How many pairs of images are at most `limit` apart."""
    return int(_doubles(matrix, limit).sum()) // 2


def in_common(curves: Sequence[ArrayLike], images: int | None = None) -> tuple[Array, Indices]:
    """Curves of unequal length as rows of equal length, and which of them are long enough.

    `images` is how many images a prompt must have; all prompts, and the shortest curve, if None.
    """
    if not curves:
        raise ValueError("no curve was given")
    lengths = np.array([np.size(curve) + 1 for curve in curves], dtype=np.int64)
    wanted = int(lengths.min()) if images is None else images
    kept = np.flatnonzero(lengths >= wanted)
    rows = [np.asarray(curves[int(place)], dtype=np.float64)[: wanted - 1] for place in kept]
    return np.array(rows, dtype=np.float64).reshape(len(rows), wanted - 1), kept


def _doubles(matrix: ArrayLike, limit: float) -> Indices:
    """How many others are at most `limit` from each image."""
    near = checked_distances(matrix) <= limit
    np.fill_diagonal(near, False)
    return near.sum(axis=1)


def _rows(curves: ArrayLike) -> Array:
    rows = np.asarray(curves, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise ValueError(f"curves are rows of finite values, one a prompt, not shape {rows.shape}")
    return rows
