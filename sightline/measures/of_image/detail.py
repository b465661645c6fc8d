"""How crisp and how grainy an image is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import NoValue, Picture, Values, measure
from sightline.measures.of_image._luma import luma

TOO_SMALL = "the image has no inner pixel: it is less than three pixels wide or high"


@measure.of_image(
    range=(0, None),
    source="Pech-Pacheco et al. 2000",
    licence="Apache-2.0",
    aliases=("laplacian_variance",),
)
def sharpness(images: Sequence[Picture], *, side: int = 512) -> Values:
    """Variance of the Laplacian of the luma: how crisp the finest detail is.

    L(x, y) = Y(x-1, y) + Y(x+1, y) + Y(x, y-1) + Y(x, y+1) - 4 Y(x, y) over inner pixels, Y the Rec. 709 luma
    in 0..255. The Laplacian per pixel is smaller the more pixels a scene is spread over, so larger images are
    first averaged down until no side exceeds `side`; smaller ones are never enlarged, since that would count
    interpolation as blur. `side=0` measures every image as it is. Grain counts as detail, so that more is not
    better: read it together with the measure noise, or use `edge_sharpness`.
    """
    return [_sharpness(image.rgb, side) for image in images]


def _sharpness(rgb: np.ndarray, side: int) -> float | NoValue:
    y = luma(_averaged_down(rgb, side))
    if min(y.shape) < 3:
        scaled = f"scaled down to {side} pixels, {TOO_SMALL}" if min(rgb.shape[:2]) >= 3 else TOO_SMALL
        return NoValue(scaled)
    laplacian = y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:] - 4 * y[1:-1, 1:-1]
    return float(laplacian.var())


def _averaged_down(rgb: np.ndarray, side: int) -> np.ndarray:
    height, width = rgb.shape[:2]
    factor = side / max(height, width)
    if side <= 0 or factor >= 1:
        return rgb
    from PIL import Image

    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BOX))


@measure.of_image(range=(0, None), source="Immerkaer 1996", licence="Apache-2.0")
def noise(images: Sequence[Picture]) -> Values:
    """Standard deviation of the grain in the luma, as if it were Gaussian, on 0..255.

    The difference of two Laplacians, N = [[1, -2, 1], [-2, 4, -2], [1, -2, 1]], is blind to flat areas,
    slopes and straight edges along the axes; what it still sees is mostly noise:
    sigma = sqrt(pi / 2) / 6 mean |Y * N|. Fine texture counts as grain, and blur removes both, so
    that less is not always better.
    """
    return [_grain(luma(image.rgb)) for image in images]


def _grain(y: np.ndarray) -> float | NoValue:
    if min(y.shape) < 3:
        return NoValue(TOO_SMALL)
    # N is the product of [1, -2, 1] down and across: two second differences, one after the other.
    second = np.diff(np.diff(y, n=2, axis=0), n=2, axis=1)
    return float(np.sqrt(np.pi / 2) / 6 * np.abs(second).mean())


@measure.of_image(range=(0, None), source="ITU-T P.910 (2022)", licence="Apache-2.0", aliases=("si",))
def spatial_information(images: Sequence[Picture]) -> Values:
    """Spatial information: standard deviation of the Sobel-filtered luma, on 0..255; more is more complex.

    SI = sd over inner pixels of sqrt(Gx^2 + Gy^2), Gx and Gy the Sobel filters of the Rec. 709 luma.
    """
    return [_spatial(luma(image.rgb)) for image in images]


def _spatial(y: np.ndarray) -> float | NoValue:
    if min(y.shape) < 3:
        return NoValue(TOO_SMALL)
    # A Sobel filter is [1, 2, 1] along one axis, two sums of neighbours, and a difference along the other.
    down, across = y[:-1] + y[1:], y[:, :-1] + y[:, 1:]
    down, across = down[:-1] + down[1:], across[:, :-1] + across[:, 1:]
    gx, gy = down[:, 2:] - down[:, :-2], across[2:] - across[:-2]
    # hypot guards against overflow, which bytes cannot cause, and takes four times as long.
    gx *= gx
    gy *= gy
    gx += gy
    return float(np.sqrt(gx, out=gx).std())
