"""How grainy an image is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import NoValue, Picture, Values, measure


@measure.of_image(direction="lower", range=(0, None), source="Immerkaer 1996", licence="Apache-2.0")
def noise(images: Sequence[Picture]) -> Values:
    """Standard deviation of the grain in the luminance, as if it were Gaussian, on 0..255.

    The difference of two Laplacians, N = [[1, -2, 1], [-2, 4, -2], [1, -2, 1]], is blind to flat areas,
    slopes and straight edges along the axes; what it still sees is mostly noise:
    sigma = sqrt(pi / 2) / 6 mean |Y * N|. Fine texture counts as grain.
    """
    return [_grain(image.rgb) for image in images]


def _grain(rgb: np.ndarray) -> float | NoValue:
    luma = rgb @ np.array([0.2126, 0.7152, 0.0722])
    if min(luma.shape) < 3:
        return NoValue("the image has no inner pixel: it is less than three pixels wide or high")
    # N is the product of [1, -2, 1] down and across: two second differences, one after the other.
    left = np.diff(luma, n=2, axis=0)
    return float(np.sqrt(np.pi / 2) / 6 * np.abs(np.diff(left, n=2, axis=1)).mean())
