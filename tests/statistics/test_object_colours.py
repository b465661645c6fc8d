"""The colours of what is in a box, without what is around it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.samples.drawing import draw_known
from sightline.samples.scenes import Group, Scene, chance
from sightline.statistics.colours import EXAMPLES, object_colours

RED, BLUE, WHITE, GREEN = (200, 20, 30), (40, 90, 200), (240, 240, 240), (0, 128, 0)


def disc(inside: tuple[int, int, int], outside: tuple[int, int, int], size: int = 60) -> np.ndarray:
    """A disc that touches the middle of the sides of the box from .25 to .75."""
    y, x = np.mgrid[:size, :size] + 0.5
    within = np.hypot(x - size / 2, y - size / 2) <= size / 4
    return np.where(within[:, :, None], np.array(inside), np.array(outside)).astype(np.uint8)


MIDDLE = (0.25, 0.25, 0.75, 0.75)


def test_what_is_around_does_not_count() -> None:
    """A disc fills 79 % of its box: all pixels of the box would give 21 % of the ground."""
    for size in (12, 60, 700):
        assert object_colours(disc(RED, WHITE, size), MIDDLE) == {"red": 1.0}
    assert object_colours(disc(RED, RED), MIDDLE) == {"red": 1.0}, "where all is alike, the middle counts"


def test_two_colours_have_their_proportions() -> None:
    """Left half blue, right half red, on a green ground."""
    picture = disc(RED, GREEN, 80)
    left = np.arange(80)[None, :] < 40
    picture = np.where((left & (picture != GREEN).any(axis=2))[:, :, None], np.array(BLUE), picture).astype(
        np.uint8
    )
    assert object_colours(picture, MIDDLE) == {
        "red": pytest.approx(0.5, abs=0.01),
        "blue": pytest.approx(0.5, abs=0.01),
    }


@pytest.mark.parametrize("colour", ["red", "yellow", "green", "blue", "purple"])
def test_drawn_objects_have_the_colour_they_were_drawn_in(colour: str) -> None:
    image, known = draw_known(Scene((Group("ball", 3, colour),)), chance("colour", colour))  # type: ignore[arg-type]
    for each in known["objects"]:
        seen = object_colours(np.asarray(image), tuple(each["box"]))
        assert max(seen, key=seen.__getitem__) == each["colour"] == colour


@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(*[st.floats(0, 1)] * 4),
    st.integers(0, 2**32 - 1),
)
def test_any_box_of_any_picture_has_colours_that_sum_to_one(
    size: tuple[int, int], corners: tuple[float, float, float, float], seed: int
) -> None:
    rgb = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    left, top, right, bottom = corners
    box = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
    seen = object_colours(rgb, box)
    assert seen and set(seen) <= set(EXAMPLES)
    assert 0.9 < sum(seen.values()) < 1.01
