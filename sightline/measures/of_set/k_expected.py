"""How alike the most similar images among a few of one prompt are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import NoValue, Picture, Value, measure, needs


@measure.of_set(range=(None, 1), source="Tang et al. 2024 (W1KP)", licence="Apache-2.0")
def k_expected(
    images: Sequence[Picture],
    *,
    distance: Callable[[Sequence[Picture]], np.ndarray] = needs("distance", "ssim"),
    k: int = 4,
    permutations: int = 1000,
    seed: int = 0,
) -> Value | NoValue:
    """Similarity to be expected of the two most alike among `k` images: 1 minus their expected distance.

    1 - mean over all k-subsets of the smallest distance within the subset: exact for up to 14 images, by
    `permutations` random orders drawn with `seed` for more, with the standard error of that in the evidence.
    Grows with k: the more images one looks at, the likelier two of them repeat each other. Exact duplicates
    count as what they are, distance 0. With k = 2 this is `pairwise_mean`.
    """
    if k < 2:
        raise UsageError(f"k_expected: k={k}", remedy="At least 2: one image has nothing to be like.")
    if len(images) < k:
        return NoValue(f"fewer than {k} images")
    from sightline.statistics.sets import expected_minimum

    # In the order of their content, not of their arrival: with the same seed a set has one value.
    ordered = sorted(images, key=lambda image: image.sha256)
    found = expected_minimum(distance(ordered), permutations=permutations, seed=seed)
    error = float(found.error[k - 2])
    return Value(1.0 - float(found.value[k - 2]), {"standard_error": error} if error > 0 else None)
