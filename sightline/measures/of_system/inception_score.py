"""How clearly a system's images show something, and how many different things."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import ImageEncoder, NoValue, Picture, Value, measure, needs
from sightline.measures.of_system._compared import estimated
from sightline.statistics import feature_sets
from sightline.statistics.feature_sets import LEAST


@measure.of_system(
    reference=False,
    direction="higher",
    range=(1, None),
    source="Salimans et al. 2016",
    licence="Apache-2.0",
    version=2,
)
def inception_score(
    images: Sequence[Picture],
    reference: Sequence[Picture],
    *,
    encoder: ImageEncoder = needs("encoder", "efficientnet_lite0_classes"),
    seed: int = 0,
) -> Value | NoValue:
    """How sure a classifier is of each image, and how many classes there are: from 1 to their number.

    exp(H(mean of p) - mean of H(p)) over the class probabilities p that `encoder` gives, corrected for few
    images by the jackknife; the interval is the bootstrap's, from five images for each class on. It needs
    no reference, and knows nothing of the prompts. Published values rest on an Inception network: with
    another the scale is another.
    """
    rows = np.asarray(encoder.image(images), dtype=np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < LEAST:
        return NoValue(f"the system has {len(rows)} readable images; {LEAST} are needed")
    if rows.min() < 0 or not np.allclose(rows.sum(axis=1), 1, atol=1e-3):
        return NoValue("the encoder gives no class probabilities")
    found = feature_sets.inception_score(rows, seed)
    return estimated(found._replace(value=max(found.value, 1.0)), len(rows), None, rows.shape[1])
