"""How alike the images of a set are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sightline import registry
from sightline.errors import UsageError
from sightline.extension import NoValue, Picture, Value
from sightline.measures.of_set.similarity import k_expected, pairwise_mean
from sightline.testing.inputs import encoded

# Points on a line and what the definition gives of them, by hand: the four-point check of W1KP's definitions.
LINE = (0.0, 1.0, 2.0, 10.0)
EXPECTED = {2: 31 / 6, 3: 1.25, 4: 1.0}


def grey(level: int) -> Picture:
    return encoded(Image.new("RGB", (16, 16), (level, level, level)))


def on_a_line(*places: float) -> tuple[list[Picture], Callable[[Sequence[Picture]], np.ndarray]]:
    """Pictures, and a distance that puts each at its place, in whatever order they come."""
    images = [grey(number) for number in range(len(places))]
    at = {image.sha256: place for image, place in zip(images, places, strict=True)}

    def distance(shown: Sequence[Picture]) -> np.ndarray:
        row = np.array([at[image.sha256] for image in shown])
        return np.abs(row[:, None] - row)

    return images, distance


def value(found: Any) -> float:
    assert isinstance(found, Value)
    return found.value


def test_similarity_by_hand() -> None:
    # Greys 0, 51, 255: distances 0.2, 1.0 and 0.8, mean 2/3.
    measure = registry.configure("of_set", "pairwise_mean(distance=pixel_l2)").load()
    assert measure([grey(0), grey(51), grey(255)]) == pytest.approx(1 - 2 / 3)


@pytest.mark.parametrize("name", ["pairwise_mean", "k_expected(k=3)"])
def test_duplicates_are_alike(name: str) -> None:
    found = registry.configure("of_set", name).load()([grey(7)] * 3)
    assert (found.value if isinstance(found, Value) else found) == pytest.approx(1)


@pytest.mark.parametrize("count", [0, 1])
def test_one_image_cannot_vary(count: int) -> None:
    assert pairwise_mean([grey(0)] * count, distance=None) == NoValue("fewer than two images")


def test_the_four_point_check() -> None:
    images, distance = on_a_line(*LINE)
    for k, expected in EXPECTED.items():
        assert value(k_expected(images, distance=distance, k=k)) == pytest.approx(1 - expected, abs=1e-12)
    assert k_expected(images, distance=distance, k=5) == NoValue("fewer than 5 images")
    assert k_expected(images[:3], distance=distance) == NoValue("fewer than 4 images")
    with pytest.raises(UsageError, match="At least 2"):
        k_expected(images, distance=distance, k=1)


def test_one_duplicate_shows_as_soon_as_both_are_looked_at() -> None:
    # 0, 0, 9: of three pairs one is 0 apart, the others 9; among all three the closest are the copies.
    images, distance = on_a_line(0.0, 0.0, 9.0)
    assert value(k_expected(images, distance=distance, k=2)) == pytest.approx(1 - 6)
    assert value(k_expected(images, distance=distance, k=3)) == 1


@given(st.lists(st.floats(0, 1), min_size=2, max_size=7), st.integers(2, 7))
def test_the_mean_over_all_subsets(places: list[float], k: int) -> None:
    images, distance = on_a_line(*places)
    found = k_expected(images, distance=distance, k=k)
    if k > len(places):
        assert isinstance(found, NoValue)
        return
    smallest = [min(abs(a - b) for a, b in combinations(some, 2)) for some in combinations(places, k)]
    assert value(found) == pytest.approx(1 - np.mean(smallest), abs=1e-12)
    if k == 2:
        assert value(found) == pytest.approx(pairwise_mean(images, distance=distance), abs=1e-12)


def test_many_images_by_random_orders_with_their_error() -> None:
    """25 even steps: by formula C(n - (k-1)(m-1), k) of the C(n, k) subsets keep at least m steps apart."""
    n, k = 25, 4
    images, distance = on_a_line(*(float(place) for place in range(n)))
    exact = sum(comb(n - (k - 1) * (m - 1), k) for m in range(1, n) if n >= (k - 1) * (m - 1)) / comb(n, k)
    found = k_expected(images, distance=distance, k=k, permutations=4000)
    error = found.evidence["standard_error"]
    assert 0.005 < error < 0.05
    assert value(found) == pytest.approx(1 - exact, abs=4 * error)
    assert k_expected(images[::-1], distance=distance, k=k, permutations=4000) == found
    assert k_expected(images, distance=distance, k=k, permutations=4000, seed=1) != found
