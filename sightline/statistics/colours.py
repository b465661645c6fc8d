"""Basic colour names of pixels: which of eleven colours each belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

# The eleven basic colour terms of Berlin and Kay, each by a few examples as paint boxes and CSS name them.
EXAMPLES: Mapping[str, Sequence[tuple[int, int, int]]] = {
    "black": [(0, 0, 0), (30, 30, 30)],
    "white": [(255, 255, 255), (235, 235, 235)],
    "grey": [(128, 128, 128), (80, 80, 80), (190, 190, 190)],
    "red": [(255, 0, 0), (200, 20, 30), (139, 0, 0)],
    "orange": [(255, 165, 0), (255, 120, 0)],
    "yellow": [(255, 255, 0), (240, 210, 40)],
    "green": [(0, 128, 0), (0, 230, 60), (130, 190, 60), (40, 80, 40)],
    "blue": [(0, 0, 255), (40, 90, 200), (0, 150, 200), (150, 205, 250), (20, 30, 110)],
    "purple": [(128, 0, 128), (120, 60, 180), (190, 150, 240), (60, 10, 100)],
    "pink": [(255, 192, 203), (255, 105, 180), (240, 140, 160)],
    "brown": [(139, 69, 19), (100, 60, 30), (165, 110, 70)],
}
SPELLINGS: Mapping[str, str] = {**{name: name for name in EXAMPLES}, "gray": "grey", "violet": "purple"}
WORD = re.compile(r"\b(" + "|".join(SPELLINGS) + r")\b", re.IGNORECASE)
STEPS = 256


def named_colours(text: str) -> list[str]:
    """The basic colours that a text names, in order of their names."""
    return sorted({SPELLINGS[word.lower()] for word in WORD.findall(text)})


def colour_shares(rgb: np.ndarray) -> dict[str, float]:
    """The proportion of an image that each basic colour covers, on a grid of at most 256 x 256 pixels.

    Every pixel, at 32 steps per channel, belongs to the colour whose examples it is nearest to in CIELAB.
    """
    # Skipping pixels instead of averaging them: a mean of two colours is a third that nobody painted.
    step = max(1, -(-max(rgb.shape[:2]) // STEPS))
    red, green, blue = np.moveaxis(rgb[::step, ::step].astype(np.uint16) >> 3, 2, 0)
    cells = np.bincount((red << 10 | green << 5 | blue).ravel(), minlength=32**3)
    share = np.bincount(_names(), weights=cells, minlength=len(EXAMPLES)) / red.size
    return {name: float(part) for name, part in zip(EXAMPLES, share, strict=True)}


@cache
def _names() -> np.ndarray:
    """Which basic colour each cell of a 32 x 32 x 32 grid over RGB belongs to, by the centre of the cell."""
    steps = np.arange(32) * 8 + 3.5
    cells = _lab(np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3))
    examples = _lab(np.array([example for group in EXAMPLES.values() for example in group]))
    owner = np.repeat(np.arange(len(EXAMPLES)), [len(group) for group in EXAMPLES.values()])
    # |p - e|^2 without |p|^2, which is the same for every example.
    return owner[np.argmin((examples**2).sum(axis=1) - 2 * cells @ examples.T, axis=1)]


def _lab(rgb: np.ndarray) -> np.ndarray:
    """sRGB bytes to CIELAB under D65 (IEC 61966-2-1, CIE 15)."""
    value = rgb / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ to_xyz.T / np.array([0.9505, 1.0, 1.089])
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = root[:, 0], root[:, 1], root[:, 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def object_colours(rgb: np.ndarray, box: tuple[float, float, float, float]) -> dict[str, float]:
    """The proportion of the object in a box that each basic colour covers, without what is around it.

    Pixels are the object's where their colour (8 steps per channel) is more frequent in the middle of the box
    than around the box and in its corners; the two are weighed by their frequencies, so that nothing is
    cut off sharply. Where the surroundings look like the object, all of the middle counts. `box` is
    [left, top, right, bottom] as fractions. Colours that cover less than 1 % are left out.
    """
    pixels, inside = _around(rgb, box)
    red, green, blue = np.moveaxis(pixels, 2, 0)
    cells = (red >> 5).astype(np.int64) << 6 | (green >> 5).astype(np.int64) << 3 | (blue >> 5)
    # Of a box of a pixel or two the one nearest to its centre is the middle.
    middle = inside >= min(MIDDLE, inside.max())
    object_, rest = (_smoothed(cells[where]) for where in (middle, inside < 0))
    weight = np.where(inside >= 0, (object_ / (object_ + rest))[cells], 0.0)
    # Evidence for the object counts, a toss-up does not.
    weight = np.clip(weight * 2 - 1, 0, None)
    if weight.sum() < FAINT * middle.sum():
        weight = middle.astype(np.float64)
    fine = (red.astype(np.int64) >> 3) << 10 | (green.astype(np.int64) >> 3) << 5 | (blue >> 3)
    covered = np.bincount(_names()[fine.ravel()], weights=weight.ravel(), minlength=len(EXAMPLES))
    parts = covered / covered.sum()
    return {name: round(float(part), 3) for name, part in zip(EXAMPLES, parts, strict=True) if part >= 0.01}


MIDDLE = 0.4
"""From the corner (0) to the centre (1) of a box: what lies further in is taken for the object's middle."""
FAINT = 0.1
"""With less evidence for the object than this fraction of the middle, it looks like what is around it."""


def _around(rgb: np.ndarray, box: tuple[float, float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Pixels of a box and of a quarter of its size around it, and how far inside each is.

    1 is the centre, 0 the ellipse that touches the sides; corners and surroundings are below 0.
    """
    height, width = rgb.shape[:2]
    left, top, right, bottom = box
    across, down = max((right - left) * width, 1.0), max((bottom - top) * height, 1.0)
    x0, x1 = max(0, int(left * width - across / 4)), min(width, int(np.ceil(right * width + across / 4)))
    y0, y1 = max(0, int(top * height - down / 4)), min(height, int(np.ceil(bottom * height + down / 4)))
    step = max(1, -(-max(x1 - x0, y1 - y0) // STEPS))
    y, x = np.mgrid[y0 : max(y1, y0 + 1) : step, x0 : max(x1, x0 + 1) : step]
    from_centre = np.hypot(
        (x + 0.5 - (left + right) / 2 * width) / (across / 2),
        (y + 0.5 - (top + bottom) / 2 * height) / (down / 2),
    )
    return rgb[y, x], 1 - from_centre


def _smoothed(cells: np.ndarray) -> np.ndarray:
    """Frequencies of 512 colours, none of them 0."""
    counts = np.bincount(cells.ravel(), minlength=512).astype(np.float64)
    return (counts + 1e-3) / (counts.sum() + 0.512)
