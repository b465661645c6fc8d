"""How much alike the images of one prompt are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sightline.extension import NoValue, Picture, measure, needs


@measure.of_set(range=(None, 1), source="Tang et al. 2024 (W1KP)", licence="Apache-2.0")
def pairwise_mean(
    images: Sequence[Picture],
    *,
    distance: Callable[[Sequence[Picture]], np.ndarray] = needs("distance", "ssim"),
) -> float | NoValue:
    """Similarity of the images: 1 minus the mean distance over all pairs; 1 means that all look the same.

    A U-statistic: 1 - 2 / (n (n - 1)) sum over i < j of d(i, j). Exact duplicates count as what they are,
    distance 0. With a distance that never exceeds 1 the value stays within 0 and 1.
    """
    if len(images) < 2:
        return NoValue("fewer than two images")
    from sightline.statistics.sets import pairwise_mean as mean_distance

    return 1.0 - float(mean_distance(distance(images)))
