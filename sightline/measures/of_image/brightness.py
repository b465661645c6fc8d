"""How light an image is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import Picture, Values, measure


@measure.of_image(range=(0, 1), source="ITU-R BT.709", licence="Apache-2.0")
def brightness(images: Sequence[Picture]) -> Values:
    """Mean luma of the image, from 0 (black) to 1 (white).

    Y = 0.2126 R + 0.7152 G + 0.0722 B on the stored (gamma-coded) values, which is how light the image
    looks rather than how much light a screen gives.
    """
    weights = np.array([0.2126, 0.7152, 0.0722]) / 255
    # Rounding can put white a hair above 1.
    return [min(float((image.rgb @ weights).mean()), 1.0) for image in images]
