"""The radar: where its points lie, and what it says to those who do not see it."""

from __future__ import annotations

import pytest

from sightline.rendering.charts import NARROW, render
from sightline.rendering.radar import radar
from sightline.rendering.theme import system_colours


def test_points_lie_on_their_axes() -> None:
    colours = system_colours(["a", "b"])
    made = radar(
        ["up", "right", "down", "left"], {"a": [1.0, 0.5, 0.25, 0.0], "b": [1, None, 1, 1]}, colours=colours
    )
    lines = [each["data"]["values"] for each in made["layer"] if each["mark"].get("strokeWidth") == 2.5]
    assert [(each["x"], each["y"]) for each in lines[0]] == [(0, 1), (0.5, 0), (0, -0.25), (0, 0), (0, 1)]
    # A value that is not known leaves a gap: the line is open.
    assert len(lines[1]) == 3
    assert "b: up 1.00, right not known" in made["description"]


def test_it_can_be_drawn_in_both_widths() -> None:
    colours = system_colours(["a"])
    axes = [f"skill {number}" for number in range(12)]
    for width in (780, NARROW):
        drawn = render(radar(axes, {"a": [0.5] * 12}, colours=colours, width=width), "light")
        assert drawn.startswith("<svg") and "skill 7" in drawn
    with pytest.raises(ValueError, match="3 axes"):
        radar(["one", "two"], {"a": [1, 1]}, colours=colours)
