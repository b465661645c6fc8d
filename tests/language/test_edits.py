"""Edit distances, against the definition by recursion."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.language.edits import edit_distance, letters, nearest_words

short = st.text("abc", max_size=6)


@cache
def defined(one: str, two: str) -> int:
    if not one or not two:
        return len(one) + len(two)
    if one[0] == two[0]:
        return defined(one[1:], two[1:])
    return 1 + min(defined(one[1:], two), defined(one, two[1:]), defined(one[1:], two[1:]))


@given(short, short)
def test_the_distance_is_the_defined_one(one: str, two: str) -> None:
    assert edit_distance(one, two) == edit_distance(two, one) == defined(one, two)


def test_known_distances() -> None:
    assert edit_distance("kitten", "sitting") == 3 and edit_distance("", "abc") == 3
    assert letters("Café No. 7!") == "caféno7" and letters("OPEN", case=True) == "OPEN"


@pytest.mark.parametrize(
    ("wanted", "lines", "edits", "place"),
    [
        ("OPEN", ["open"], 0, (0, 1)),
        ("OPEN", ["OPENN"], 1, (0, 1)),
        ("OPEN", ["OPEMN today"], 1, (0, 1)),
        ("Google Brain", ["the", "Goo gle", "Brain", "shop"], 0, (1, 3)),
        ("Google Brain", ["GoogleBrain!"], 0, (0, 1)),
        ("OPEN", [], 4, (0, 0)),
        ("OPEN", ["x", "?!"], 4, (0, 0)),
        ("it's 5 pm", ["ITS 5PM"], 0, (0, 1)),
    ],
)
def test_the_nearest_words(wanted: str, lines: list[str], edits: int, place: tuple[int, int]) -> None:
    assert nearest_words(wanted, lines) == (edits, place)


def test_case_counts_where_it_is_asked_for() -> None:
    assert nearest_words("Open", ["OPEN"], case=True)[0] == 3
