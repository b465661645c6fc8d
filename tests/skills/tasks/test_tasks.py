"""Prompts that test one skill."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sightline import registry
from sightline.errors import UsageError
from sightline.records import NewPrompt


def made(text: str, n: int, seed: int = 0) -> list[NewPrompt]:
    return list(registry.configure("task", text).load()(np.random.default_rng(seed), n))


def test_counting_asks_for_every_number_equally_often() -> None:
    prompts = made("counting(most=12)", 33)
    assert Counter(prompt.tags["number"] for prompt in prompts) == {str(number): 3 for number in range(2, 13)}
    assert len({prompt.text for prompt in prompts}) == 33


def test_counting_says_what_it_expects() -> None:
    spoken = {"two": 2, "three": 3, "four": 4}
    for prompt in made("counting(most=4)", 90):
        number, things = prompt.text.split()
        assert prompt.expects is not None
        (wanted,) = prompt.expects["objects"]
        assert wanted["count"] == spoken[number] == int(prompt.tags["number"])
        assert wanted["kind"][:3] == things[:3]


def test_colour_binding_gives_every_thing_its_own_colour() -> None:
    prompts = made("colour_binding(things=3)", 200)
    for prompt in prompts:
        assert prompt.expects is not None
        wanted = prompt.expects["objects"]
        assert len({each["colour"] for each in wanted}) == len({each["kind"] for each in wanted}) == 3
        assert all(f"{each['colour']} {each['kind']}" in prompt.text for each in wanted)
        assert "a orange" not in prompt.text
    assert len({prompt.text for prompt in prompts}) == 200


def test_another_seed_makes_other_prompts() -> None:
    for text in ("counting", "colour_binding"):
        assert made(text, 20, seed=1) == made(text, 20, seed=1) != made(text, 20, seed=2)


@pytest.mark.parametrize(
    ("text", "n"), [("counting(most=1)", 1), ("counting(most=2)", 31), ("colour_binding(things=1)", 1),
                    ("colour_binding", 9451)]
)  # fmt: skip
def test_more_than_there_is_is_refused(text: str, n: int) -> None:
    # 15 things, 10 colours: 105 pairs of things x 90 pairs of colours = 9,450.
    with pytest.raises(UsageError):
        made(text, n)
