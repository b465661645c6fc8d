"""Images as statistics that tell distortions apart: what regressors of image quality are fitted on."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sightline.extension import ImageEncoder, Picture, encoder
from sightline.statistics.natural_scenes import (
    grey_levels,
    halved,
    normalised,
    spatial_features,
    two_scale_features,
)

LEAST = 32
"""Smaller pictures are continued by their edges."""
LEVELS = 10
STEP = 0.2
SPREAD = 0.5
STABILISER = 0.2
JPEG = (3, 6, 12, 25, 50)
BLUR = (0.6, 1.0, 1.6, 2.5, 4.0)
NOISE = (4.0, 8.0, 16.0, 28.0, 45.0)
TILE = 64


@encoder(
    encodes=("image",), dimensions=36, source="Mittal, Moorthy and Bovik 2012 (BRISQUE)", licence="Apache-2.0"
)
def brisque_features() -> ImageEncoder:
    """Images as the 36 natural scene statistics of BRISQUE: 18 of the luma, 18 of its half.

    Of (Y - mean) / (deviation + 1), mean and deviation those of Gaussian surroundings: shape and variance of
    a generalised Gaussian; of its products with the neighbour right, below and on both diagonals the shape,
    mean, left and right variance of an asymmetric one. What has no structure to fit has 0.
    """
    return _Rows(36, lambda rgb: two_scale_features(grey_levels(rgb)))


@encoder(
    encodes=("image",),
    dimensions=40,
    source="Xue et al. 2014 (GM-LOG)",
    licence="Apache-2.0",
    aliases=("gm_log",),
)
def gmlf() -> ImageEncoder:
    """Images as the joint statistics of gradient magnitude and Laplacian of Gaussian, as in GM-LOG.

    Both of the luma (Gaussian of 0.5 pixels), divided by their local energy, in 10 levels each: the two
    distributions, then of each the mean of its distributions given a level of the other.
    """
    return _Rows(40, _gradient_and_laplacian)


@encoder(encodes=("image",), dimensions=216, source="Kundu et al. 2017 (HIGRADE)", licence="Apache-2.0")
def higrade() -> ImageEncoder:
    """Images as natural scene statistics of lightness, colours and their gradients, in the manner of HIGRADE.

    The 18 statistics of `brisque_features` at two scales of L*, a* and b*, and of the magnitudes of their
    gradients. What has no structure to fit has 0.
    """
    return _Rows(216, _lightness_and_colours)


@encoder(encodes=("image",), dimensions=30, source="Min et al. 2018 (BMPRI)", licence="Apache-2.0")
def bmpri() -> ImageEncoder:
    """Images as how alike they are to worse versions of themselves, in the manner of BMPRI.

    The luma is compressed (JPEG), blurred and covered with noise at five strengths each. Local binary
    patterns of 4 neighbours are taken of the image and of each worse version; of those that are edges, and of
    all that are not flat, the proportion that both have where either has. BMPRI's JPEG 2000 is left out.
    """
    return _Rows(30, lambda rgb: np.array(list(_alike_to_worse(grey_levels(rgb)))))


class _Rows:
    def __init__(self, dimensions: int, row: Callable[[np.ndarray], np.ndarray]) -> None:
        self._dimensions = dimensions
        self._row = row

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        found = np.zeros((len(images), self._dimensions), dtype=np.float32)
        for number, image in enumerate(images):
            found[number] = np.nan_to_num(self._row(_at_least(image.rgb)), nan=0.0, posinf=0.0, neginf=0.0)
        return found


def _at_least(rgb: np.ndarray) -> np.ndarray:
    missing = [max(0, LEAST - length) for length in rgb.shape[:2]]
    return np.pad(rgb, [*((0, each) for each in missing), (0, 0)], mode="edge") if any(missing) else rgb


def _gradient_and_laplacian(rgb: np.ndarray) -> np.ndarray:
    from scipy.ndimage import gaussian_filter, gaussian_laplace

    grey = grey_levels(rgb)
    down, across = (gaussian_filter(grey, SPREAD, order=order) for order in ((1, 0), (0, 1)))
    gradient, laplacian = np.hypot(down, across), gaussian_laplace(grey, SPREAD)
    energy = np.sqrt(gaussian_filter(gradient**2 + laplacian**2, 2 * SPREAD)) + STABILISER
    first = np.minimum(gradient / energy / STEP, LEVELS - 1).astype(np.int64)
    second = np.clip(np.floor(laplacian / energy / STEP) + LEVELS // 2, 0, LEVELS - 1).astype(np.int64)
    joint = np.bincount((first * LEVELS + second).ravel(), minlength=LEVELS**2).reshape(LEVELS, LEVELS)
    joint = joint / joint.sum()
    parts = []
    for table in (joint, joint.T):
        given = table.sum(axis=0)
        parts += [table.sum(axis=1), (table / np.where(given > 0, given, 1)).sum(axis=1) / LEVELS]
    return np.concatenate(parts)


def _lightness_and_colours(rgb: np.ndarray) -> np.ndarray:
    rows = []
    for channel in np.moveaxis(_lab(rgb), 2, 0):
        for field in (channel, halved(channel)):
            magnitude = np.hypot(*np.gradient(field))
            rows += [spatial_features(normalised(each)) for each in (field, magnitude)]
    return np.concatenate(rows)


def _lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB under D65, each channel times 2.55 so that its steps are those of bytes."""
    value = np.arange(256) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)[rgb]
    to_xyz = np.array(
        [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
    )
    xyz = linear @ to_xyz.T / (to_xyz.sum(axis=1))
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = np.moveaxis(root, 2, 0)
    return 2.55 * np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=2)


def _alike_to_worse(grey: np.ndarray) -> Iterator[float]:
    own = _patterns(grey)
    for worse in _worse(grey):
        for one, other in zip(own, _patterns(worse), strict=True):
            either = np.count_nonzero(one | other)
            yield np.count_nonzero(one & other) / either if either else 1.0


def _worse(grey: np.ndarray) -> Iterator[np.ndarray]:
    from PIL import Image
    from scipy.ndimage import gaussian_filter

    picture = Image.fromarray(grey.astype(np.uint8))
    for quality in JPEG:
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=quality)
        yield np.asarray(Image.open(file), dtype=np.float64)
    for spread in BLUR:
        yield gaussian_filter(grey, spread)
    down, across = (-(-length // TILE) for length in grey.shape)
    grain = np.tile(np.random.default_rng(0).standard_normal((TILE, TILE)), (down, across))
    for spread in NOISE:
        yield grey + spread * grain[: grey.shape[0], : grey.shape[1]]


def _patterns(grey: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where two of four neighbours are lighter than a pixel by at least one grey level, and where any is."""
    centre = grey[1:-1, 1:-1] + 0.5
    around = (grey[:-2, 1:-1], grey[2:, 1:-1], grey[1:-1, :-2], grey[1:-1, 2:])
    lighter = np.zeros(centre.shape, dtype=np.uint8)
    for each in around:
        lighter += each > centre
    return lighter == 2, lighter > 0
