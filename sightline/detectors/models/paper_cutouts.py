"""The things in the sample study's drawings, found by their outline and named by their shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.extension import Detector, Picture, detector

Array = NDArray[np.float64]
TEMPLATES = Path(__file__).with_suffix(".npz")
SIDE = 20
"""Pixels of the square in which shapes are compared."""
APART = 26.0
"""How far, in RGB, a pixel must lie from the ground and from its shadow to be part of a thing."""
DEEPEST = 0.3
"""The strongest shadow, as a part of the way from the ground to the colour of shadows."""
SHADOW = np.array([62.0, 57.0, 75.0])
LEAST = 30
"""Pixels of the smallest thing."""
CRUMB = 0.06
"""What is smaller than this part of the largest piece is a part of another."""
PALE = 0.45
"""The proportion of a board that is pale: no thing has as much."""
STRANGE = 1.1
"""A piece this far from every shape is like none."""
SURE, CANDIDATES = 0.5, 4
"""Below this confidence so many kinds are named for one piece, since it may be any of them."""
LEAST_BOARD = 1_000
"""Pixels of the box around the smallest board."""
STEP = 7
"""Every so many pixels are used to fit the ground."""
PAINTS = {
    "red": (221, 56, 58), "orange": (244, 137, 40), "yellow": (247, 204, 55), "green": (70, 164, 88),
    "blue": (52, 122, 205), "purple": (136, 88, 190), "pink": (241, 128, 176), "black": (54, 54, 64),
}  # fmt: skip
"""What things are painted with."""
FIXED = ((255, 255, 255), (253, 243, 220), (146, 102, 70), (206, 229, 240), (255, 240, 178))
"""White, cream, wood, glass and lamplight: parts of things, whatever their paint."""
KINDS = (
    "apple", "ball", "balloon", "boat", "box", "car", "cat", "cup", "fish", "flower", "heart", "house",
    "mushroom", "star", "tree", "triangle", "umbrella",
)  # fmt: skip


@detector(
    sees=("objects",),
    vocabulary=KINDS,
    source="ours: shapes of the sample study",
    licence="Apache-2.0",
    packages=(),
)
def paper_cutouts() -> Detector:
    """Boxes around the seventeen kinds of things that the sample study draws, by looking at pixels.

    The calm ground is fitted and taken away, what is left falls into pieces, and each piece is compared with
    the shapes of all kinds. It knows nothing else: on photographs it is of no use.
    """
    return _Cutouts()


class _Cutouts:
    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        return [{"objects": _things(image.rgb)} for image in images]


def _things(rgb: np.ndarray) -> list[dict[str, Any]]:
    from scipy import ndimage

    pixels = _smoothed(rgb)
    pieces, _ = ndimage.label(_not_ground(pixels), np.ones((3, 3)))
    height, width = pieces.shape
    areas = np.bincount(pieces.ravel())[1:]
    places = ndimage.find_objects(pieces)
    wholes = [ndimage.binary_fill_holes(pieces[place] == n) for n, place in enumerate(places, 1)]
    boards = [
        place for place, whole in zip(places, wholes, strict=True) if _is_board(pixels[place][whole], whole)
    ]
    found = []
    for area, place, whole in zip(areas.tolist(), places, wholes, strict=True):
        if area < max(LEAST, CRUMB * areas.max()) or any(_inside(place, board) for board in boards):
            continue
        down, across = place
        box = [across.start / width, down.start / height, across.stop / width, down.stop / height]
        found += [
            {
                "kind": kind,
                "box": [round(side, 4) for side in box],
                "confidence": round(sure, 4),
                "colours": _paints(pixels[place][whole]),
            }
            for kind, sure in _named(pixels[place], whole)
        ]
    return found


def _paints(colours: Array) -> dict[str, float]:
    """The proportion of a thing that each paint covers; fixed parts, such as wood and glass, have none."""
    names, shades = _shades()
    # |p - s|^2 without |p|^2, which is the same for every shade.
    nearest = np.argmin((shades**2).sum(axis=1) - 2 * colours @ shades.T, axis=1)
    counts = np.bincount(names[nearest], minlength=len(PAINTS) + 1)[: len(PAINTS)]
    total = max(1, int(counts.sum()))
    return {name: round(int(n) / total, 4) for name, n in zip(PAINTS, counts, strict=True)}


@cache
def _shades() -> tuple[NDArray[np.int64], Array]:
    """Every shade of a paint and of the fixed parts, and the number of its paint."""
    names: list[int] = []
    shades: list[list[float]] = []
    for number, paint in enumerate(PAINTS.values()):
        for other, share in (((255, 255, 255), 0.36), ((255, 255, 255), 0.0), ((43, 42, 51), 0.24)):
            names.append(number)
            shades.append([a + (b - a) * share for a, b in zip(paint, other, strict=True)])
    for part in FIXED:
        names.append(len(PAINTS))
        shades.append([float(level) for level in part])
    return np.array(names), np.array(shades, dtype=np.float64)


def _smoothed(rgb: np.ndarray) -> Array:
    """Pixels without grain: a mean with their neighbours, as wide as the grain is strong."""
    from scipy import ndimage

    pixels = rgb.astype(np.float64)
    grey = pixels.mean(axis=2)
    grain = float(np.median(np.abs(grey - ndimage.uniform_filter(grey, 3))))
    if grain < 0.8:
        return pixels
    return np.asarray(ndimage.gaussian_filter(pixels, sigma=(*(0.8 if grain < 5 else 1.3,) * 2, 0)))


def _is_board(colours: Array, whole: NDArray[np.bool_]) -> bool:
    """Whether a piece is a board with writing: large enough, and pale for the most part."""
    pale = (colours.min(axis=1) > 200) & (np.ptp(colours, axis=1) < 45)
    return whole.size > LEAST_BOARD and float(pale.mean()) > PALE


def _inside(place: tuple[slice, ...], board: tuple[slice, ...]) -> bool:
    """Whether a piece is a board, or lies on one, as letters do."""
    pairs = zip(place, board, strict=True)
    return all(outer.start <= inner.start and inner.stop <= outer.stop for inner, outer in pairs)


def _not_ground(pixels: Array) -> NDArray[np.bool_]:
    """What is neither the ground, a smooth surface in each channel, nor the ground in shadow."""
    height, width = pixels.shape[:2]
    terms = _surface(height, width)
    colours = pixels.reshape(-1, 3)
    few, some = terms[::STEP], colours[::STEP]
    # The ground is the brightest of what is common: begin with the upper half, then keep what fits.
    light = some.mean(axis=1)
    kept = light >= np.quantile(light, 0.55)
    fitted = np.zeros((terms.shape[1], 3))
    for bound in (40.0, 24.0, 16.0, 12.0):
        own = few[kept]
        fitted = np.linalg.solve(own.T @ own + 1e-6 * np.eye(own.shape[1]), own.T @ some[kept])
        kept = np.linalg.norm(some - few @ fitted, axis=1) < bound
        if kept.sum() < 50:
            break
    ground = terms @ fitted
    towards = SHADOW - ground
    gap = colours - ground
    along = np.clip(np.sum(gap * towards, axis=1) / np.sum(towards**2, axis=1), 0.0, DEEPEST)
    rest = np.linalg.norm(gap - along[:, None] * towards, axis=1)
    return np.asarray((rest > APART).reshape(height, width))


@cache
def _surface(height: int, width: int) -> Array:
    """The terms of a smooth surface at every pixel: a polynomial of the third degree."""
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    terms = [np.ones_like(x), x, y, x * x, x * y, y * y, x**3, x * x * y, x * y * y, y**3]
    return np.stack(terms, axis=-1).reshape(-1, len(terms))


def described(grey: Array, mask: NDArray[np.bool_]) -> Array:
    """A shape as numbers: its outline and its light and dark parts in a square, and how wide it is."""
    outline, shade = (_square(each) for each in (mask.astype(np.float64), np.where(mask, grey, 0.0)))
    inside = outline > 0.5
    level = shade[inside] / np.maximum(outline[inside], 0.5) if inside.any() else np.zeros(1)
    spread = float(level.std()) or 1.0
    relief = np.zeros_like(outline)
    relief[inside] = np.clip((level - level.mean()) / max(spread, 6.0), -2, 2)
    height, width = mask.shape
    parts = [(outline - outline.mean()).ravel(), 0.35 * relief.ravel()]
    shape = np.concatenate(parts)
    shape /= np.linalg.norm(shape) or 1.0
    return np.append(shape, 0.6 * np.log(width / height))


def _square(values: Array) -> Array:
    """Values averaged or repeated to SIDE x SIDE."""
    rows, columns = (_weights(size) for size in values.shape)
    return np.asarray(rows @ values @ columns.T)


@cache
def _weights(size: int) -> Array:
    """How much each of `size` cells counts in each of SIDE cells of the same length."""
    edges = np.linspace(0, size, SIDE + 1)
    cells = np.arange(size)
    low, high = np.maximum(edges[:-1, None], cells), np.minimum(edges[1:, None], cells + 1)
    weights = np.maximum(high - low, 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _named(pixels: Array, mask: NDArray[np.bool_]) -> list[tuple[str, float]]:
    """The kind whose shape is most alike, and how sure that is; where it is not, the next ones as well."""
    kinds, shapes = _templates()
    apart = np.linalg.norm(shapes - described(pixels.mean(axis=2), mask), axis=1)
    best: dict[str, float] = {}
    for kind, far in zip(kinds, apart.tolist(), strict=True):
        best[kind] = min(far, best.get(kind, far))
    ordered = sorted(best, key=lambda kind: best[kind])
    nearest, second = (best[kind] for kind in ordered[:2])
    # Unsure where two kinds are about equally alike, and of what is like none.
    margin = second / max(nearest + second, 1e-9)
    sure = float(np.clip(6 * (margin - 0.5) + 0.35, 0.05, 0.99)) if nearest < STRANGE else 0.2
    if sure >= SURE:
        return [(ordered[0], sure)]
    return [(kind, sure * nearest / best[kind]) for kind in ordered[:CANDIDATES]]


@cache
def _templates() -> tuple[list[str], Array]:
    with np.load(TEMPLATES) as file:
        return [KINDS[number] for number in file["kind"]], file["shape"].astype(np.float64)
