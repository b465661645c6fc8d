"""Thumbnails on a map: where they lie, how much of each can be seen, and what is said about it."""

import io
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy.spatial.distance import pdist, squareform

from sightline.rendering.shown import Thumbnail
from sightline.rendering.theme import SERIES
from sightline.variability.scaling_map import (
    MOST_HIDDEN,
    MOST_ON_A_MAP,
    chosen,
    hidden_shares,
    laid_out,
    scaling_map,
)

PLACES = arrays(float, st.tuples(st.integers(1, MOST_ON_A_MAP), st.just(2)), elements=st.floats(-9, 9))


def dot(shade: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, shade, shade)).save(out, "PNG")
    return out.getvalue()


def thumbnails(systems: Sequence[str]) -> list[Thumbnail]:
    return [Thumbnail(dot(n % 256), system) for n, system in enumerate(systems)]


def apart(places: Sequence[Sequence[float]]) -> np.ndarray:
    return squareform(pdist(np.array(places, dtype=float)))


@pytest.mark.slow
@given(PLACES)
def test_hardly_anything_is_hidden_and_nothing_leaves_the_map(places: np.ndarray) -> None:
    """What is covered is counted on a grid of points, not by the arithmetic that pushed them apart."""
    laid = laid_out(places)
    half = laid.side / 2
    assert laid.side > 0.02
    assert (laid.places >= half - 1e-9).all()
    assert (laid.places <= np.array([1, laid.height]) - half + 1e-9).all()
    steps = (np.arange(20) + 0.5) / 20 * laid.side - half
    grid = np.stack(np.meshgrid(steps, steps), axis=2).reshape(-1, 2)
    for n, place in enumerate(laid.places):
        later = np.abs(place + grid[:, None] - laid.places[n + 1 :]).max(axis=2) < half
        # Points of a grid count an area to about one step along its edge.
        assert later.any(axis=1).mean() <= MOST_HIDDEN + 0.12


def test_what_is_hidden_worked_by_hand() -> None:
    """Squares of side 2: the second covers the right half of the first, the third a quarter of the second."""
    assert hidden_shares([[0, 0], [1, 0], [2, 1]], 2) == pytest.approx([0.5, 0.25, 0])


def test_thumbnails_with_room_stay_where_they_belong() -> None:
    """Corners of a square: one scale for both axes, so that it stays a square."""
    laid = laid_out([[0, 0], [4, 0], [0, 4], [4, 4]])
    assert laid.moved == 0
    sides = np.ptp(laid.places, axis=0)
    assert sides[0] == pytest.approx(sides[1])
    assert sides[1] == pytest.approx(laid.height - laid.side)


def test_images_in_one_place_are_pushed_apart_the_same_way_every_time() -> None:
    first, second = laid_out(np.zeros((9, 2))), laid_out(np.zeros((9, 2)))
    assert np.array_equal(first.places, second.places)
    assert pdist(first.places).min() > first.side / 2
    assert first.moved > 0


def test_the_map_says_its_stress_and_its_distance() -> None:
    """Four things equally far from each other lie in no plane: stress sqrt((3 - 2 sqrt 2) / 6) = .169."""
    found = scaling_map(thumbnails(["a"] * 4), 1 - np.eye(4), prompt="a cat", distance="ssim")
    assert "Stress 0.17: distances on the map miss the true ones by 17 %." in found.caption
    assert "by ssim" in found.caption
    assert "a cat" in found.label and "4 images" in found.label


def test_every_image_has_a_badge_and_says_which_is_nearest() -> None:
    distances = apart([[0, 0], [1, 0], [5, 0], [5, 2]])
    found = scaling_map(thumbnails(["b", "a", "b", "a"]), distances, prompt="p")
    assert [placed.badge for placed in found.pictures] == ["B1", "A1", "B2", "A2"]
    assert [placed.picture.alt for placed in found.pictures] == [
        "image B1 of b, nearest to A1 at distance 1",
        "image A1 of a, nearest to B1 at distance 1",
        "image B2 of b, nearest to A2 at distance 2",
        "image A2 of a, nearest to B2 at distance 2",
    ]
    assert found.legend == [("A", "a", SERIES[0].name), ("B", "b", SERIES[1].name)]
    assert {placed.picture.colour for placed in found.pictures} == {SERIES[0].name, SERIES[1].name}


def test_distances_on_the_map_are_in_proportion_where_there_is_room() -> None:
    places = [[0, 0], [3, 3], [5, -2], [7, 3], [10, 0]]
    found = scaling_map(thumbnails([""] * 5), apart(places), prompt="p")
    assert "moved" not in found.caption
    drawn = np.array([[placed.left, placed.top / found.shape] for placed in found.pictures])
    ratio = pdist(drawn) / pdist(np.array(places))
    assert ratio == pytest.approx(np.full(10, ratio[0]), rel=0.01)


def test_a_crowd_in_a_corner_is_laid_on_a_grid() -> None:
    """Nothing can be pushed out of a corner; on a grid nothing is hidden, and thumbnails stay readable."""
    laid = laid_out([[0, 0]] * (MOST_ON_A_MAP - 1) + [[9, 9]])
    assert laid.side > 0.08
    assert hidden_shares(laid.places, laid.side).max() == 0


def test_a_crowd_is_thinned_out_and_that_is_said() -> None:
    n = 3 * MOST_ON_A_MAP
    found = scaling_map(
        thumbnails([""] * n), apart(np.random.default_rng(0).normal(size=(n, 3)).tolist()), prompt="p"
    )
    assert len(found.pictures) == MOST_ON_A_MAP and found.scrolls
    assert f"{MOST_ON_A_MAP} of {n} images are drawn" in found.caption
    assert chosen(n)[0] == 0 and chosen(n)[-1] == n - 1
    assert chosen(5).tolist() == [0, 1, 2, 3, 4]


def test_one_image_and_an_image_that_is_not_here() -> None:
    alone = scaling_map(thumbnails(["a"]), np.zeros((1, 1)), prompt="p")
    assert [(placed.left, placed.top) for placed in alone.pictures] == [(50, 50)]
    missing = [Thumbnail(None, "a", None, "gone"), *thumbnails(["a"])]
    found = scaling_map(missing, apart([[0, 0], [1, 1]]), prompt="p")
    assert found.pictures[0].picture.source == "" and found.pictures[0].picture.reason == "gone"


def test_distances_must_fit_the_thumbnails() -> None:
    with pytest.raises(ValueError, match="as many rows"):
        scaling_map(thumbnails(["a", "b"]), np.zeros((3, 3)), prompt="p")


def test_more_systems_than_letters() -> None:
    names = [f"s{n:02}" for n in range(28)]
    distances = apart(np.random.default_rng(0).normal(size=(28, 2)).tolist())
    found = scaling_map(thumbnails(names), distances, prompt="p")
    letters = [letter for letter, _, _ in found.legend]
    assert letters[:2] == ["A", "B"] and letters[25:] == ["Z", "AA", "AB"]
    assert all(re.fullmatch(r"[A-Z]+1", placed.badge) for placed in found.pictures)
