"""Is an image in warm or in cold colours?"""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Picture, Values, measure


@measure.of_image(range=(-1, 1), source="an example", licence="Apache-2.0")
def warmth(images: Sequence[Picture], *, weight: float = 1.0) -> Values:
    """Mean of red minus blue, from -1 (all blue) to 1 (all red).

    `weight` scales it; beyond 1 the value is cut off at the ends of its range.
    """
    means = [image.rgb.mean(axis=(0, 1)) for image in images]
    return [max(-1.0, min(1.0, weight * float(mean[0] - mean[2]) / 255)) for mean in means]
