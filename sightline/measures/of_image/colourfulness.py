"""How colourful an image is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import Picture, Values, measure


@measure.of_image(range=(0, None), source="Hasler and Suesstrunk 2003", licence="Apache-2.0")
def colourfulness(images: Sequence[Picture]) -> Values:
    """Spread and strength of opponent colours: 0 is grey, about 15 slightly, above 100 extremely colourful.

    With rg = R - G and yb = (R + G) / 2 - B on 0..255:
    M = sqrt(var rg + var yb) + 0.3 sqrt(mean(rg)^2 + mean(yb)^2), their metric M^(3).
    """
    return [_colourfulness(image.rgb) for image in images]


def _colourfulness(rgb: np.ndarray) -> float:
    red, green, blue = (rgb[:, :, channel].astype(np.float64) for channel in range(3))
    rg = red - green
    yb = (red + green) / 2 - blue
    spread = np.sqrt(rg.var() + yb.var())
    strength = np.hypot(rg.mean(), yb.mean())
    return float(spread + 0.3 * strength)
