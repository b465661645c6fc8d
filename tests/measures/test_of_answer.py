"""Do the colours a prompt names show in the image?"""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from sightline.errors import UsageError
from sightline.extension import NoValue, Picture, Value
from sightline.measures.of_answer.colour_match import colour_match
from sightline.records import Prompt, PromptKey
from sightline.testing.inputs import encoded


def prompt(text: str, **expects: object) -> Prompt:
    return Prompt(PromptKey("suite", text), text, expects=expects or None)


def patch(
    colour: tuple[int, int, int], share: float, ground: tuple[int, int, int] = (255, 255, 255)
) -> Picture:
    pixels = np.full((100, 100, 3), ground, dtype=np.uint8)
    pixels.reshape(-1, 3)[: round(share * 10_000)] = colour
    return encoded(Image.fromarray(pixels))


def one(text: str, image: Picture, **expects: object) -> Value | NoValue:
    (found,) = colour_match([prompt(text, **expects)], [image])
    return found


# CSS colours whose name is, or plainly means, a basic colour term.
@pytest.mark.parametrize(
    ("name", "colour"),
    [
        ("red", (255, 0, 0)),
        ("red", (220, 20, 60)),
        ("green", (0, 128, 0)),
        ("green", (50, 205, 50)),
        ("blue", (0, 0, 255)),
        ("blue", (65, 105, 225)),
        ("blue", (135, 206, 235)),
        ("yellow", (255, 255, 0)),
        ("orange", (255, 140, 0)),
        ("purple", (128, 0, 128)),
        ("violet", (148, 0, 211)),
        ("pink", (255, 192, 203)),
        ("pink", (255, 20, 147)),
        ("brown", (139, 69, 19)),
        ("gray", (128, 128, 128)),
        ("black", (10, 10, 10)),
    ],
)
def test_a_named_colour_is_seen(name: str, colour: tuple[int, int, int]) -> None:
    found = one(f"A {name.upper()} thing", patch(colour, 0.3))
    assert isinstance(found, Value) and found.evidence is not None
    assert found.value == 1
    assert list(found.evidence["share"].values()) == pytest.approx([0.3])


def test_half_of_the_colours_is_half_the_value() -> None:
    assert one("a red cup and a blue hat", patch((255, 0, 0), 0.3)) == Value(
        0.5, {"share": {"blue": 0.0, "red": 0.3}}
    )


def test_less_than_enough_counts_in_proportion() -> None:
    found = one("a red dot", patch((255, 0, 0), 0.004))
    assert isinstance(found, Value)
    assert found.value == pytest.approx(0.4)


def test_without_a_colour_there_is_no_value() -> None:
    assert one("a cat, coloured by hand", patch((255, 0, 0), 1)) == NoValue("the prompt names no colour")


def test_what_a_prompt_expects_goes_before_its_words() -> None:
    wanted = {"objects": [{"kind": "bus", "colour": "blue"}, {"kind": "orange", "colour": None}]}
    found = one("an orange and a blue bus", patch((0, 0, 255), 0.5), **wanted)
    assert found == Value(1.0, {"share": {"blue": 0.5}})


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="enough=0"):
        colour_match([], [], enough=0)
