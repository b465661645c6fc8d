"""Difference of images as an encoder sees them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError, near
from sightline.extension import ImageEncoder, Picture, distance, needs

METRICS = ("euclidean", "sqeuclidean", "cosine", "cityblock")


@distance(range=(0, None), source="Tang et al. 2024 (W1KP)", licence="Apache-2.0")
def embedding(
    images: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "colour_layout"),
    metric: str = "euclidean",
) -> np.ndarray:
    """Distance between the vectors that an encoder gives the images.

    `metric` is euclidean, sqeuclidean, cosine (1 - cosine) or cityblock. Every image is encoded once, however
    many pairs it is in. A vector of zeros, such as a black image may have, points nowhere: its cosine
    distance is 0 to another of its kind and 1 to all others.
    """
    from scipy.spatial.distance import pdist, squareform

    if metric not in METRICS:
        raise UsageError(f"embedding: there is no metric {metric!r}", remedy=near(metric, METRICS))
    if len(images) < 2:
        return np.zeros((len(images), len(images)))
    vectors = np.asarray(encoder.image(images), dtype=np.float64)
    distances = squareform(pdist(vectors, metric))
    if metric == "cosine":
        # Rounding can put the cosine of equal directions a hair off 1.
        distances[distances < 1e-12] = 0.0
        nowhere = ~vectors.any(axis=1)
        distances[nowhere] = distances[:, nowhere] = 1.0
        distances[np.ix_(nowhere, nowhere)] = 0.0
    return distances
