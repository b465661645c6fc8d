"""Natural scene statistics: how the pixels of an undistorted photograph are distributed, as a few parameters.

A luma in 0..255 is normalised by its surroundings; of photographs the result is close to a Gaussian, and each
distortion changes its shape in a way of its own.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sightline.statistics.grouping import Array

WINDOW, SPREAD = 7, 7 / 6
"""The Gaussian window of the surroundings, in pixels."""
SHAPES = np.arange(0.2, 10.001, 0.001)
NOTHING = 1e-9
"""What is closer to 0 is taken for it: in a flat area rounding would decide the sign."""
CUBIC = (-0.09375, 0.59375, 0.59375, -0.09375)
"""Every second place of a picture by cubic convolution with a = -0.75, which does not smooth."""
SMOOTH_CUBIC = (-3 / 256, -9 / 256, 29 / 256, 111 / 256, 111 / 256, 29 / 256, -9 / 256, -3 / 256)
"""The same with a = -0.5 and a kernel of twice the width, which does."""


def grey_levels(rgb: NDArray[np.uint8]) -> Array:
    """Rec. 601 luma in whole grey levels from 0 to 255, as most published measures take it."""
    # Thousandths are exact, so that a half is rounded the same way everywhere.
    return np.floor((rgb @ np.array([299.0, 587.0, 114.0]) + 500) / 1000)


def surroundings(grey: Array, mode: str) -> tuple[Array, Array]:
    """The weighted mean and standard deviation about every pixel; `mode` continues the edges (scipy)."""
    from scipy.ndimage import correlate1d

    place = np.arange(WINDOW) - WINDOW // 2
    window = np.exp(-(place**2) / (2 * SPREAD**2))
    window /= window.sum()
    mean, square = (
        correlate1d(correlate1d(each, window, axis=0, mode=mode), window, axis=1, mode=mode)
        for each in (grey, grey * grey)
    )
    return mean, np.sqrt(np.abs(square - mean * mean))


def normalised(grey: Array, mode: str = "nearest") -> Array:
    """(Y - mean) / (standard deviation + 1) of every pixel, mean and deviation those of its surroundings."""
    mean, deviation = surroundings(grey, mode)
    found = (grey - mean) / (deviation + 1)
    found[np.abs(found) < NOTHING] = 0.0
    return found


def halved(grey: Array, kernel: tuple[float, ...] = SMOOTH_CUBIC) -> Array:
    """A picture of half the width and height."""
    margin = len(kernel) // 2 - 1
    mode = "edge" if kernel is CUBIC else "symmetric"
    for axis in (0, 1):
        length = -(-grey.shape[axis] // 2)
        pad = [(0, 0), (0, 0)]
        pad[axis] = (margin, margin + 2)
        wide = np.moveaxis(np.pad(grey, pad, mode=mode), axis, 0)  # type: ignore[call-overload]
        parts = (weight * wide[k : k + 2 * length : 2][:length] for k, weight in enumerate(kernel))
        grey = np.moveaxis(sum(parts), 0, axis)
    return np.ascontiguousarray(grey)


@cache
def _ratios() -> Array:
    from scipy.special import gammaln

    one, two, three = (gammaln(k / SHAPES) for k in (1, 2, 3))
    return np.asarray(np.exp(2 * two - one - three))


def asymmetric_fit(rows: Array) -> tuple[Array, Array, Array]:
    """Of each row the shape and the left and right deviation of an asymmetric generalised Gaussian.

    By moments: with g = left / right and r = mean|x|^2 / mean x^2, the shape a solves
    G(2/a)^2 / (G(1/a) G(3/a)) = r (g^3 + 1)(g + 1) / (g^2 + 1)^2. NaN where a side has no values. Source:
    Lasmar, Stitou and Berthoumieu 2009, as Mittal, Moorthy and Bovik 2012 use it.
    """
    size = np.abs(rows)
    squares = np.einsum("bi,bi->b", rows, rows)
    signed = np.einsum("bi,bi->b", rows, size)
    below = np.count_nonzero(rows < 0, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.sqrt((squares - signed) / 2 / below)
        right = np.sqrt((squares + signed) / 2 / (rows.shape[1] - below))
        ratio = left / right
        r = (size.mean(axis=1) ** 2) / (squares / rows.shape[1])
        wanted = r * (ratio**3 + 1) * (ratio + 1) / (ratio**2 + 1) ** 2
    shape = np.where(np.isfinite(wanted), np.interp(wanted, _ratios(), SHAPES), np.nan)
    return shape, left, right


def neighbours(blocks: Array) -> tuple[Array, ...]:
    """The products of every pixel with its neighbour right, below, and on both diagonals; blocks x h x w.

    A block is its own neighbour: beyond its edge comes its other end.
    """
    shifts = ((0, 1), (1, 0), (1, 1), (1, -1))
    return tuple(blocks * np.roll(blocks, shift, axis=(1, 2)) for shift in shifts)


def inner_neighbours(field: Array) -> tuple[Array, ...]:
    """The same products of one picture, without those beyond its edge."""
    return (
        field[:, :-1] * field[:, 1:],
        field[:-1] * field[1:],
        field[:-1, :-1] * field[1:, 1:],
        field[1:, :-1] * field[:-1, 1:],
    )


def spatial_features(field: Array) -> Array:
    """18 parameters of a normalised picture: of its pixels shape and variance, of each kind of neighbours'
    products shape, mean, left and right variance. NaN where it has no structure.
    """
    shape, left, right = (float(each[0]) for each in asymmetric_fit(field.reshape(1, -1)))
    found = [shape, (left**2 + right**2) / 2]
    for product in inner_neighbours(field):
        shape, left, right = (float(each[0]) for each in asymmetric_fit(product.reshape(1, -1)))
        found += [shape, (right - left) * _mean_factor(shape), left**2, right**2]
    return np.array(found)


def two_scale_features(grey: Array) -> Array:
    """BRISQUE's 36 parameters: those of a picture and of its half."""
    scales = (grey, halved(grey, CUBIC))
    return np.concatenate([spatial_features(normalised(each, "constant")) for each in scales])


def _mean_factor(shape: float) -> float:
    from scipy.special import gammaln

    one, two, three = (gammaln(k / shape) for k in (1, 2, 3))
    return float(np.exp(two - (one + three) / 2))


def block_features(field: Array, side: int) -> Array:
    """18 parameters of each whole block of a normalised picture, blocks x 18.

    Of the pixels shape and mean scale, of each kind of neighbours' products shape, mean, left and right
    scale, where a scale is the deviation times sqrt(G(1/a) / G(3/a)).
    """
    from scipy.special import gammaln

    blocks = _cut(field, side)
    rows = [blocks, *neighbours(blocks)]
    found: list[Array] = []
    for number, each in enumerate(rows):
        shape, left, right = asymmetric_fit(each.reshape(len(blocks), -1))
        one, two, three = (gammaln(k / shape) for k in (1, 2, 3))
        left, right = (deviation * np.exp((one - three) / 2) for deviation in (left, right))
        found += [shape]
        found += [(left + right) / 2] if number == 0 else [(right - left) * np.exp(two - one), left, right]
    return np.stack(found, axis=1)


def block_means(field: Array, side: int) -> Array:
    """The mean of each whole block."""
    return np.asarray(_cut(field, side).mean(axis=(1, 2)))


def _cut(field: Array, side: int) -> Array:
    down, across = (length // side for length in field.shape)
    parts = field[: down * side, : across * side].reshape(down, side, across, side)
    return np.ascontiguousarray(parts.transpose(0, 2, 1, 3)).reshape(-1, side, side)
