"""Structural dissimilarity: SSIM and its multi-scale form, on grey images of one size, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from sightline.errors import UsageError
from sightline.extension import Picture, distance

WINDOW = 11
SIGMA = 1.5
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2
LUMA = (0.2126, 0.7152, 0.0722)
BLOCK = 32
"""Columns averaged at once: a window touches 11, so that narrow products do a third of a whole one's work."""
HELD = 1 << 20
"""Bytes of products at a time: few enough pairs that all they need stays in the processor's cache."""
WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
LEAST = WINDOW * 2 ** (len(WEIGHTS) - 1)


@distance(range=(0, 1), source="Wang et al. 2004", licence="Apache-2.0")
def ssim(images: Sequence[Picture], *, side: int = 128) -> np.ndarray:
    """Structural dissimilarity (1 - SSIM) / 2 of the luminance, from 0 (equal) to 1 (inverted).

    SSIM = (2 ma mb + C1)(2 cov + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2)) in an 11 x 11 Gaussian window
    (sigma 1.5, C1 = (0.01 * 255)^2, C2 = (0.03 * 255)^2), averaged over windows that lie inside the image.
    Every image is first scaled to `side` x `side` pixels.
    """
    if side < WINDOW:
        raise UsageError(f"ssim: side={side} is smaller than its window", remedy=f"At least {WINDOW}.")
    whole, _ = structure(_grey(images, side))
    # Equal images may differ from 0 by rounding, and only by that.
    return np.clip((1 - whole) / 2, 0, 1)


@distance(range=(0, 1), source="Wang, Simoncelli and Bovik 2003", licence="Apache-2.0")
def ms_ssim(images: Sequence[Picture], *, side: int = 256) -> np.ndarray:
    """Multi-scale structural dissimilarity 1 - MS-SSIM of the luminance, from 0 (equal) to 1 (nothing alike).

    MS-SSIM = l5^w5 times the product of cs_j^w_j over five scales, each half the size of the one before
    (means of 2 x 2 pixels), with weights .0448, .2856, .3001, .2363 and .1333; l cs is SSIM as the distance
    `ssim` has it. Structure that is inverted on the mean of a scale counts as none: a power of a negative
    number would have no value. Every image is first scaled to `side` x `side` pixels.
    """
    if side < LEAST:
        raise UsageError(
            f"ms_ssim: side={side} leaves less than a window at the fifth scale", remedy=f"At least {LEAST}."
        )
    luma = _grey(images, side)
    similarity = np.ones((len(images), len(images)))
    for scale, weight in enumerate(WEIGHTS, start=1):
        whole, part = structure(luma)
        similarity *= np.maximum(whole if scale == len(WEIGHTS) else part, 0) ** weight
        luma = _halved(luma)
    # Equal images may differ from 0 by rounding, and only by that.
    return np.clip(1 - similarity, 0, 1)


def _grey(images: Sequence[Picture], side: int) -> np.ndarray:
    """The luma of all images, each scaled to side x side pixels."""
    from PIL import Image

    out = np.empty((len(images), side, side))
    for number, image in enumerate(images):
        small = Image.fromarray(image.rgb).resize((side, side), Image.Resampling.BILINEAR)
        out[number] = np.asarray(small, dtype=np.float64) @ np.array(LUMA)
    return out


def _halved(luma: np.ndarray) -> np.ndarray:
    """Every image at half its size: means of 2 x 2 pixels, an odd last row or column left out."""
    count, height, width = luma.shape
    even = luma[:, : height // 2 * 2, : width // 2 * 2]
    return np.asarray(even.reshape(count, height // 2, 2, width // 2, 2).mean(axis=(2, 4)))


def structure(luma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SSIM and its contrast-structure part of every pair: two symmetric matrices with ones on the diagonal.

    SSIM = l cs with l = (2 ma mb + C1) / (ma^2 + mb^2 + C1) and cs = (2 cov + C2) / (va + vb + C2), in a
    Gaussian window of 11 x 11 (sigma 1.5, C1 = (0.01 * 255)^2, C2 = (0.03 * 255)^2), each averaged over the
    windows that lie inside the image. Source: Wang et al. 2004.
    """
    count = len(luma)
    whole, part = np.eye(count), np.eye(count)
    if count < 2:
        return whole, part
    # With sqrt(2) inside, every product of two images carries the 2 of the formula.
    twice = luma * np.sqrt(2)
    mean = _blurred(twice)
    square = mean**2 / 2
    below_light = square + C1 / 2
    below_structure = _blurred(luma**2) - square + C2 / 2
    room = _Room(luma.shape[1], mean.shape[1])
    for one, rest in room.pairs(count):
        similar, light, below = room.empty(rest)
        np.multiply(mean[one], mean[rest], out=light)
        _blur(np.multiply(twice[one], twice[rest], out=room.product[: len(similar)]), room.rows, similar)
        similar -= light
        similar += C2
        similar /= np.add(below_structure[one], below_structure[rest], out=below)
        part[one, rest] = part[rest, one] = similar.mean(axis=(1, 2))
        light += C1
        light /= np.add(below_light[one], below_light[rest], out=below)
        similar *= light
        whole[one, rest] = whole[rest, one] = similar.mean(axis=(1, 2))
    return whole, part


def _blurred(stack: np.ndarray) -> np.ndarray:
    """Gaussian means of all windows that lie inside the images."""
    count, side, _ = stack.shape
    inner = side - WINDOW + 1
    return _blur(stack, np.empty((count, side, inner)), np.empty((count, inner, inner)))


def _blur(stack: np.ndarray, rows: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The window along rows, then along columns, each by products with blocks of its band matrix."""
    count, side, _ = stack.shape
    inner = out.shape[2]
    flat, across = stack.reshape(count * side, side), rows[:count].reshape(count * side, inner)
    for start in range(0, inner, BLOCK):
        end = min(start + BLOCK, inner)
        np.matmul(flat[:, start : end + WINDOW - 1], _band(end - start).T, out=across[:, start:end])
    for start in range(0, inner, BLOCK):
        end = min(start + BLOCK, inner)
        np.matmul(_band(end - start), rows[:count, start : end + WINDOW - 1], out=out[:, start:end])
    return out


class _Room:
    """Working memory for a few pairs at a time, allocated once, since that costs more than the sums."""

    def __init__(self, side: int, inner: int) -> None:
        self.step = max(1, HELD // (8 * side * side))
        self.product = np.empty((self.step, side, side))
        self.rows = np.empty((self.step, side, inner))
        self._inner = np.empty((3, self.step, inner, inner))

    def pairs(self, count: int) -> Iterator[tuple[int, slice]]:
        """Each image with the following ones, a few at a time."""
        for one in range(count - 1):
            for start in range(one + 1, count, self.step):
                yield one, slice(start, min(start + self.step, count))

    def empty(self, rest: slice) -> np.ndarray:
        return self._inner[:, : rest.stop - rest.start]


@cache
def _band(rows: int) -> np.ndarray:
    offset = np.arange(WINDOW) - WINDOW // 2
    weight = np.exp(-(offset**2) / (2 * SIGMA**2))
    weight /= weight.sum()
    band = np.zeros((rows, rows + WINDOW - 1))
    for row in range(rows):
        band[row, row : row + WINDOW] = weight
    return band
