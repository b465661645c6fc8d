"""Charts as Vega-Lite dictionaries, and the one way they are drawn.

Every function takes plain data and returns a plain dictionary; its `description` is the alternative text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from sightline.estimate import (
    DIRECTION_WORDS,
    Direction,
    Estimate,
    clean,
    column_decimals,
    direction_said,
    format_cell,
    format_interval,
    format_n,
    format_number,
)
from sightline.rendering.theme import (
    ACCENT,
    CARD,
    INK,
    LINE,
    MUTED,
    Colour,
    Theme,
    chart_config,
    substitutions,
    system_colours,
)

Spec = dict[str, Any]
Domain = tuple[float, float]

WIDE = 780
NARROW = 340
ROW = 30
LABEL_LIMIT = 22
LINE_LENGTH = 38
"""Characters that a line of a title may have on a phone."""
MOST_POINTS = 1500
SQUARES = 40
_VEGA_LITE = "5.21"
_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Dot:
    """One estimate in a chart: its row, and the series that gives it its colour (the row if unnamed)."""

    label: str
    estimate: Estimate
    series: str = ""


@dataclass(frozen=True)
class CurvePoint:
    """One position of a curve with the band around it."""

    x: float
    estimate: Estimate
    series: str = ""


def dot_interval(
    dots: Sequence[Dot],
    *,
    axis: str,
    direction: Direction = "none",
    domain: Domain | None = None,
    colours: Mapping[str, Colour] | None = None,
    width: int = WIDE,
) -> Spec:
    """A dot for each value and a line for its interval, one row per label, in the order given.

    Several series share a row, each a little lower than the one before. Alone in its row, a dot has its
    numbers written next to it where the chart is wide enough.
    """
    labels = unique(dot.label for dot in dots)
    series = unique(dot.series or dot.label for dot in dots)
    palette = colours or system_colours(series)
    alone = len(dots) == len(labels)
    places = column_decimals([dot.estimate for dot in dots])
    row_names, series_names = row_labels(labels, width), short_names(series)
    values = [
        {
            "label": row_names[dot.label],
            "series": series_names[dot.series or dot.label],
            **_bounds(dot.estimate),
            "colour": palette.get(dot.series or dot.label, ACCENT).light,
            "rough": dot.estimate.rough,
            "text": _written(dot.estimate, decimals),
        }
        for dot, decimals in zip(dots, places, strict=True)
    ]
    shared: Spec = {"y": {"field": "label", "type": "nominal", "sort": None, "axis": row_axis(width)}}
    if not alone:
        shared["yOffset"] = {"field": "series", "sort": [series_names[name] for name in series]}
    quantity = quantity_axis(axis, direction, domain, ticks=6 if width >= WIDE else 4)
    colour = {"field": "colour", "scale": None, "type": "nominal"}
    interval = {**shared, "x": {**quantity, "field": "low"}, "x2": {"field": "high"}, "color": colour}
    dot = {**shared, "x": {**quantity, "field": "value"}, "color": colour}
    # What rests on few observations must not look as sure as the rest: a thin dashed line, a hollow dot.
    sure, rough = ({"filter": f"{test}datum.rough"} for test in ("!", ""))
    layers = [
        _only(sure, layer("rule", interval, strokeWidth=5 if alone else 3, opacity=0.35, strokeCap="round")),
        _only(rough, layer("rule", interval, strokeWidth=2, opacity=0.8, strokeDash=[2, 4])),
        _only(sure, layer("point", dot, size=120 if alone else 70, opacity=1)),
        _only(
            rough,
            layer(
                "point",
                dot,
                size=100 if alone else 60,
                opacity=1,
                filled=False,
                fill=CARD.light,
                strokeWidth=2,
            ),
        ),
    ]
    if alone and width >= WIDE:
        number = {**shared, "x": {"value": {"expr": "width + 16"}}, "text": {"field": "text"}}
        layers.append(layer("text", number, align="left", color=INK.light, fontSize=13))
    lines = max((label.count("\n") + 1 for label in row_names.values()), default=1)
    step = max(ROW, 15 * lines + 6) if alone else max(ROW, 15 * lines + 6, 13 * len(series) + 12)
    return chart(values, layers, width, step * len(labels), _describe_dots(dots, axis, direction))


def scatter(
    points: Sequence[tuple[float, float]],
    *,
    x_axis: str,
    y_axis: str,
    identity: bool = True,
    domain: Domain | None = None,
    width: int = WIDE,
) -> Spec:
    """Points on two axes; with `identity` both axes share one range and a line shows where they agree.

    More than MOST_POINTS would be one blob: they are counted in squares, the stronger the more.
    """
    side = min(width, 440)
    reach = extent([float(number) for point in points for number in point])
    # A prediction may lie beyond the scale: the axes then reach as far as it does.
    inside = domain if not len(points) else domain and (min(domain[0], reach[0]), max(domain[1], reach[1]))
    span = list(inside or reach)
    scale: Spec = {"domain": span, "nice": False} if identity else {"zero": False, "nice": True}
    binned = len(points) > MOST_POINTS
    values = _squares(points, span if identity else None) if binned else _places(points)
    layers: list[Spec] = []
    if identity and len(points):
        bare = {name: {"field": name, "type": "quantitative", "scale": scale} for name in "xy"}
        layers.append(dashed([(end, end) for end in span], bare))
    axes: Spec = {
        name: {
            "field": name,
            "type": "quantitative",
            "scale": scale,
            "axis": {"title": whole_title(title), "tickCount": 5},
        }
        for name, title in (("x", x_axis), ("y", y_axis))
    }
    if binned:
        # The square root keeps a square of few points visible next to one of hundreds.
        root = {"type": "sqrt", "range": [0.1, 1]}
        strength = {"field": "count", "type": "quantitative", "scale": root, "legend": None}
        edges = {"x2": {"field": "x2"}, "y2": {"field": "y2"}, "fillOpacity": strength}
        layers.insert(0, layer("rect", {**axes, **edges}, color=ACCENT.light))
    else:
        crowd = max(1.0, len(points) / 150)
        size, opacity = round(46 / crowd**0.6, 1), round(0.6 / crowd**0.2, 2)
        layers.append(layer("point", axes, color=ACCENT.light, size=size, opacity=opacity))
    line = " The dashed line marks perfect agreement." if identity else ""
    said = f"Scatter plot of {len(points)} points: {x_axis} against {y_axis}.{line}"
    return chart(values, layers, side, side, said)


def _places(points: Sequence[tuple[float, float]]) -> list[Spec]:
    return [{"x": float(x), "y": float(y)} for x, y in points]


def _squares(points: Sequence[tuple[float, float]], span: Sequence[float] | None) -> list[Spec]:
    """How many points lie in each of SQUARES by SQUARES equal fields; empty fields are left out."""
    places = np.asarray(points, dtype=float)
    limits = [extent(places[:, 0].tolist()), extent(places[:, 1].tolist())]
    if span is not None:
        limits = [(span[0], span[1])] * 2
    counts, across, up = np.histogram2d(places[:, 0], places[:, 1], bins=SQUARES, range=limits)
    return [
        {
            "x": float(across[i]),
            "x2": float(across[i + 1]),
            "y": float(up[j]),
            "y2": float(up[j + 1]),
            "count": int(counts[i, j]),
        }
        for i, j in zip(*np.nonzero(counts), strict=True)
    ]


def histogram(
    numbers: Sequence[float],
    *,
    axis: str,
    count: str = "prompts",
    domain: Domain | None = None,
    width: int = WIDE,
) -> Spec:
    """How many values fall in each of equal bins."""
    data = np.asarray(numbers, dtype=float)
    low, high = domain or extent(data.tolist())
    bins = int(np.clip(np.ceil(np.sqrt(max(1, data.size))) * 1.5, 5, 30))
    counts, edges = np.histogram(data, bins=bins, range=(low, high))
    values = [
        {"from": float(start), "to": float(end), "count": int(number)}
        for start, end, number in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    scale = {"domain": [low, high], "nice": False}
    across = {"title": whole_title(axis), "grid": False, "tickCount": 6}
    up = {"title": count, "tickCount": 4, "tickMinStep": 1, "format": "d"}
    bar = {
        "x": {"field": "from", "type": "quantitative", "scale": scale, "axis": across},
        "x2": {"field": "to"},
        "y": {"field": "count", "type": "quantitative", "axis": up},
        "y2": {"datum": 0},
    }
    bars = layer("rect", bar, color=ACCENT.light, opacity=0.8, stroke=CARD.light, strokeWidth=2)
    peak = max(values, key=lambda bar: bar["count"])
    said = (
        f"Histogram of {axis} over {data.size} {count}; "
        f"most lie between {peak['from']:.3g} and {peak['to']:.3g} ({peak['count']})."
    )
    return chart(values, [bars], width, 150, said)


def curve(
    points: Sequence[CurvePoint],
    *,
    x_axis: str,
    y_axis: str,
    direction: Direction = "none",
    domain: Domain | None = None,
    colours: Mapping[str, Colour] | None = None,
    width: int = WIDE,
) -> Spec:
    """A line for each series with the band of its intervals, named at the line's end."""
    names = unique(point.series for point in points)
    palette = colours or ({"": ACCENT} if names == [""] else system_colours(names))
    short = short_names(names)
    last = {name: max(point.x for point in points if point.series == name) for name in names}
    values = [
        {
            "x": float(point.x),
            **_bounds(point.estimate),
            "series": short[point.series],
            "colour": palette.get(point.series, ACCENT).light,
            "end": short[point.series] if point.x == last[point.series] else "",
        }
        for point in points
    ]
    x = {
        "field": "x",
        "type": "quantitative",
        "axis": {"title": whole_title(x_axis), "grid": False, "tickCount": 6},
    }
    quantity = quantity_axis(y_axis, direction, domain)
    shared: Spec = {"x": x, "color": {"field": "colour", "scale": None, "type": "nominal"}}
    line = {**shared, "y": {**quantity, "field": "value"}, "detail": {"field": "series", "type": "nominal"}}
    layers = [
        layer("area", {**line, "y": {**quantity, "field": "low"}, "y2": {"field": "high"}}, opacity=0.18),
        layer("line", line, strokeWidth=2.5),
        layer("text", {**shared, "y": line["y"], "text": {"field": "end"}}, align="left", dx=8),
    ]
    what = f" for {', '.join(names[:8])}" if names != [""] else ""
    said = f"Curves of {y_axis} against {x_axis}{what}, with their intervals as bands."
    return chart(values, layers, width, 240, said)


def render(spec: Spec, theme: Theme = "adaptive") -> str:
    """A chart as an SVG that fills the width it is given, up to its own.

    An adaptive drawing names CSS variables with light fall-backs, so that it follows the page into the dark;
    the other themes write literal colours, for files that stand alone.
    """
    return _drawn(json.dumps(_clean_all(spec), sort_keys=True), theme)


@lru_cache(maxsize=256)
def _drawn(spec: str, theme: Theme) -> str:
    # Starting the renderer takes about 0.6 s, a chart 0.03 s: it is loaded only when a chart is drawn.
    import vl_convert

    svg = vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE, config=chart_config(), allowed_base_urls=[])
    root = ElementTree.fromstring(svg)
    prefix = "c" + hashlib.sha256(spec.encode()).hexdigest()[:8]
    # The renderer numbers clip paths over its whole life; renumbered, the same input gives the same output.
    renamed: dict[str, str] = {}
    for element in root.iter():
        if "id" in element.attrib:
            renamed[element.attrib["id"]] = f"{prefix}-{len(renamed)}"
    colours = substitutions(theme)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        for name, value in list(element.attrib.items()):
            if name == "id":
                element.set(name, renamed[value])
            elif name in ("fill", "stroke"):
                element.set(name, colours.get(value.lower(), value))
            elif value.startswith("url(#"):
                element.set(name, f"url(#{renamed[value[5:-1]]})")
            elif name in ("class", "role") or name.startswith("aria-"):
                del element.attrib[name]
    width = root.attrib.pop("width")
    root.attrib.pop("height", None)
    root.set("xmlns", _SVG[1:-1])
    root.set("style", f"width:100%;max-width:{width}px;height:auto")
    root.set("role", "img")
    root.set("aria-label", str(json.loads(spec).get("description", "Chart")))
    return ElementTree.tostring(root, encoding="unicode")


def layer(mark: str, encoding: Mapping[str, Any], **look: Any) -> Spec:
    """One layer of a chart: a kind of mark, where it stands and how it looks."""
    return {"mark": {"type": mark, **look}, "encoding": encoding}


def dashed(places: Sequence[tuple[float, float]], axes: Mapping[str, Any], **look: Any) -> Spec:
    """A dashed line from place to place."""
    look = {"color": MUTED.light, "strokeDash": [4, 4], "strokeWidth": 1.5, **look}
    return {"data": {"values": [{"x": x, "y": y} for x, y in places]}, **layer("line", axes, **look)}


def chart(values: list[Spec], layers: list[Spec], width: int, height: int, description: str = "") -> Spec:
    """Layers over the same values; the description is what a screen reader says."""
    said = {"description": clean(description)} if description else {}
    return {
        **said,
        "data": {"values": values},
        "layer": layers,
        "width": width,
        "height": max(height, ROW),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 4, "top": 6, "bottom": 4, "right": 12},
    }


def whole_title(words: str) -> str | list[str]:
    """A title in lines that a phone or the side of a chart has room for: a longer one would be cut off."""
    lines = _broken(words, LINE_LENGTH)
    return lines if len(lines) > 1 else words


def quantity_axis(axis: str, direction: Direction, domain: Domain | None, ticks: int = 6) -> Spec:
    """An axis that says what it measures and which way is better."""
    words = whole_title(f"{axis}  ({direction_said(direction)})" if direction != "none" else axis)
    scale: Spec = {"zero": False, "nice": True} if domain is None else {"domain": list(domain), "nice": False}
    return {"type": "quantitative", "scale": scale, "axis": {"title": words, "tickCount": ticks}}


def row_axis(width: int) -> Spec:
    return {
        "title": None,
        "grid": True,
        "gridColor": LINE.light,
        "gridDash": [1, 3],
        "labelLimit": 210 if width >= WIDE else 120,
        "labelExpr": "split(datum.label, '\\n')",
        "labelColor": INK.light,
        "labelFontSize": 13 if width >= WIDE else 12,
        "labelLineHeight": 15,
    }


def _only(kept: Spec, made: Spec) -> Spec:
    return {"transform": [kept], **made}


def _written(estimate: Estimate, decimals: int) -> str:
    """The numbers written next to a dot."""
    value = format_number(estimate.value, decimals=decimals) if estimate.value is not None else "-"
    interval = format_interval(estimate, decimals=decimals)
    said = f"roughly {interval}" if estimate.rough else interval
    return f"{value} {said}".rstrip() + f"   {format_n(estimate)}".rstrip()


def _bounds(estimate: Estimate) -> dict[str, float | None]:
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    return {"value": estimate.value, "low": low, "high": high}


def _describe_dots(dots: Sequence[Dot], axis: str, direction: Direction) -> str:
    words = f" ({DIRECTION_WORDS[direction]})" if direction != "none" else ""
    named = [
        f"{dot.label}{f' {dot.series}' if dot.series and dot.series != dot.label else ''} "
        f"{format_cell(dot.estimate)}"
        for dot in dots[:12]
    ]
    more = f"; and {len(dots) - 12} more" if len(dots) > 12 else ""
    return f"Dots with intervals of {axis}{words}: {'; '.join(named)}{more}."


def extent(numbers: Sequence[float] | NDArray[np.float64]) -> Domain:
    """The range of the numbers, never empty."""
    if not len(numbers):
        return 0.0, 1.0
    low, high = float(min(numbers)), float(max(numbers))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def short_names(names: Sequence[str], limit: int = LABEL_LIMIT) -> dict[str, str]:
    """A label for each name, cut in the middle where it is long; no two names share a label.

    Names of systems often differ only near their ends, and a chart puts what shares a label into one row: the
    end is kept as long as it takes to tell them apart.
    """
    shown = {name: clean(name) for name in names}
    for tail in (limit // 3, limit // 2, 2 * limit // 3):
        labels = {
            name: text if len(text) <= limit else f"{text[: limit - tail - 1]}…{text[-tail:]}"
            for name, text in shown.items()
        }
        if len(set(labels.values())) == len(labels):
            return labels
    taken: dict[str, str] = {}
    for name, label in labels.items():
        number, unique = 2, label
        while unique in taken.values():
            unique, number = f"{label} ({number})", number + 1
        taken[name] = unique
    return taken


def row_labels(names: Sequence[str], width: int = WIDE) -> dict[str, str]:
    """A label for each name, broken into lines; only the longest are cut, in the middle."""
    most, lines = (28, 2) if width >= WIDE else (16, 3)
    shown = short_names(names, most * lines - 6)
    return {name: "\n".join(_broken(label, most)) for name, label in shown.items()}


def _broken(text: str, most: int) -> list[str]:
    """Lines of at most so many characters, broken after a space, hyphen, underscore, slash or full stop."""
    lines = []
    while len(text) > most:
        cut = max(text.rfind(sign, most // 3, most) for sign in " -_/.:") + 1 or most
        lines.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*lines, text]


def unique(names: Any) -> list[str]:
    return list(dict.fromkeys(names))


def _clean_all(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _clean_all(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean_all(item) for item in value]
    return value
