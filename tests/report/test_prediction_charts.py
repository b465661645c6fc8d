"""Charts of prompts and predictions: what is parted, what is boxed, what a reader and a screen reader see."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.rendering.charts import MOST_POINTS, render
from sightline.rendering.shown import Scale
from sightline.rendering.theme import SERIES, Theme
from sightline.report.prediction_charts import (
    BOXES,
    LEAST_IN_A_BOX,
    box_figure,
    boxes,
    levels,
    map_figure,
)

UP = Scale("fit", "higher", 0.0, 1.0)
DOWN = Scale("flaws", "lower", 0.0, 10.0)

grades = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=60)


def test_quarters_by_hand() -> None:
    truth = [0.9, 0.1, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6]
    found = levels(truth, UP)
    assert [level.name for level in found] == ["hardest", "hard", "easy", "easiest"]
    # Sorted: .1 .2 | .3 .4 | .6 .7 | .8 .9, at their places in the list.
    assert [level.rows.tolist() for level in found] == [[1, 2], [4, 6], [5, 7], [0, 3]]
    assert [(level.low, level.high) for level in found] == [(0.1, 0.2), (0.3, 0.4), (0.6, 0.7), (0.8, 0.9)]


def test_where_less_is_better_the_highest_are_hardest() -> None:
    found = levels([1.0, 9.0, 3.0, 7.0], DOWN)
    assert [(level.name, level.rows.tolist()) for level in found] == [
        ("hardest", [1]),
        ("hard", [3]),
        ("easy", [2]),
        ("easiest", [0]),
    ]
    assert (found[0].low, found[0].high) == (9.0, 9.0)


@given(grades)
def test_every_prompt_has_one_level(truth: list[float]) -> None:
    found = levels(truth, UP)
    assert sorted(row for level in found for row in level.rows.tolist()) == list(range(len(truth)))


def test_a_box_for_each_value_where_they_are_few() -> None:
    guess = [0.0] * 9 + [0.5] * 9 + [1.0] * 3
    truth = [*np.arange(9.0), *(10 + np.arange(9.0)), 1.0, 2.0, 3.0]
    found = boxes(guess, truth)
    assert [(box.low, box.high, box.n) for box in found] == [
        (-0.25, 0.25, 9),
        (0.25, 0.75, 9),
        (0.75, 1.25, 3),
    ]
    # Nine numbers 0 to 8: the p-quantile lies at 8 p.
    assert found[0].cuts == pytest.approx((0.4, 2.0, 4.0, 6.0, 7.6))
    assert found[1].cuts == pytest.approx((10.4, 12.0, 14.0, 16.0, 17.6))
    assert found[2].cuts is None
    assert list(found[2].few) == [(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]


def test_many_values_are_cut_into_equal_steps() -> None:
    guess = np.linspace(0, 8, 801)
    found = boxes(guess, 2 * guess)
    assert [(box.low, box.high) for box in found] == [(float(n), float(n + 1)) for n in range(BOXES)]
    assert [box.n for box in found] == [100] * 7 + [101]
    assert found[0].cuts is not None and found[0].cuts[2] == pytest.approx(0.99)


@given(st.lists(st.tuples(st.floats(-1, 2), st.floats(-1, 2)), max_size=120))
def test_no_prompt_is_lost_from_the_boxes(pairs: list[tuple[float, float]]) -> None:
    found = boxes([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    assert sum(box.n for box in found) == len(pairs)
    assert all((box.cuts is None) == (box.n < LEAST_IN_A_BOX) for box in found)
    assert all(len(box.few) in (0, box.n) for box in found)


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        boxes([1.0, 2.0], [1.0])


@pytest.fixture
def many() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    truth = np.round(random.uniform(size=400), 2)
    return random.normal(size=(400, 2)), truth, 0.3 + 0.4 * truth + random.normal(0, 0.1, 400)


def test_the_map_names_its_levels_and_draws_the_ends_last(texts: Any, many: tuple[np.ndarray, ...]) -> None:
    places, truth, _ = many
    figure = map_figure(places, truth, scale=UP, how="Alike by their words.", note="A sample.")
    shown = [row["level"].partition(":")[0] for row in figure.wide["data"]["values"]]
    assert len(shown) == 400
    middle = sum(name in ("hard", "easy") for name in shown)
    assert 150 < middle < 250 and set(shown[:middle]) == {"hard", "easy"}
    assert "400 prompts" in figure.caption and figure.caption.endswith("A sample.")
    assert "Map of 400 prompts" in figure.wide["description"]
    assert all("hardest: 0.0" in said and "true fit" in said for said in texts(figure))


def test_strength_and_colour_tell_the_levels_apart_in_both_themes(many: tuple[np.ndarray, ...]) -> None:
    places, truth, _ = many
    figure = map_figure(places, truth, scale=UP, how="")
    themes: tuple[Theme, Theme] = ("light", "dark")
    for theme in themes:
        root = ElementTree.fromstring(render(figure.wide, theme))
        looks = {
            (node.get("fill"), node.get("opacity"))
            for node in root.iter("{http://www.w3.org/2000/svg}path")
            if node.get("fill") in (getattr(SERIES[0], theme), getattr(SERIES[1], theme))
        }
        assert looks == {
            (getattr(colour, theme), strength) for colour in SERIES[:2] for strength in ("0.95", "0.5")
        }
    assert "var(--series-1" in render(figure.wide)


def test_a_crowded_map_is_drawn_once() -> None:
    places = np.random.default_rng(0).normal(size=(MOST_POINTS + 1, 2))
    figure = map_figure(places, places[:, 0], scale=Scale("x", "none"), how="")
    assert figure.narrow is None


def test_boxes_say_what_they_show(texts: Any, many: tuple[np.ndarray, ...]) -> None:
    _, truth, guess = many
    figure = box_figure(truth, guess, scale=UP, predictor="ridge")
    assert "predicted by ridge" in figure.caption and "dots" not in figure.caption
    assert "Box plots of true fit by the value predicted by ridge" in figure.wide["description"]
    for said in texts(figure):
        assert sum(map(int, re.findall(r"\b\d\d\b", said))) == 400
        assert "predicted fit" in said and "true fit" in said


def test_few_prompts_are_dots_and_none_are_an_empty_frame(texts: Any) -> None:
    figure = box_figure([0.4, 0.6], [0.2, 0.7], scale=UP)
    assert "dots, one a prompt" in figure.caption
    for empty in (box_figure([], [], scale=UP), map_figure(np.zeros((0, 2)), [], scale=UP, how="")):
        assert len(texts(empty)) == 2
