"""Charts of how alike the images of a prompt are: by number of images, by a feature, by a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate, clean, format_cell
from sightline.rendering import charts
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import MOST_POINTS, NARROW, WIDE, CurvePoint, Domain, Dot, Spec, unique
from sightline.rendering.theme import INK, MUTED, Colour, system_colours
from sightline.statistics.calibration import LEVELS
from sightline.statistics.intervals import mean_interval, within
from sightline.statistics.reuse import Curve, Reusability

BINS = 8
LEAST_IN_A_BIN = 5
"""With fewer the interval of a bin's mean is too wide to be useful."""
MOST_SERIES = 6
SIMILARITY = "similarity of a prompt's images"
SCORE = "W1KP score of a prompt's images"

Colours = Mapping[str, Colour]


@dataclass(frozen=True)
class ReuseCurve:
    """A curve of reuse, where it reaches the cut-off, and whose it is: a system, a prompt, a tag, all."""

    curve: Curve
    reusable: Reusability | None = None
    series: str = ""


def reuse_figure(
    curves: Sequence[ReuseCurve],
    *,
    high: float | None = None,
    levels: Sequence[float] = (),
    axis: str = "similarity",
    colours: Colours | None = None,
    note: str = "",
) -> Figure:
    """How alike the two most alike of k images are, for rising k, and the cut-off from which they repeat.

    `levels` are cut-offs of lower levels, drawn as thinner lines.
    """
    points = [CurvePoint(k, mean, each.series) for each in curves for k, mean in means_of(each.curve)]
    drawn = [
        end for point in points for end in (point.estimate.low, point.estimate.high, point.estimate.value)
    ]
    inside = all(end is None or 0 <= end <= 1 for end in (*drawn, *levels, high))
    words = [
        f"{each.series}: {reuse_said(each.reusable)}" if each.series else reuse_said(each.reusable)
        for each in curves
        if each.reusable is not None and high is not None
    ]

    last = max((int(point.x) for point in points), default=2)
    ticks = list(range(2, last + 1, max(1, (last - 1) // 6)))

    def draw(width: int) -> Spec:
        spec = charts.curve(
            points,
            x_axis="images of one prompt",
            y_axis=f"{axis} of the two most alike",
            domain=(0.0, 1.0) if inside else None,
            colours=colours,
            width=width,
        )
        for layer in spec["layer"]:
            layer["encoding"]["x"]["axis"] |= {"values": ticks, "format": "d"}
            layer["encoding"]["x"]["scale"] = {"zero": False, "nice": False}
        lines = dict(zip(levels, LEVELS[1:], strict=False))
        lines = {cut: name for cut, name in lines.items() if cut != high}
        spec["layer"] += cut_off_lines({**lines, **({} if high is None else {high: "look the same"})}, high)
        spec["description"] = clean(f"{spec['description']} {' '.join(words)}".strip())
        return spec

    most = max((each.curve.prompts for each in curves), default=0)
    caption = (
        f"Of k images of one prompt, how alike the two most alike are expected to be: means over {most:,} "
        "prompts, bands their 95 % intervals."
    )
    if high is not None:
        caption += f" From the dashed line at {high:.3g} on, two images look the same. {' '.join(words)}"
    if below := [
        f"{name} from {cut:.3g}" for cut, name in zip(levels, LEVELS[1:], strict=False) if cut != high
    ]:
        caption = f"{caption.rstrip()} Thin lines are the cut-offs of lower levels: {', '.join(below)}."
    return _figure(draw, f"{caption} {note}".strip())


def means_of(curve: Curve) -> list[tuple[int, Estimate]]:
    """Every k of a curve with its mean; of one prompt there is no interval."""
    made = []
    columns = (part.tolist() for part in (curve.k, curve.value, curve.low, curve.high))
    for k, value, low, high in zip(*columns, strict=True):
        mean = Estimate(value, n=curve.prompts)
        if np.isfinite(low) and np.isfinite(high):
            mean = replace(mean, low=min(low, value), high=max(high, value))
        made.append((int(k), mean))
    return made


def reuse_said(found: Reusability) -> str:
    """How many images a prompt is good for, in words, with its limits."""

    def count(images: int | None) -> str:
        return f"more than {found.most}" if images is None else str(images)

    surely = found.images is None and found.low is None
    limits = f" [{count(found.low)}, {count(found.high)}]" if found.interval and not surely else ""
    return f"good for {count(found.images)}{limits} images before two look the same."


def cut_off_lines(cuts: Mapping[float, str], strong: float | None = None, channel: str = "y") -> list[Spec]:
    """A dashed line with its name at each cut-off of a chart's y or x axis, the strong one thicker."""
    place = {"field": channel, "type": "quantitative"}
    layers: list[Spec] = []
    for cut, name in sorted(cuts.items()):
        width, colour = (1.5, INK.light) if cut == strong else (1, MUTED.light)
        across = {"x": {"value": 4}} if channel == "y" else {"y": {"value": 0}}
        text: Spec = {"type": "text", "align": "left", "baseline": "bottom", "color": colour}
        text |= {"dy": -4} if channel == "y" else {"dx": -2, "dy": -3, "align": "center"}
        rule = {"type": "rule", "color": colour, "strokeDash": [5, 4], "strokeWidth": width}
        layers += [
            {"data": {"values": [{channel: cut}]}, "mark": rule, "encoding": {channel: place}},
            {
                "data": {"values": [{channel: cut, "text": name}]},
                "mark": text,
                "encoding": {channel: place, **across, "text": {"field": "text"}},
            },
        ]
    return layers


def similarity_figure(
    systems: Sequence[tuple[str, Estimate]],
    *,
    axis: str,
    cut_offs: Sequence[float] = (),
    colours: Colours | None = None,
) -> Figure:
    """A system's mean similarity over prompts with its interval, and the cut-offs of the levels as lines."""
    dots = [Dot(system, similarity) for system, similarity in systems]
    cuts: dict[float, str] = {}
    for cut, name in zip(cut_offs, LEVELS[1:], strict=False):
        # Cut-offs of a level that serves nothing coincide: the line has the name of the highest.
        cuts[cut] = name

    def draw(width: int) -> Spec:
        domain = (0.0, 1.0) if cuts and all(0 <= cut <= 1 for cut in cuts) else None
        spec = charts.dot_interval(dots, axis=axis, domain=domain, colours=colours, width=width)
        spec["layer"] = [*cut_off_lines(cuts, channel="x"), *spec["layer"]]
        return spec

    caption = f"Each dot is a system's mean {axis}, each line its 95 % interval."
    if cuts:
        named = ", ".join(f"{name} from {cut:.3g}" for cut, name in cuts.items())
        caption += f" Dashed lines are where levels of similarity begin: {named}."
    return _figure(draw, caption)


def binned(
    feature: ArrayLike, values: ArrayLike, *, domain: Domain | None = None, series: str = ""
) -> list[CurvePoint]:
    """Means with Student's intervals of the values in BINS bins of about equal size by the feature.

    A feature with at most BINS different values has a bin for each that has LEAST_IN_A_BIN rows; rarer ones
    join their neighbours. Equal values are never parted. Rows where either is missing are left out.
    """
    x, y = _paired(feature, values)
    place = _bin_places(x)
    return [
        CurvePoint(
            float(x[place == each].mean()),
            within(mean_interval(y[place == each]), *(domain or (None, None))),
            series,
        )
        for each in np.unique(place)
    ]


def _bin_places(x: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each row: values are gathered from the smallest up until a bin is full."""
    steps, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    full = LEAST_IN_A_BIN if steps.size <= BINS else max(LEAST_IN_A_BIN, x.size / BINS)
    bin_of, held, current = np.zeros(steps.size, dtype=np.int64), 0, 0
    for n, count in enumerate(counts.tolist()):
        if held >= full:
            held, current = 0, current + 1
        bin_of[n] = current
        held += count
    if held < LEAST_IN_A_BIN and current > 0:
        bin_of[bin_of == current] = current - 1
    return bin_of[which]


def feature_figure(
    feature: ArrayLike,
    similarity: ArrayLike,
    *,
    name: str,
    series: Sequence[str] | None = None,
    axis: str = "similarity",
    domain: Domain | None = None,
    colours: Colours | None = None,
) -> Figure:
    """Similarity against a feature: means in bins of about equal size, each with its interval.

    Without `series` every prompt is a faint dot behind them; with it, a name for each row, every series has
    its own line, named at its end. More than MOST_SERIES are not distinguished.
    """
    x, y = np.asarray(feature, dtype=np.float64), np.asarray(similarity, dtype=np.float64)
    groups = _groups(series, len(x))
    points = [
        point
        for label, rows in groups.items()
        for point in binned(x[rows], y[rows], domain=domain, series=label)
    ]
    cloud = _paired(x, y)
    behind = len(groups) == 1 and 0 < cloud[0].size <= MOST_POINTS

    def draw(width: int) -> Spec:
        spec = _bars(points, x_axis=name, y_axis=axis, domain=domain, colours=colours, width=width)
        if behind:
            spec["layer"].insert(0, _dots_behind(*cloud))
        return spec

    known = cloud[0].size
    left = len(x) - known
    caption = (
        f"Each dot is the mean {axis} over prompts of about the same value ({name}), each bar its 95 % "
        f"interval; {known:,} {'values' if series is not None else 'prompts'}"
        f"{', each also a faint dot' if behind else ''}."
    )
    if left:
        caption += f" {left:,} had no value and {'are' if left > 1 else 'is'} left out."
    return _figure(draw, caption)


def setting_figure(
    rows: Sequence[tuple[object, str, Estimate]],
    *,
    name: str,
    axis: str = SIMILARITY,
    domain: Domain | None = None,
    colours: Colours | None = None,
) -> Figure:
    """Similarity against a generator's setting: (setting, system, mean) in rows.

    A setting of numbers is a line for each system; one of words, or mixed, is a row of dots for each.
    """
    settings = [setting for setting, _, _ in rows]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in settings)
    caption = (
        f"Mean {axis} for each {name}, with its 95 % interval over prompts. "
        "1 means that the images of a prompt look alike."
    )
    if numbers:
        points = [
            CurvePoint(float(str(setting)), estimate, system)
            for setting, system, estimate in sorted(rows, key=lambda row: (row[1], float(str(row[0]))))
        ]
        return _figure(
            lambda width: _bars(
                points, x_axis=name, y_axis=axis, domain=domain, colours=colours, width=width
            ),
            caption,
        )
    dots = [
        Dot(str(setting), estimate, system)
        for setting, system, estimate in sorted(rows, key=lambda row: (str(row[0]), row[1]))
    ]
    palette = colours or system_colours(dot.series for dot in dots)
    legend = [(system, palette[system].name) for system in unique(dot.series for dot in dots) if system]
    figure = _figure(
        lambda width: charts.dot_interval(dots, axis=axis, domain=domain, colours=palette, width=width),
        caption,
    )
    return replace(figure, legend=legend)


def _bars(
    points: Sequence[CurvePoint],
    *,
    x_axis: str,
    y_axis: str,
    domain: Domain | None,
    colours: Colours | None,
    width: int,
) -> Spec:
    """A curve whose intervals are bars at its dots: nothing was observed between them to be shaded."""
    spec = charts.curve(points, x_axis=x_axis, y_axis=y_axis, domain=domain, colours=colours, width=width)
    band, line, ends = spec["layer"]
    spread = {channel: value for channel, value in band["encoding"].items() if channel != "detail"}
    bars = {
        "mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.4, "strokeCap": "round"},
        "encoding": spread,
    }
    for layer in (line, ends, bars):
        layer["encoding"]["x"] = {**layer["encoding"]["x"], "scale": {"zero": False, "nice": True}}
    dots = {
        "mark": {"type": "point", "size": 80, "opacity": 1},
        "encoding": {channel: line["encoding"][channel] for channel in ("x", "y", "color")},
    }
    line["mark"] |= {"strokeWidth": 1.5, "opacity": 0.6}
    spec["layer"] = [bars, line, dots, ends]
    means = [
        f"{f'{point.series} ' if point.series else ''}{point.x:.3g}: {format_cell(point.estimate)}"
        for point in points[:12]
    ]
    more = f"; and {len(points) - 12} more" if len(points) > 12 else ""
    spec["description"] = clean(f"{y_axis} against {x_axis}, dots with intervals. {'; '.join(means)}{more}.")
    return spec


def _dots_behind(x: NDArray[np.float64], y: NDArray[np.float64]) -> Spec:
    return {
        "data": {"values": [{"x": float(a), "y": float(b)} for a, b in zip(x, y, strict=True)]},
        "mark": {"type": "point", "size": 14, "opacity": 0.3, "color": MUTED.light},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "quantitative"},
        },
    }


def _groups(series: Sequence[str] | None, count: int) -> dict[str, NDArray[np.bool_]]:
    names = np.asarray([""] * count if series is None else series)
    distinct = sorted(set(names.tolist()))
    if len(distinct) > MOST_SERIES:
        return {"": np.ones(count, dtype=bool)}
    return {name: names == name for name in distinct}


def _paired(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"two columns of one length are needed, not {first.shape} and {second.shape}")
    both = np.isfinite(first) & np.isfinite(second)
    return first[both], second[both]


def _figure(draw: Callable[[int], Spec], caption: str) -> Figure:
    return Figure(draw(WIDE), draw(NARROW), caption)
