"""How good the contrast of an image is, by what enhancing it would change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import NoValue, Picture, Value, Values, measure
from sightline.statistics.natural_scenes import grey_levels

SIDE = 11
SPREAD = 1.5
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


@measure.of_image(
    direction="higher", range=(-1, 1), source="Yan, Li and Fu 2019 (CEIQ)", licence="Apache-2.0"
)
def contrast_quality(images: Sequence[Picture]) -> Values:
    """Similarity of an image to itself with an equalised histogram: 1 if nothing could be enhanced.

    The structural similarity (windows of 11 pixels, Gaussian of 1.5) of the luma and its equalised version.
    It is the first of CEIQ's five features; the evidence has the others: the entropies of both histograms and
    their two cross entropies, in bits. CEIQ's own regression from them is not published with its data.
    """
    return [_ceiq(grey_levels(image.rgb)) for image in images]


def _ceiq(grey: np.ndarray) -> Value | NoValue:
    if min(grey.shape) < SIDE:
        return NoValue(f"the image is less than {SIDE} pixels wide or high")
    whole = grey.astype(np.uint8)
    counts = np.bincount(whole.ravel(), minlength=256)
    if np.count_nonzero(counts) < 2:
        return NoValue("the image is all one grey: it has no contrast to judge")
    equalised = np.round(255 * np.cumsum(counts) / counts.sum())[whole]
    other = np.bincount(equalised.astype(np.uint8).ravel(), minlength=256)
    first, second = counts / counts.sum(), other / other.sum()
    entropies = {
        "entropy": _cross_entropy(first, first),
        "entropy_equalised": _cross_entropy(second, second),
        "cross_entropy": _cross_entropy(first, second),
        "cross_entropy_equalised": _cross_entropy(second, first),
    }
    return Value(_similarity(grey, equalised), {name: round(each, 6) for name, each in entropies.items()})


def _cross_entropy(p: np.ndarray, q: np.ndarray) -> float:
    """-sum p log2 q over levels that both have."""
    both = (p > 0) & (q > 0)
    return float(-(p[both] * np.log2(q[both])).sum()) + 0.0


def _similarity(one: np.ndarray, other: np.ndarray) -> float:
    from scipy.ndimage import correlate1d

    place = np.arange(SIDE) - SIDE // 2
    window = np.exp(-(place**2) / (2 * SPREAD**2))
    window /= window.sum()
    edge = SIDE // 2

    def blurred(field: np.ndarray) -> np.ndarray:
        # Without the margin, for which a window would have to be continued.
        down = correlate1d(field, window, axis=0)[edge:-edge]
        return correlate1d(down, window, axis=1)[:, edge:-edge]

    a, b = blurred(one), blurred(other)
    # Both variances are only needed as their sum.
    spread = blurred(one * one + other * other) - a * a - b * b
    common = blurred(one * other) - a * b
    return float((((2 * a * b + C1) * (2 * common + C2)) / ((a * a + b * b + C1) * (spread + C2))).mean())
