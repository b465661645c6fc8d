"""The house look: every colour once, in light and dark, for pages and charts alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Theme = Literal["adaptive", "light", "dark"]

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif'


@dataclass(frozen=True)
class Colour:
    """A colour with its CSS variable and its two appearances.

    Charts are drawn with the light value; an adaptive chart then names the variable instead, so that one
    drawing serves light and dark pages.
    """

    name: str
    light: str
    dark: str


PAPER = Colour("paper", "#faf9f6", "#15181b")
CARD = Colour("card", "#ffffff", "#1d2125")
INK = Colour("ink", "#1f262d", "#e9e7e2")
MUTED = Colour("muted", "#5a646e", "#a3abb3")
LINE = Colour("line", "#e3dfd7", "#333a40")
ACCENT = Colour("accent", "#176b73", "#6cc3cc")
ALARM = Colour("alarm", "#a8321f", "#f0907d")

# Told apart under the common colour-vision deficiencies and at least 3:1 against the card: both are tested.
SERIES = (
    Colour("series-1", "#0a5095", "#4a95fc"),
    Colour("series-2", "#d6790e", "#ff9b38"),
    Colour("series-3", "#069e79", "#4de9cb"),
    Colour("series-4", "#c769ad", "#ae79b2"),
    Colour("series-5", "#957132", "#f3dc90"),
    Colour("series-6", "#802a3c", "#e4546b"),
)
COLOURS = (PAPER, CARD, INK, MUTED, LINE, ACCENT, ALARM, *SERIES)
"""What charts are drawn with."""

ON_ACCENT = Colour("on-accent", "#ffffff", "#10292c")
EDGE = Colour("edge", "#858d95", "#737c85")
SOFT = Colour("soft", "#e6f0f0", "#1c3236")
SOFT_ALARM = Colour("soft-alarm", "#f8e9e6", "#38241f")
CONTROLS = (ON_ACCENT, EDGE, SOFT, SOFT_ALARM)
"""What buttons, fields and tags have besides; never in a chart."""


def system_colours(names: Iterable[str]) -> dict[str, Colour]:
    """A colour for each system, the same in every chart of a report.

    Names are sorted first, so that the order of rows never changes a colour. Where there are more systems
    than colours that can be told apart, all share the accent: labels tell them apart then.
    """
    ordered = sorted(set(names))
    if len(ordered) > len(SERIES):
        return dict.fromkeys(ordered, ACCENT)
    return dict(zip(ordered, SERIES, strict=False))


def css_variables() -> str:
    """Colours and font as CSS: light, dark where the reader's screen asks for it, and light on paper."""
    light = " ".join(f"--{colour.name}: {colour.light};" for colour in COLOURS + CONTROLS)
    dark = " ".join(f"--{colour.name}: {colour.dark};" for colour in COLOURS + CONTROLS)
    return (
        f":root {{ color-scheme: light dark; --font: {FONT}; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    )


def stylesheet() -> str:
    """The look of every served page: colours, font, and the parts that pages share."""
    shared = Path(__file__).parent / "templates" / "look.css"
    return f"{css_variables()}\n{shared.read_text('utf-8')}"


def substitutions(theme: Theme) -> Mapping[str, str]:
    """What each colour drawn in a chart becomes under a theme."""
    if theme == "adaptive":
        return {colour.light: f"var(--{colour.name}, {colour.light})" for colour in COLOURS}
    return {colour.light: getattr(colour, theme) for colour in COLOURS}


def chart_config() -> dict[str, Any]:
    """Vega-Lite's settings for the house look."""
    label = {"labelColor": MUTED.light, "labelFontSize": 12, "labelFont": FONT}
    title = {"titleColor": MUTED.light, "titleFontSize": 12, "titleFont": FONT, "titleFontWeight": "normal"}
    return {
        "background": None,
        "aria": False,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            **label,
            **title,
            "domain": False,
            "ticks": False,
            "grid": True,
            "gridColor": LINE.light,
            "labelPadding": 8,
            "labelFlush": False,
            "titlePadding": 10,
        },
        "legend": {**label, **title, "orient": "top", "symbolType": "circle"},
        "header": {**label, **title},
        "text": {"color": INK.light, "font": FONT, "fontSize": 12},
        "rule": {"color": MUTED.light},
        "point": {"filled": True, "size": 90},
    }
