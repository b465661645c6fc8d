"""Easy and hard on two scales: where the plane is parted, who lies where, what is written at its edges."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.rendering.shown import Scale
from sightline.report.quadrant_charts import cut_between, quadrant_figure, quadrants

UP = Scale("fit", "higher", 0.0, 1.0)
DOWN = Scale("flaws", "lower", 0.0, 10.0)
WORDS = ("to generate", "to retrieve")

grades = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("values", "cut"),
    [
        ([1, 2, 3, 4], 2.5),  # two below, two above
        ([0, 0, 0, 1], 1),  # with the median 4 to 0, without it 1 to 3
        ([0, 1, 1, 1], 1),  # nothing lies above the median: 3 to 1
        ([0, 0, 1, 2, 2], 1),  # with the median 3 to 2, without it 2 to 3: as even, the median is easy
        ([5, 5, 5], 5),
    ],
)
def test_the_middle_by_hand(values: list[float], cut: float) -> None:
    assert cut_between(values) == cut


@given(grades)
def test_no_other_cut_parts_more_evenly(values: list[float]) -> None:
    found = np.array(values)

    def uneven(cut: float) -> int:
        return abs(2 * int((found >= cut).sum()) - found.size)

    assert uneven(cut_between(values)) == min(uneven(value) for value in values)


def test_no_values_have_no_middle() -> None:
    with pytest.raises(ValueError, match="no values"):
        cut_between([])


def test_quadrants_by_hand() -> None:
    first = [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
    second = [9.0, 2.0, 8.0, 1.0, 7.0, 3.0]
    found = {
        (each.easy_first, each.easy_second): each for each in quadrants(first, second, (UP, DOWN), WORDS)
    }
    # Easy on the first: the last three; on the second, where less is better: those of 1, 2 and 3.
    assert {key: each.rows.tolist() for key, each in found.items()} == {
        (True, True): [3, 5],
        (True, False): [4],
        (False, True): [1],
        (False, False): [0, 2],
    }
    assert found[True, False].name == "easy to generate, hard to retrieve"
    # Ranks from the middle: prompt 0 is 1/6 - 1/2 on both, prompt 2 only 3/6 - 1/2 on the first.
    assert found[False, False].rows.tolist()[0] == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=50))
def test_every_prompt_lies_in_one_quadrant(pairs: list[tuple[int, int]]) -> None:
    found = quadrants([pair[0] for pair in pairs], [pair[1] for pair in pairs], (UP, DOWN), WORDS)
    assert sorted(row for each in found for row in each.rows.tolist()) == list(range(len(pairs)))


def test_the_plane_is_parted_and_named_along_its_edges(texts: Any) -> None:
    random = np.random.default_rng(0)
    truth = np.round(random.uniform(size=400), 2)
    guess = 0.3 + 0.4 * truth + random.normal(0, 0.1, 400)
    figure = quadrant_figure(truth, 10 * guess, scales=(UP, DOWN), words=WORDS)
    for said in texts(figure):
        assert all(f"{how} {word}" in said for how in ("easy", "hard") for word in WORDS)
    shares = [int(n) for n in re.findall(r"retrieve (\d+) \(", figure.wide["description"])]
    assert len(shares) == 4 and sum(shares) == 400


def test_long_words_at_an_edge_only_say_easy_or_hard(texts: Any) -> None:
    words = ("to generate", "by faithfulness to the prompt")
    figure = quadrant_figure([0.1, 0.9], [0.2, 0.8], scales=(UP, UP), words=words)
    assert texts(figure)[1].endswith("hard to generate easy to generate hard easy")
    assert "hard by faithfulness to the prompt" in figure.wide["description"]


def test_prompts_in_one_place_are_one_larger_dot() -> None:
    first, second = [0.1] * 3 + [0.9], [0.2] * 3 + [0.8]
    values = quadrant_figure(first, second, scales=(UP, UP), words=WORDS).wide["data"]["values"]
    assert [(row["x"], row["y"], row["area"]) for row in values] == [(0.1, 0.2, 150.0), (0.9, 0.8, 50.0)]


def test_too_many_places_are_gathered_around_their_means() -> None:
    random = np.random.default_rng(1)
    columns = random.uniform(size=(2, 5000))
    values = quadrant_figure(*columns, scales=(UP, UP), words=WORDS).wide["data"]["values"]
    assert 1000 < len(values) <= 37**2
    area = sum(row["area"] for row in values)
    assert np.sum([row["x"] * row["area"] for row in values]) / area == pytest.approx(
        columns[0].mean(), abs=0.01
    )
