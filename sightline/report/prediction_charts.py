"""Charts of prompts and of what was predicted of them: a map coloured by truth, boxes by prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import direction_said, format_number, range_decimals
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import (
    MOST_POINTS,
    NARROW,
    WIDE,
    Domain,
    Spec,
    chart,
    dashed,
    extent,
    layer,
    whole_title,
)
from sightline.rendering.shown import Scale
from sightline.rendering.theme import ACCENT, CARD, INK, MUTED, SERIES, Colour
from sightline.statistics.prediction_quality import by_quarter

Array = NDArray[np.float64]

BOXES = 8
MOST_VALUES = 12
"""Predictions with at most so many different values have a box for each."""
LEAST_IN_A_BOX = 8
"""Of fewer prompts, quartiles say less than the prompts themselves."""
MAP_SIDES = (560, 320)
BOX_WIDTH = 600

HARD, EASY = SERIES[1], SERIES[0]
# Orange and blue are told apart under every common deficiency of colour vision, and the ends by strength too:
# a colour scale of its own would need a second one in the dark.
LEVELS: dict[str, tuple[Colour, float]] = {
    "hardest": (HARD, 0.95),
    "hard": (HARD, 0.5),
    "easy": (EASY, 0.5),
    "easiest": (EASY, 0.95),
}


@dataclass(frozen=True)
class Level:
    """A quarter of the prompts by their truth: its name, the range of its truths, and which prompts."""

    name: str
    low: float
    high: float
    rows: NDArray[np.int64]


def levels(truth: ArrayLike, scale: Scale) -> list[Level]:
    """The quarters of `by_quarter`, hardest first; where less is better the highest truths are hardest."""
    values = np.asarray(truth, dtype=np.float64)
    signed = -values if scale.direction == "lower" else values
    made = []
    for quarter in by_quarter(signed, signed):
        rows = np.flatnonzero((signed >= quarter.low) & (signed <= quarter.high))
        made.append(Level(quarter.name, float(values[rows].min()), float(values[rows].max()), rows))
    return made


def map_figure(places: ArrayLike, truth: ArrayLike, *, scale: Scale, how: str, note: str = "") -> Figure:
    """Prompts in a plane, those alike near each other, coloured by the quarter that their truth lies in.

    `how` says by what they are alike and how they were laid out.
    """
    where = np.asarray(places, dtype=np.float64)
    quarters = levels(truth, scale)
    decimals = range_decimals(*(scale.domain or extent(np.asarray(truth, dtype=np.float64))))

    def said(level: Level) -> str:
        ends = [format_number(end, decimals=decimals) for end in (level.low, level.high)]
        return f"{level.name}: {ends[0] if level.low == level.high else ' to '.join(ends)}"

    names = [said(level) for level in quarters]
    # The ends lie on top: what is hard and what is easy is what one looks for.
    order = sorted(range(len(quarters)), key=lambda place: LEVELS[quarters[place].name][1])
    values = [
        {"x": float(where[row, 0]), "y": float(where[row, 1]), "level": names[place]}
        for place in order
        for row in quarters[place].rows
    ]

    def draw(side: int) -> Spec:
        crowd = max(1.0, len(values) / 150)
        axis: Spec = {"type": "quantitative", "axis": None, "scale": {"zero": False, "nice": False}}
        colours = {"domain": names, "range": [LEVELS[level.name][0].light for level in quarters]}
        strengths = {"domain": names, "range": [LEVELS[level.name][1] for level in quarters]}
        legend = {"title": f"true {scale.name}", "columns": 2, "symbolSize": 90, "columnPadding": 24}
        level: Spec = {"field": "level", "type": "nominal", "legend": legend}
        place = {
            "x": {**axis, "field": "x"},
            "y": {**axis, "field": "y"},
            "color": {**level, "scale": colours, "sort": names},
            "opacity": {**level, "scale": {**strengths, "type": "ordinal"}},
        }
        dots = layer("point", place, size=round(max(8.0, 60 / crowd**0.45), 1))
        ends = f"{names[0]}; {names[-1]}" if names else "no prompts"
        said = (
            f"Map of {len(values):,} prompts, those alike near each other, coloured by the quarter of their "
            f"true {scale.name}: from {ends}."
        )
        return chart(values, [dots], side, side, said)

    caption = f"Each dot is one of {len(values):,} prompts. {how} Its colour tells its true {scale.name}."
    narrow = draw(MAP_SIDES[1]) if len(values) <= MOST_POINTS else None
    return Figure(draw(MAP_SIDES[0]), narrow, f"{caption} {note}".strip())


@dataclass(frozen=True)
class Box:
    """Truths of prompts of about the same prediction: 5, 25, 50, 75 and 95 % of them lie below `cuts`."""

    low: float
    high: float
    n: int
    cuts: tuple[float, float, float, float, float] | None
    few: Sequence[tuple[float, float]] = ()


def boxes(predicted: ArrayLike, truth: ArrayLike) -> list[Box]:
    """Truths in up to BOXES equal steps of the prediction; value by value where it has at most MOST_VALUES.

    Where a step holds fewer than LEAST_IN_A_BOX prompts they are given one by one, as (prediction, truth).
    """
    guess, true = np.asarray(predicted, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if guess.shape != true.shape or guess.ndim != 1:
        raise ValueError(f"two columns of one length are needed, not {guess.shape} and {true.shape}")
    if not true.size:
        return []
    steps = np.unique(guess)
    if steps.size <= MOST_VALUES:
        gap = float(np.diff(steps).min()) if steps.size > 1 else 1.0
        edges = [(float(step) - gap / 2, float(step) + gap / 2) for step in steps]
        place = np.searchsorted(steps, guess)
    else:
        count = int(np.clip(guess.size // (LEAST_IN_A_BOX + 2), 2, BOXES))
        cuts = np.linspace(steps[0], steps[-1], count + 1)
        edges = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
        place = np.clip(np.searchsorted(cuts, guess, side="right") - 1, 0, count - 1)
    made = []
    for number, (start, end) in enumerate(edges):
        rows = place == number
        n = int(rows.sum())
        if n >= LEAST_IN_A_BOX:
            at = np.quantile(true[rows], [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
            made.append(Box(start, end, n, (at[0], at[1], at[2], at[3], at[4])))
        elif n:
            each = list(zip(guess[rows].tolist(), true[rows].tolist(), strict=True))
            made.append(Box(start, end, n, None, each))
    return made


def box_figure(
    predicted: ArrayLike, truth: ArrayLike, *, scale: Scale, predictor: str = "", note: str = ""
) -> Figure:
    """Box plots of what came true, by what was predicted; where predictions are right they lie on the dashes.

    By what came true, even the best predictor would seem to overrate the hardest: they had bad luck as well.
    """
    bins = boxes(predicted, truth)
    drawn = [end for box in bins for end in (box.cuts or [true for _, true in box.few])]
    ends = [end for box in bins for end in (box.low, box.high)]
    span = _to_the_ends(extent(np.array([*drawn, *ends])), scale)
    few = [pair for box in bins for pair in box.few]
    who = f" by {predictor}" if predictor else ""

    def draw(width: int) -> Spec:
        values = [_as_value(box) for box in bins if box.cuts]
        middles = [f"{(box.low + box.high) / 2:.3g}: {box.cuts[2]:.3g}" for box in bins if box.cuts]
        said = (
            f"Box plots of true {scale.name} by the value predicted{who}, over {sum(b.n for b in bins):,} "
            f"prompts. Medians by the middle of each step: {'; '.join(middles) or 'too few prompts'}."
        )
        return chart(values, _box_layers(span, scale, few, width), min(width, BOX_WIDTH), 300, said)

    caption = (
        f"What came true, by what was predicted{who}. A box holds the middle half of the truths, its line is "
        "their median, whiskers reach from 5 to 95 %, and the number above counts prompts. Predictions are "
        "right on average where boxes lie around the dashed line; boxes on one level tell nothing apart."
    )
    if few:
        caption += f" Steps of fewer than {LEAST_IN_A_BOX} prompts are dots, one a prompt."
    return Figure(draw(WIDE), draw(NARROW), f"{caption} {note}".strip())


def _as_value(box: Box) -> Spec:
    assert box.cuts is not None
    middle, half = (box.low + box.high) / 2, (box.high - box.low) * 0.34
    names = ("p05", "p25", "p50", "p75", "p95")
    return {
        "x": middle,
        "from": middle - half,
        "to": middle + half,
        "n": f"{box.n:,}",
        "short": f"{box.n}" if box.n < 1000 else f"{box.n / 1000:.1f}k",
        **dict(zip(names, box.cuts, strict=True)),
    }


def _box_layers(span: Domain, scale: Scale, few: Sequence[tuple[float, float]], width: int) -> list[Spec]:
    better = f"  ({direction_said(scale.direction)})" if scale.direction != "none" else ""
    ticks = 6 if width >= WIDE else 4
    both = {"domain": list(span), "nice": False}
    below = {
        "title": whole_title(f"predicted {scale.name}{better}"),
        "grid": False,
        "tickCount": ticks,
    }
    x: Spec = {"type": "quantitative", "scale": both, "axis": below}
    left = {"title": whole_title(f"true {scale.name}"), "tickCount": 5}
    y: Spec = {"type": "quantitative", "scale": both, "axis": left}
    at, point = {"x": {**x, "field": "x"}}, {"x": {**x, "field": "x"}, "y": {**y, "field": "y"}}
    across = {"x": {**x, "field": "from"}, "x2": {"field": "to"}}
    middle_half = {**across, "y": {**y, "field": "p25"}, "y2": {"field": "p75"}}
    whisker = {**at, "y": {**y, "field": "p05"}, "y2": {"field": "p95"}}
    size, count = (11, "n") if width >= WIDE else (9, "short")
    number = {**at, "y": {"value": -4}, "text": {"field": count}}
    line = {"color": ACCENT.light, "strokeWidth": 1.5}
    outline = {"stroke": ACCENT.light, "strokeWidth": 1.5}
    made = [
        dashed([(end, end) for end in span], point),
        layer("rule", whisker, **line),
        # The card's own colour first, or the whisker and the dashed line would show through.
        layer("rect", middle_half, cornerRadius=2, color=CARD.light),
        layer("rect", middle_half, cornerRadius=2, color=ACCENT.light, fillOpacity=0.3, **outline),
        layer("rule", {**across, "y": {**y, "field": "p50"}}, color=INK.light, strokeWidth=2.5),
        layer("text", number, fontSize=size, color=MUTED.light, baseline="bottom"),
    ]
    if few:
        dots = layer("point", point, color=ACCENT.light, size=28, opacity=0.7)
        made.append({"data": {"values": [{"x": guess, "y": true} for guess, true in few]}, **dots})
    return made


def _to_the_ends(span: Domain, scale: Scale) -> Domain:
    """A range that nearly reaches an end of the scale goes up to it."""
    low, high = span
    near = 0.05 * (high - low)
    first, last = scale.domain or span
    return (min(low, first) if low - first <= near else low), (
        max(high, last) if last - high <= near else high
    )
