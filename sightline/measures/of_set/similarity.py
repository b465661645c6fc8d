"""How similar the images of one prompt are to each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import NoValue, Picture, Value, measure, needs
from sightline.statistics import sets

Distance = Callable[[Sequence[Picture]], np.ndarray]


@measure.of_set(
    range=(None, 1),
    source="Tang et al. 2024 (W1KP)",
    licence="Apache-2.0",
    aliases={
        "fid": "FID compares a whole collection with real images; this compares the images of one prompt."
    },
)
def pairwise_mean(
    images: Sequence[Picture], *, distance: Distance = needs("distance", "ssim")
) -> float | NoValue:
    """Similarity of the images: 1 minus the mean distance over all pairs; 1 means that all look the same.

    A U-statistic: 1 - 2 / (n (n - 1)) sum over i < j of d(i, j). Exact duplicates have distance 0. With a
    distance that never exceeds 1 the value stays within 0 and 1.
    """
    if len(images) < 2:
        return NoValue("fewer than two images")
    return 1.0 - float(sets.pairwise_mean(distance(images)))


@measure.of_set(range=(None, 1), source="Tang et al. 2024 (W1KP)", licence="Apache-2.0", version=2)
def k_expected(
    images: Sequence[Picture],
    *,
    distance: Distance = needs("distance", "ssim"),
    k: int = 4,
    permutations: int = 1000,
    seed: int = 0,
) -> Value | NoValue:
    """Expected similarity of the two most alike among `k` images: 1 minus their expected distance.

    1 - mean over all k-subsets of the smallest distance within the subset: exact for up to 14 images and for
    k = 2, by `permutations` random orders drawn with `seed` for more, with their standard error in the
    evidence.
    Grows with k: the more images one looks at, the likelier two of them repeat each other. Exact duplicates
    have distance 0. With k = 2 this is `pairwise_mean`.
    """
    if k < 2:
        raise UsageError(f"k_expected: k={k}", remedy="At least 2: similarity is of a pair.")
    if len(images) < k:
        return NoValue(f"fewer than {k} images")
    # In the order of their content, not of their arrival: with the same seed a set has one value.
    ordered = sorted(images, key=lambda image: image.sha256)
    expected = sets.expected_minimum(distance(ordered), permutations=permutations, seed=seed)
    error = float(expected.error[k - 2])
    return Value(1.0 - float(expected.value[k - 2]), {"standard_error": error} if error > 0 else None)
