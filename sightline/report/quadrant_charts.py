"""Easy and hard on two scales at once: every prompt in a plane that is parted into four."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import direction_said, format_number
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import MOST_POINTS, NARROW, WIDE, Domain, Spec, chart, dashed, extent, layer
from sightline.rendering.shown import Scale
from sightline.rendering.theme import ACCENT, INK

Array = NDArray[np.float64]

FIELDS = 36
"""Fields along each side in which prompts are gathered where there are too many for a dot each."""
SIDE = 440
LONGEST_AT_AN_EDGE = 16
"""Two of these fit next to each other on a phone; longer ones say only whether it is easy or hard."""


def cut_between(values: ArrayLike) -> float:
    """Where the lower half ends: values at or above this are the upper half.

    The median itself joins whichever half makes the two more even; where all values are equal there is only
    an upper half.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not ordered.size:
        raise ValueError("no values have no middle")
    median = float(np.median(ordered))
    above = ordered[ordered > median]
    if not above.size:
        return median
    with_median = abs(2 * int((ordered >= median).sum()) - ordered.size)
    without = abs(2 * above.size - ordered.size)
    return median if with_median <= without else float(above[0])


@dataclass(frozen=True)
class Quadrant:
    """The prompts that are hard or easy on one scale and on the other, the clearest cases first."""

    name: str
    easy_first: bool
    easy_second: bool
    rows: NDArray[np.int64]


def quadrants(
    first: ArrayLike, second: ArrayLike, scales: tuple[Scale, Scale], words: tuple[str, str]
) -> list[Quadrant]:
    """Four groups of prompts, cut at the middle of each scale; `words` are what easy and hard go with.

    The clearest case of a group is the prompt whose nearer one of two ranks lies farthest from the middle.
    """
    from scipy.stats import rankdata

    columns = [np.asarray(column, dtype=np.float64) for column in (first, second)]
    easy, depth = [], []
    for column, scale in zip(columns, scales, strict=True):
        signed = -column if scale.direction == "lower" else column
        easy.append(signed >= cut_between(signed))
        depth.append(np.abs(rankdata(signed) / max(1, signed.size) - 0.5))
    clearest = np.minimum(*depth)
    four = []
    for one, two in ((True, True), (True, False), (False, True), (False, False)):
        rows = np.flatnonzero((easy[0] == one) & (easy[1] == two))
        order = rows[np.lexsort((rows, -clearest[rows]))]
        name = f"{_said(one, words[0])}, {_said(two, words[1])}"
        four.append(Quadrant(name, one, two, order.astype(np.int64)))
    return four


def _said(easy: bool, word: str) -> str:
    return f"{'easy' if easy else 'hard'} {word}"


def quadrant_figure(
    first: ArrayLike,
    second: ArrayLike,
    *,
    scales: tuple[Scale, Scale],
    words: tuple[str, str],
    note: str = "",
) -> Figure:
    """Every prompt on two scales of difficulty, with the middles that part easy from hard."""
    columns = [np.asarray(column, dtype=np.float64) for column in (first, second)]
    groups = quadrants(columns[0], columns[1], scales, words)
    total = max(1, sum(each.rows.size for each in groups))
    spans = [_with_room(column, scale) for column, scale in zip(columns, scales, strict=True)]
    cuts = [_line(column, scale) for column, scale in zip(columns, scales, strict=True)]
    proportions = "; ".join(
        f"{each.name} {each.rows.size:,} ({format_number(each.rows.size / total, '%')})" for each in groups
    )

    def draw(width: int) -> Spec:
        side = min(width, SIDE)
        said = (
            f"{total:,} prompts by {scales[0].name} and {scales[1].name}, parted at the middle of each: "
            f"{proportions}."
        )
        layers = [_DOTS, *_cross(cuts, spans), *_sides(scales, words)]
        encoding = {
            name: {
                "type": "quantitative",
                "scale": {"domain": list(span), "nice": False},
                "axis": {"title": _titled(scale), "grid": False, "tickCount": 5},
            }
            for name, span, scale in zip("xy", spans, scales, strict=True)
        }
        return {**chart(_dots(columns, side), layers, side, side - 90, said), "encoding": encoding}

    caption = (
        "Each dot is a prompt, a larger one several prompts in the same place. The dashed lines part the "
        "easier from the harder half on each scale."
    )
    return Figure(draw(WIDE), draw(NARROW), f"{caption} {note}".strip())


def _titled(scale: Scale) -> str:
    return f"true {scale.name}" + (
        f"  ({direction_said(scale.direction)})" if scale.direction != "none" else ""
    )


def _line(column: Array, scale: Scale) -> float:
    """Where the line is drawn: halfway between the two halves, so that no prompt lies on it."""
    sign = -1.0 if scale.direction == "lower" else 1.0
    cut = cut_between(sign * column)
    below = (sign * column)[sign * column < cut]
    return sign * (cut if not below.size else (cut + float(below.max())) / 2)


def _dots(columns: Sequence[Array], side: int) -> list[Spec]:
    """Where prompts lie and how many; more than MOST_POINTS places are gathered into the fields of a grid.

    All dots together cover a fifth of the plane, however many prompts there are.
    """
    places = np.column_stack(columns)
    points, which, counts = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    if len(points) > MOST_POINTS:
        low, high = places.min(axis=0), places.max(axis=0)
        field = np.floor((places - low) / np.where(high > low, high - low, 1) * FIELDS)
        _, which, counts = np.unique(field, axis=0, return_inverse=True, return_counts=True)
        sums = [np.bincount(which.ravel(), weights=column) for column in columns]
        points = np.column_stack(sums) / counts[:, None]
    each = min(50.0, side**2 / 5 / max(1, len(places)))
    return [
        {"x": float(x), "y": float(y), "area": round(max(3.0, each * n), 1)}
        for (x, y), n in zip(points, counts.tolist(), strict=True)
    ]


_PLACE: Spec = {"x": {"field": "x"}, "y": {"field": "y"}}
_AREA = {"field": "area", "type": "quantitative", "scale": None, "legend": None}
_DOTS = layer("point", {**_PLACE, "size": _AREA}, color=ACCENT.light, opacity=0.55)


def _cross(cuts: Sequence[float], spans: Sequence[Domain]) -> list[Spec]:
    (x, y), (across, up) = cuts, spans
    ends = ([(x, up[0]), (x, up[1])], [(across[0], y), (across[1], y)])
    return [dashed(pair, _PLACE, color=INK.light, strokeDash=[5, 4]) for pair in ends]


def _sides(scales: tuple[Scale, Scale], words: tuple[str, str]) -> list[Spec]:
    """What lies at either end of both scales, written along the upper and the right edge."""
    made: list[Spec] = []
    for number, (scale, word) in enumerate(zip(scales, words, strict=True)):
        for at_end in (False, True):
            easy = at_end == (scale.direction != "lower")
            look: Spec = {"align": "right" if at_end else "left", "fontSize": 12, "fontWeight": 600}
            x: Any = {"expr": "width"} if at_end else 0
            y: Any = -14
            if number:
                look["angle"] = -90
                x, y = {"expr": "width + 16"}, 0 if at_end else {"expr": "height"}
            said = _said(easy, word)
            text = {"datum": said if len(said) <= LONGEST_AT_AN_EDGE else said[:4]}
            place = {"x": {"value": x}, "y": {"value": y}, "text": text}
            made.append({"data": {"values": [{}]}, **layer("text", place, color=INK.light, **look)})
    return made


def _with_room(column: Array, scale: Scale) -> Domain:
    """The range of the values with a little room at either end, as far as the scale reaches."""
    low, high = extent(column)
    room = 0.05 * (high - low)
    ends = scale.domain or (low - room, high + room)
    return max(low - room, min(low, ends[0])), min(high + room, max(high, ends[1]))
