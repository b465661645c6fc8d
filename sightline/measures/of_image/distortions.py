"""Distortions one by one: blocks, blurred edges and noise, and how much they hurt together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import NoValue, Picture, Value, Values, measure
from sightline.statistics.natural_scenes import grey_levels

BLOCK = 64
LEAST_EDGES = 0.002
SHAPE, NOTICED = 3.6, 0.63
JUST_NOTICEABLE = (5.0, 3.0)
"""Widths of edges, in pixels, whose blur is just noticed, in blocks of up to 50 grey levels and above."""
CONTRAST = 50
SIDE = 8
LEAST_SIDE = 16
TOO_SMALL = f"the image is less than {LEAST_SIDE} pixels wide or high"
FLAT = "no two neighbouring pixels differ: there are no steps to compare"
# The constants of Wang, Sheikh and Bovik.
ALPHA, BETA, GAMMA = -245.8909, 261.9373, (-0.02398886, 0.01601664, 0.00642859)
PATCH = 16
WEIGHTS = (8.3584, -12.2972, -12.8593, -2.0166, 10.8427, -5.3002, 24.924, 8.8701, 0.2522, 15.6983)
"""Of `mixed_terms`, fitted by tools/fit_naturalness.py to 700 pictures made of 14 photographs."""


@measure.of_image(direction="higher", range=(0, 1), source="Narvekar and Karam 2011", licence="Apache-2.0")
def edge_sharpness(images: Sequence[Picture]) -> Values:
    """Proportion of edges whose blur people would not notice: CPBD, with the edges of a Sobel filter.

    Of every upright edge the width w is that between the two extrema of the luma about it in its row. Blur is
    noticed with probability 1 - exp(-(w / w0)^3.6), w0 5 pixels in blocks of 64 x 64 whose contrast is at
    most 50 grey levels and 3 in others; blocks with edges in less than 0.2 % of their pixels do not count.
    The value is the proportion of edges at which it is at most 63 %. Grain makes narrow edges of its own.
    """
    return [_cpbd(grey_levels(image.rgb)) for image in images]


def _cpbd(grey: np.ndarray) -> Value | NoValue:
    found = edge_widths(grey)
    if isinstance(found, NoValue):
        return found
    width, contrast = found
    probability = 1 - np.exp(-((width / np.where(contrast <= CONTRAST, *JUST_NOTICEABLE)) ** SHAPE))
    value = float((probability <= NOTICED).mean())
    return Value(value, {"edges": len(width), "mean_width": round(float(width.mean()), 4)})


def edge_widths(grey: np.ndarray) -> tuple[np.ndarray, np.ndarray] | NoValue:
    """The width of every upright edge in blocks that have edges, and the contrast of its block."""
    if min(grey.shape) < 3:
        return NoValue("the image has no inner pixel: it is less than three pixels wide or high")
    rows, columns, rising = _edges(grey)
    blocks, contrast = _contrasts(grey)
    block = rows // BLOCK * blocks[1] + columns // BLOCK
    edges = np.bincount(block, minlength=contrast.size)
    counted = edges[block] > LEAST_EDGES * BLOCK * BLOCK
    if not counted.any():
        return NoValue("there are no edges")
    width = _widths(grey, rows[counted], columns[counted], rising[counted])
    return width, contrast[block[counted]]


def _edges(grey: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of the inner pixels at which the luma changes most along its row, and which way."""
    smooth = grey[:-2] + 2 * grey[1:-1] + grey[2:]
    slope = smooth[:, 2:] - smooth[:, :-2]
    strength = slope * slope
    strong = strength > 4 * strength.mean()
    most = np.ones_like(strong)
    most[:, 1:] &= strength[:, 1:] > strength[:, :-1]
    most[:, :-1] &= strength[:, :-1] >= strength[:, 1:]
    rows, columns = np.nonzero(strong & most)
    return rows + 1, columns + 1, slope[rows, columns] > 0


def _contrasts(grey: np.ndarray) -> tuple[tuple[int, int], np.ndarray]:
    """How many blocks there are down and across, and the range of each."""
    starts = [np.arange(0, length, BLOCK) for length in grey.shape]
    low, high = (
        each.reduceat(each.reduceat(grey, starts[0], axis=0), starts[1], axis=1)
        for each in (np.minimum, np.maximum)
    )
    return (len(starts[0]), len(starts[1])), (high - low).ravel()


def _widths(grey: np.ndarray, rows: np.ndarray, columns: np.ndarray, rising: np.ndarray) -> np.ndarray:
    """How far it is from one extremum of a row, through an edge that rises or falls, to the other."""
    found = np.empty(len(rows))
    place = np.arange(grey.shape[1])
    step = np.diff(grey, axis=1)
    for up in (True, False):
        goes_on = step > 0 if up else step < 0
        # The last place at or before each at which the run began, and the first after it at which it ends.
        stops = np.full(grey.shape, 0, dtype=np.int64)
        stops[:, 1:] = np.where(goes_on, 0, place[1:])
        begin = np.maximum.accumulate(stops, axis=1)
        stops[:] = grey.shape[1] - 1
        stops[:, :-1] = np.where(goes_on, grey.shape[1] - 1, place[:-1])
        end = np.minimum.accumulate(stops[:, ::-1], axis=1)[:, ::-1]
        own = rising == up
        found[own] = (end - begin)[rows[own], columns[own]]
    return found


@measure.of_image(
    direction="lower", range=(0, None), source="Wang, Sheikh and Bovik 2002", licence="Apache-2.0"
)
def blockiness(images: Sequence[Picture]) -> Values:
    """How much larger steps are across the borders of 8 x 8 blocks than elsewhere; about 1 without blocks.

    The mean absolute difference of neighbouring pixels of the luma across those borders over that of all
    other neighbours, the mean of both directions. The blocks are those of an image as it was compressed: in
    one that was scaled or cropped since they are not where they are looked for.
    """
    return [_ratio(image.rgb) for image in images]


def _ratio(rgb: np.ndarray) -> float | NoValue:
    found = _steps(rgb)
    if isinstance(found, NoValue):
        return found
    border, within, _ = found
    return NoValue("there are no steps within blocks to compare with") if within == 0 else border / within


@measure.of_image(direction="higher", source="Wang, Sheikh and Bovik 2002", licence="Apache-2.0")
def jpeg_quality(images: Sequence[Picture]) -> Values:
    """Quality of a JPEG-compressed image as people would rate it, from 1 (bad) to 10, by a published formula.

    S = -245.89 + 261.94 B^-0.0240 A^0.0160 Z^0.0064 with the mean absolute step B across the borders of 8 x 8
    blocks, the activity A within them and the rate Z at which neighbouring steps change their sign, each the
    mean of both directions. It knows of no other distortion.
    """
    return [_quality(image.rgb) for image in images]


def _quality(rgb: np.ndarray) -> Value | NoValue:
    found = _steps(rgb)
    if isinstance(found, NoValue):
        return found
    if min(found) <= 0:
        return NoValue("the image lacks steps that the formula takes the logarithm of")
    value = ALPHA + BETA * float(np.prod(np.array(found) ** np.array(GAMMA)))
    names = ("blockiness", "activity", "zero_crossings")
    return Value(value, {name: round(each, 6) for name, each in zip(names, found, strict=True)})


def _steps(rgb: np.ndarray) -> tuple[float, float, float] | NoValue:
    """Mean absolute step across borders of blocks, activity within them, and the rate of changing signs."""
    if min(rgb.shape[:2]) < LEAST_SIDE:
        return NoValue(TOO_SMALL)
    grey = grey_levels(rgb)
    both = np.array([_across(each) for each in (grey, grey.T)])
    if not both[:, :2].any():
        return NoValue(FLAT)
    border, within, crossings = both.mean(axis=0).tolist()
    return border, within, crossings


def _across(grey: np.ndarray) -> tuple[float, float, float]:
    step = grey[:, 1:] - grey[:, :-1]
    size = np.abs(step)
    border = float(size[:, SIDE - 1 :: SIDE].mean())
    within = (SIDE * float(size.mean()) - border) / (SIDE - 1)
    crossings = np.count_nonzero(step[:, 1:] * step[:, :-1] < 0) / (step.shape[0] * (step.shape[1] - 1))
    return border, max(0.0, within), crossings


@measure.of_image(
    direction="lower",
    range=(0, 100),
    source="after Gu et al. 2014 (SISBLIM); weights: Sightline",
    licence="Apache-2.0",
)
def mixed_distortion(images: Sequence[Picture]) -> Values:
    """How badly noise, blur and blocks distort an image together, from 0 (not at all) to 100.

    After SISBLIM, which estimates single distortions and their joint effect. Noise is Immerkaer's estimate in
    the quarter of blocks of 16 x 16 that have least of it, blur the mean width of edges, blocks the
    blockiness; their logarithms, squares and products are weighted as best predicted the loss of gradient
    similarity in photographs that we distorted (docs/quality.md). The evidence has the three.
    """
    return [_mixed(image.rgb) for image in images]


def _mixed(rgb: np.ndarray) -> Value | NoValue:
    found = single_distortions(rgb)
    if isinstance(found, NoValue):
        return found
    value = float(np.clip(mixed_terms(found) @ np.array(WEIGHTS), 0, 100))
    names = ("noise", "edge_width", "blockiness")
    return Value(value, {name: round(float(each), 6) for name, each in zip(names, found, strict=True)})


def single_distortions(rgb: np.ndarray) -> np.ndarray | NoValue:
    """Noise, mean width of edges, and blockiness."""
    steps = _steps(rgb)
    if isinstance(steps, NoValue):
        return steps
    grey = grey_levels(rgb)
    widths = edge_widths(grey)
    # Where nothing has an edge all of it is blurred.
    width = float(BLOCK) if isinstance(widths, NoValue) else float(widths[0].mean())
    return np.array([_least_noise(grey), width, (steps[0] + 0.1) / (steps[1] + 0.1)])


def mixed_terms(found: np.ndarray) -> np.ndarray:
    """1, the logarithms of the three, their squares and products."""
    logs = np.log(found + np.array([0.5, 0.0, 0.0]))
    pairs = [logs[i] * logs[j] for i in range(3) for j in range(i, 3)]
    return np.array([1.0, *logs, *pairs])


def _least_noise(grey: np.ndarray) -> float:
    second = np.abs(np.diff(np.diff(grey, n=2, axis=0), n=2, axis=1))
    down, across = (length // PATCH for length in second.shape)
    if min(down, across) == 0:
        return float(np.sqrt(np.pi / 2) / 6 * second.mean())
    blocks = second[: down * PATCH, : across * PATCH].reshape(down, PATCH, across, PATCH)
    return float(np.sqrt(np.pi / 2) / 6 * np.quantile(blocks.mean(axis=(1, 3)), 0.25))
