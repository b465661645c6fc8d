"""A prompt's images as thumbnails on a map: the nearer two lie, the more alike they are."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import clean
from sightline.rendering.blocks import Map, PlacedPicture, picture
from sightline.rendering.charts import unique
from sightline.rendering.shown import Thumbnail
from sightline.rendering.theme import ACCENT, Colour, system_colours
from sightline.statistics.scaling import scaled

Array = NDArray[np.float64]

MOST_ON_A_MAP = 40
MOST_HIDDEN = 0.25
"""The proportion of a thumbnail that all others together may cover."""
LARGEST = 0.17
FILLED = 0.35
"""A thumbnail's side is at most LARGEST of the map's width; all together cover FILLED of its square."""
FLATTEST, TALLEST = 0.45, 0.8
"""Limits of a map's height, relative to its width."""
SCROLLS_ABOVE = 12
STEPS = 200
SHRUNK = (1.0, 0.9, 0.8)
_GOLDEN = np.pi * (3 - np.sqrt(5))


@dataclass(frozen=True)
class Laid:
    """Where the middles of thumbnails lie on a map of width 1 and this height, and how far any was moved."""

    places: Array
    side: float
    height: float
    moved: float


def scaling_map(
    thumbnails: Sequence[Thumbnail],
    distances: ArrayLike,
    *,
    prompt: str,
    distance: str = "",
    colours: Mapping[str, Colour] | None = None,
    note: str = "",
) -> Map:
    """The images of one prompt laid out by multidimensional scaling, with the map's stress in its caption.

    `distances` has a row and a column for each thumbnail. More than MOST_ON_A_MAP are not drawn: every so
    manieth is, and the caption says so. A badge numbers each image, after the letter of its system where
    there are several, so that colour alone tells nothing.
    """
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.shape != (len(thumbnails), len(thumbnails)):
        raise ValueError(f"{len(thumbnails)} thumbnails need as many rows of distances, not {matrix.shape}")
    shown = chosen(len(thumbnails))
    found = scaled(matrix[np.ix_(shown, shown)])
    laid = laid_out(found.places)
    systems = sorted(unique(thumbnail.system for thumbnail in thumbnails if thumbnail.system))
    palette = colours or system_colours(systems)
    badges = _badges([thumbnail.system for thumbnail in thumbnails], systems)
    text = clean(prompt).strip()
    pictures = [
        _placed(thumbnails[i], badges, matrix, i, place, laid, text, palette)
        for i, place in zip(shown.tolist(), laid.places, strict=True)
    ]
    several = len(systems) > 1
    legend = [(_letter(n), name, palette.get(name, ACCENT).name) for n, name in enumerate(systems) if several]
    caption = f"{_said(found.stress, laid, len(shown), len(thumbnails), distance)} {note}".strip()
    return Map(
        label=f"Map of {len(shown)} images of “{text[:120]}”: the nearer two lie, the more alike they are",
        pictures=pictures,
        side=round(100 * laid.side, 2),
        shape=round(1 / laid.height, 3),
        caption=caption,
        legend=legend,
        scrolls=len(shown) > SCROLLS_ABOVE,
    )


def chosen(count: int, most: int = MOST_ON_A_MAP) -> NDArray[np.int64]:
    """Which of so many are shown: all, or `most` of them evenly spread over their order."""
    if count <= most:
        return np.arange(count)
    return np.round(np.linspace(0, count - 1, most)).astype(np.int64)


def laid_out(places: ArrayLike) -> Laid:
    """Places fitted onto a map of width 1, then pushed apart until at most MOST_HIDDEN of each is covered.

    One scale serves both axes. Thumbnails shrink a little where pushing alone does not free them; where that
    is not enough, such as with a crowd in a corner, each takes the place of a grid so that all together move
    least. What lies in one place is pushed in the golden angle's directions, the same every time.
    """
    given = np.asarray(places, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError("places on a map must be finite")
    side = min(LARGEST, float(np.sqrt(FILLED / max(1, len(given)))))
    for smaller in SHRUNK:
        fitted, height = _fitted(given, side * smaller)
        apart = _pushed(fitted, side * smaller, height)
        if hidden_shares(apart, side * smaller).max(initial=0.0) <= MOST_HIDDEN + 1e-9:
            return _laid(apart, fitted, side * smaller, height)
    fitted, height = _fitted(given, side)
    while int(1 / side) * int(height / side) < len(given):
        side *= 0.95
    return _laid(_on_a_grid(fitted, side, height), fitted, side, height)


def _laid(places: Array, wanted: Array, side: float, height: float) -> Laid:
    far = np.sqrt(((places - wanted) ** 2).sum(axis=1))
    return Laid(places, side, height, float(far.max(initial=0.0)))


def _on_a_grid(places: Array, side: float, height: float) -> Array:
    """The places of a grid that cost the least sum of squared moves."""
    from scipy.optimize import linear_sum_assignment

    columns, rows = int(1 / side), int(height / side)
    across, down = (np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows * height
    cells = np.stack(np.meshgrid(across, down), axis=2).reshape(-1, 2)
    _, taken = linear_sum_assignment(((places[:, None] - cells[None]) ** 2).sum(axis=2))
    return np.asarray(cells[taken], dtype=np.float64)


def _fitted(places: Array, side: float) -> tuple[Array, float]:
    if not len(places):
        return places, FLATTEST
    low, size = places.min(axis=0), np.ptp(places, axis=0)
    room = np.array([1 - side, TALLEST - side])
    # A spread that is lost beside its own size is rounding, and none.
    spread = size.max() > 1e-9 * max(1e-9, float(np.abs(places).max()))
    scale = float((room / np.maximum(size, size.max() * 1e-6)).min()) if spread else 0.0
    height = float(np.clip(size[1] * scale + side, FLATTEST, TALLEST))
    middle = np.array([0.5, height / 2])
    return np.asarray((places - low - size / 2) * scale + middle), height


def _pushed(places: Array, side: float, height: float) -> Array:
    """Each step moves apart, inside the map, all that overlaps where too much of a thumbnail is covered."""
    at = places.copy()
    n = len(at)
    angles = _GOLDEN * (np.arange(n)[:, None] + n * np.arange(n)[None])
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    ways = np.triu(np.ones((n, n)), 1)[:, :, None] * ways
    ways = ways - ways.transpose(1, 0, 2)
    edges = np.array([[side / 2] * 2, [1 - side / 2, height - side / 2]])
    for _ in range(STEPS):
        # Those drawn later lie on top: of a pair, the first is covered.
        shared = np.triu(_shared(at, side), 1)
        over = (shared > 0) & (shared.sum(axis=1) > MOST_HIDDEN)[:, None]
        if not over.any():
            break
        over |= over.T
        gap = at[:, None] - at[None]
        far = np.sqrt((gap**2).sum(axis=2))
        near = far < side * 1e-3
        way = np.where(near[:, :, None], ways, gap / np.maximum(far, 1e-12)[:, :, None])
        overlap = np.clip(side - np.abs(gap), 0, None).min(axis=2)
        # A little more than is needed in all, so that the last steps do not creep.
        step = np.where(over, overlap * 0.25 + side * 0.005, 0.0)
        at = np.clip(at + (way * step[:, :, None]).sum(axis=1), edges[0], edges[1])
    return at


def hidden_shares(places: ArrayLike, side: float) -> Array:
    """At most this proportion of each thumbnail is covered by those drawn after it."""
    return np.asarray(np.triu(_shared(np.asarray(places, dtype=np.float64), side), 1).sum(axis=1))


def _shared(places: Array, side: float) -> Array:
    """The proportion of its area that each pair of thumbnails has in common."""
    gap = np.abs(places[:, None] - places[None])
    return np.asarray(np.clip(side - gap, 0, None).prod(axis=2) / side**2)


def _placed(
    thumbnail: Thumbnail,
    badges: Sequence[str],
    matrix: Array,
    i: int,
    place: Array,
    laid: Laid,
    prompt: str,
    palette: Mapping[str, Colour],
) -> PlacedPicture:
    shown = picture(thumbnail, prompt, palette)
    whose = f" of {thumbnail.system}" if thumbnail.system else ""
    alt = f"image {badges[i]}{whose}"
    if len(matrix) > 1:
        others = np.where(np.arange(len(matrix)) == i, np.inf, matrix[i])
        nearest = int(others.argmin())
        alt += f", nearest to {badges[nearest]} at distance {others[nearest]:.3g}"
    left, top = 100 * place[0], 100 * place[1] / laid.height
    return PlacedPicture(
        dataclasses.replace(shown, alt=alt), round(float(left), 2), round(float(top), 2), badges[i]
    )


def _badges(names: Sequence[str], systems: Sequence[str]) -> list[str]:
    counts: Counter[str] = Counter()
    badges = []
    for name in names:
        counts[name] += 1
        letter = _letter(systems.index(name)) if len(systems) > 1 and name in systems else ""
        badges.append(f"{letter}{counts[name]}")
    return badges


def _letter(n: int) -> str:
    """A, B ... Z, AA, AB ..."""
    return (_letter(n // 26 - 1) if n >= 26 else "") + chr(ord("A") + n % 26)


def _said(stress: float, laid: Laid, shown: int, count: int, distance: str) -> str:
    by = f" by {distance}" if distance else ""
    said = [f"The nearer two images lie, the more alike they are{by} (multidimensional scaling)."]
    said.append(f"Stress {stress:.2f}: distances on the map miss the true ones by {100 * stress:.0f} %.")
    if laid.moved > 0.01:
        said.append(
            f"Thumbnails were moved by up to {100 * laid.moved:.0f} % of the map's width so that "
            f"at most {100 * MOST_HIDDEN:.0f} % of each is covered."
        )
    if shown < count:
        said.append(f"{shown} of {count:,} images are drawn, evenly spread over their order.")
    return " ".join(said)
