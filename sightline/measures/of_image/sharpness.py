"""How crisp an image is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import NoValue, Picture, Values, measure


@measure.of_image(
    direction="higher", range=(0, None), source="Pech-Pacheco et al. 2000", licence="Apache-2.0"
)
def sharpness(images: Sequence[Picture], *, side: int = 512) -> Values:
    """Variance of the Laplacian of the luminance: how crisp the finest detail is.

    L(x, y) = Y(x-1, y) + Y(x+1, y) + Y(x, y-1) + Y(x, y+1) - 4 Y(x, y) over inner pixels, Y the Rec. 709
    luma in 0..255. The same scene has a smaller Laplacian a pixel the more pixels it is spread over, so
    larger images are first averaged down until no side exceeds `side`; smaller ones are never enlarged,
    since that would count interpolation as blur. `side=0` measures every image as it is. Grain counts as
    detail: read it next to the measure noise.
    """
    return [_sharpness(image.rgb, side) for image in images]


def _sharpness(rgb: np.ndarray, side: int) -> float | NoValue:
    luma = _averaged_down(rgb, side) @ np.array([0.2126, 0.7152, 0.0722])
    if min(luma.shape) < 3:
        return NoValue("the image has no inner pixel: it is less than three pixels wide or high")
    inner = luma[1:-1, 1:-1]
    laplacian = luma[:-2, 1:-1] + luma[2:, 1:-1] + luma[1:-1, :-2] + luma[1:-1, 2:] - 4 * inner
    return float(laplacian.var())


def _averaged_down(rgb: np.ndarray, side: int) -> np.ndarray:
    height, width = rgb.shape[:2]
    factor = side / max(height, width)
    if side <= 0 or factor >= 1:
        return rgb
    from PIL import Image

    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BOX))
