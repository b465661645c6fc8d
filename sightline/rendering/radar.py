"""A radar chart: one line per series around a circle of axes that all run from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sightline.rendering.charts import WIDE, Spec, layer, short_names
from sightline.rendering.theme import ACCENT, INK, LINE, MUTED, Colour

RINGS = (0.25, 0.5, 0.75, 1.0)
LEAST_AXES = 3
"""With fewer axes there is no area to draw around."""
LABEL_AT = 1.12
SIZE = {True: (430, 400), False: (300, 300)}
"""Width and height of the drawing on a page and on a phone."""
REACH = {True: (1.95, 1.3), False: (2.0, 1.35)}
"""How far the drawing reaches from its middle, across and down: room for the words at the axes."""


def radar(
    axes: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    colours: Mapping[str, Colour],
    width: int = WIDE,
    what: str = "",
) -> Spec:
    """Lines of the series' values on the axes, in the order given; a gap where a value is not known."""
    if len(axes) < LEAST_AXES:
        raise ValueError(f"a radar needs {LEAST_AXES} axes or more, not {len(axes)}")
    wide = width >= WIDE
    scale = {axis: {"domain": [-far, far]} for axis, far in zip("xy", REACH[wide], strict=True)}
    place: dict[str, Any] = {
        axis: {"field": axis, "type": "quantitative", "scale": scale[axis], "axis": None} for axis in "xy"
    }
    names = short_names(list(axes), 22 if wide else 14)
    layers = [_rings(place, len(axes)), _spokes(place, len(axes)), _ring_labels(place)]
    layers += [
        _labels(place, [names[axis] for axis in axes], wide, side) for side in ("left", "center", "right")
    ]
    layers += _lines(place, series, colours, len(axes))
    across, down = SIZE[wide]
    return {
        "description": _described(axes, series, what),
        "data": {"values": []},
        "layer": layers,
        "width": across if not wide else round(across * REACH[True][0] / REACH[True][1]),
        "height": down,
        "padding": 4,
    }


def _at(place: int, of: int, far: float) -> tuple[float, float]:
    """A place on an axis; the first points up, the others follow clockwise."""
    angle = math.pi / 2 - 2 * math.pi * place / of
    return round(far * math.cos(angle), 5), round(far * math.sin(angle), 5)


def _values(rows: Sequence[Mapping[str, Any]]) -> Spec:
    return {"data": {"values": list(rows)}}


def _rings(place: Mapping[str, Any], n: int) -> Spec:
    rows = [
        {"x": x, "y": y, "ring": str(ring), "order": number}
        for ring in RINGS
        for number in range(n + 1)
        for x, y in [_at(number % n, n, ring)]
    ]
    shown = {**place, "detail": {"field": "ring"}, "order": {"field": "order", "type": "quantitative"}}
    return {**_values(rows), **layer("line", shown, color=LINE.light, strokeWidth=1)}


def _spokes(place: Mapping[str, Any], n: int) -> Spec:
    rows = [
        {"x": x, "y": y, "axis": str(number), "order": order}
        for number in range(n)
        for order, (x, y) in enumerate([(0.0, 0.0), _at(number, n, 1.0)])
    ]
    shown = {**place, "detail": {"field": "axis"}, "order": {"field": "order", "type": "quantitative"}}
    return {**_values(rows), **layer("line", shown, color=LINE.light, strokeWidth=1)}


def _ring_labels(place: Mapping[str, Any]) -> Spec:
    rows = [{"x": 0.02, "y": ring, "text": f"{100 * ring:.0f} %"} for ring in RINGS if ring < 1]
    shown = {**place, "text": {"field": "text"}}
    return {**_values(rows), **layer("text", shown, align="left", dy=-4, color=MUTED.light, fontSize=10)}


def _labels(place: Mapping[str, Any], names: Sequence[str], wide: bool, side: str) -> Spec:
    rows = []
    for number, name in enumerate(names):
        x, y = _at(number, len(names), LABEL_AT)
        own = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
        if own == side:
            rows.append({"x": x, "y": y, "text": name})
    shown = {**place, "text": {"field": "text"}}
    look = {"align": side, "baseline": "middle", "color": INK.light, "fontSize": 13 if wide else 11}
    return {**_values(rows), **layer("text", shown, **look)}


def _lines(
    place: Mapping[str, Any],
    series: Mapping[str, Sequence[float | None]],
    colours: Mapping[str, Colour],
    n: int,
) -> list[Spec]:
    made = []
    for name, values in series.items():
        colour = colours.get(name, ACCENT).light
        points = [
            {"x": x, "y": y, "order": number}
            for number in range(n)
            if (value := values[number]) is not None
            for x, y in [_at(number, n, value)]
        ]
        closed = [*points, {**points[0], "order": n}] if len(points) == n else points
        shown = {**place, "order": {"field": "order", "type": "quantitative"}}
        made.append({**_values(closed), **layer("line", shown, color=colour, strokeWidth=2.5, opacity=0.9)})
        made.append({**_values(points), **layer("point", place, color=colour, size=45, opacity=1)})
    return made


def _described(axes: Sequence[str], series: Mapping[str, Sequence[float | None]], what: str) -> str:
    parts = []
    for name, values in series.items():
        known = zip(axes, values, strict=True)
        said = [f"{axis} {'not known' if value is None else f'{value:.2f}'}" for axis, value in known]
        parts.append(f"{name}: {', '.join(said)}")
    return f"Radar chart of {what or 'values from 0 to 1'}. {'; '.join(parts)}."
