import colorsys
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from sightline.samples.chance import chance
from sightline.samples.drawing import draw, layout, settle
from sightline.samples.scenes import COLOURS, KINDS, WHERES, Colour, Group, Scene, Where
from sightline.samples.shapes import PAINT

HUES = {name: colorsys.rgb_to_hsv(*(c / 255 for c in PAINT[name]))[0] for name in COLOURS if name != "black"}


def colours_of(image: Image.Image) -> NDArray[np.int_]:
    """For each pixel the place in COLOURS of the nearest hue; -1 for the pale ground, wood and cream."""
    hue, saturation, value = np.moveaxis(np.asarray(image.convert("HSV")) / np.float32(255), -1, 0)
    apart = np.abs(hue[..., None] - np.array(list(HUES.values()), dtype=np.float32))
    nearest = np.minimum(apart, 1 - apart).argmin(-1)
    # Wood is a dark orange.
    vivid = (saturation > 0.3) & (value > np.where(nearest == COLOURS.index("orange"), 0.65, 0.4))
    black = (value < 0.45) & (saturation < 0.3)
    return np.where(black, COLOURS.index("black"), np.where(vivid, nearest, -1))


def bodies(image: Image.Image, colour: Colour, least: int = 40) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Labels of connected pixels of a colour, and those of them that are bodies, not the nose of a cat."""
    # The black pupil of a black cat is part of the cat, so holes are filled.
    mask = ndimage.binary_fill_holes(colours_of(image) == COLOURS.index(colour))
    labels, _ = ndimage.label(mask, structure=np.ones((3, 3)))
    areas = np.bincount(labels.ravel())
    return labels, np.flatnonzero(areas >= least)[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_objects_can_be_counted_in_the_pixels_as_were_asked(kind: str) -> None:
    colours = itertools.cycle(COLOURS)
    for count in range(1, 10):
        colour = next(colours)
        image = draw(Scene((Group(kind, count, colour),)), chance("count", kind, count))
        assert len(bodies(image, colour)[1]) == count, (kind, colour, count)


@pytest.mark.parametrize("colour", COLOURS)
def test_every_kind_has_the_colour_asked_and_is_one_piece(colour: Colour) -> None:
    for kind in KINDS:
        image = draw(Scene((Group(kind, 3, colour),)), chance("colour", kind, colour))
        found = colours_of(image)
        areas = np.bincount(found[found >= 0], minlength=len(COLOURS))
        assert COLOURS[areas.argmax()] == colour, (kind, areas)
        assert len(bodies(image, colour)[1]) == 3, kind


def extent(image: Image.Image, colour: Colour, across: bool) -> tuple[int, int]:
    labels, found = bodies(image, colour)
    places = np.nonzero(np.isin(labels, found))[1 if across else 0]
    return int(places.min()), int(places.max())


@pytest.mark.parametrize("where", WHERES)
def test_groups_stand_as_related(where: Where) -> None:
    for i, (first, second) in enumerate(itertools.pairwise(KINDS)):
        scene = Scene((Group(first, 1 + i % 4, "blue"), Group(second, 1 + i % 3, "red")), where)
        image = draw(scene, chance("where", where, i))
        across = where in ("left of", "right of")
        a, b = (extent(image, colour, across) for colour in ("blue", "red"))
        if where in ("right of", "below"):
            a, b = b, a
        assert a[1] < b[0]


def test_large_objects_cover_more_than_small_ones() -> None:
    for kind in KINDS:
        other = "ball" if kind != "ball" else "box"
        scene = Scene((Group(kind, 1, "blue", "large"), Group(other, 1, "red", "small")))
        image = draw(scene, chance("size", kind))
        areas = {name: int((colours_of(image) == COLOURS.index(name)).sum()) for name in ("blue", "red")}
        assert areas["blue"] > areas["red"], kind


def test_only_the_sign_differs_where_only_the_words_differ() -> None:
    group = Group("tree", 2, "green")
    one, other = (draw(Scene((group,), words=words), chance("sign")) for words in ("OPEN", "EXIT"))
    changed = np.nonzero((np.asarray(one) != np.asarray(other)).any(-1))
    assert changed[0].size > 100
    # The board takes less than 0.42 of the height and 0.8 of the width; the trees are elsewhere.
    assert np.ptp(changed[0]) < 192 * 0.42
    assert np.ptp(changed[1]) < 192 * 0.8


@given(st.from_type(Scene))
def test_nothing_overlaps_and_everything_is_inside(scene: Scene) -> None:
    rng = chance("layout", scene.text)
    placed, sign = layout(settle(scene, rng), rng)
    boxes: list[tuple[float, float, float, float]] = [
        (thing.x - thing.radius, thing.y - thing.radius, thing.x + thing.radius, thing.y + thing.radius)
        for thing in placed
    ]
    assert len(boxes) == sum(group.count for group in scene.groups)
    assert (sign is not None) == (scene.words is not None)
    if sign:
        boxes.append(sign)
    assert all(0 <= side <= 1 for box in boxes for side in box)
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] + 1e-9 or b[2] <= a[0] + 1e-9 or a[3] <= b[1] + 1e-9 or b[3] <= a[1] + 1e-9


@given(st.from_type(Scene))
def test_any_scene_can_be_drawn_at_any_size(scene: Scene) -> None:
    for size in (64, 150):
        image = draw(scene, chance("any"), size)
        assert image.size == (size, size)
        assert image.mode == "RGB"


@given(st.from_type(Scene))
def test_settling_decides_what_is_open_and_nothing_else(scene: Scene) -> None:
    settled = settle(scene, chance("settle"))
    assert all(group.colour for group in settled.groups)
    assert (settled.where is not None) == (len(scene.groups) > 1)
    assert settle(settled, chance("again")) == settled
    for asked, got in zip(scene.groups, settled.groups, strict=True):
        kept: dict[str, Any] = {"kind": asked.kind, "count": asked.count, "size": asked.size}
        assert {name: getattr(got, name) for name in kept} == kept
        assert asked.colour in (None, got.colour)


def test_samples_of_a_scene_differ() -> None:
    scene = Scene((Group("cat"),))
    assert draw(scene, chance("a")).tobytes() == draw(scene, chance("a")).tobytes()
    assert draw(scene, chance("a")).tobytes() != draw(scene, chance("b")).tobytes()
