import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.samples.collection import collection, grade, queries, relevant
from sightline.samples.facts import alignment
from sightline.samples.scenes import NUMBERS, Group, Scene
from sightline.samples.systems import png
from sightline.samples.wording import wordings

ASKED = Scene((Group("ball", 3, "red"),), absent="box")


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        (Scene((Group("ball", 3, "red"), Group("cat"))), 2),
        (Scene((Group("ball", 2, "red"),)), 1),  # ball, red and no box: 3 of 4
        (Scene((Group("ball", 2, "blue"),)), 1),  # ball and no box: 2 of 4
        (Scene((Group("ball", 2, "blue"), Group("box"))), 0),  # ball: 1 of 4
        (Scene((Group("cat"),)), 0),  # no box: 1 of 4
    ],
)
def test_grades_by_hand(shown: Scene, value: int) -> None:
    assert grade(ASKED, shown) == value


def test_what_is_rightly_missing_makes_nothing_relevant() -> None:
    assert grade(Scene(words="OPEN", absent="box"), Scene((Group("cat"),))) == 0


def test_every_query_finds_matches_and_most_pictures_are_of_no_use() -> None:
    items = list(collection(200, 4))
    for query in queries(25, 4):
        found = relevant(query, items)
        assert sum(value == 2 for value in found.values()) >= 2
        assert set(found.values()) <= {1, 2}
        assert len(found) < 60
        for item in items:
            match = alignment(query, item.scene)
            assert (found.get(item.name) == 2) == (match == 1)
            assert (item.name in found) <= (match >= 0.5)


def test_items_have_names_captions_and_pictures() -> None:
    items = list(collection(40, 1))
    assert len({item.name for item in items}) == 40
    assert {len(item.captions) for item in items} == {2, 3}
    assert all(len(set(item.captions)) == len(item.captions) for item in items)
    assert len({png(item.image(64)) for item in items}) == 40
    assert items[0].image(64).tobytes() == items[0].image(64).tobytes()


def test_a_larger_collection_begins_with_the_smaller_one() -> None:
    assert list(collection(50, 3))[:20] == list(collection(20, 3))
    assert list(collection(20, 3)) != list(collection(20, 4))
    assert list(collection(0)) == []


@given(st.from_type(Scene))
def test_all_wordings_mention_what_is_there(scene: Scene) -> None:
    plain, told, noted = said = wordings(scene)
    assert len(set(said)) == 3
    for group in scene.groups:
        assert group.kind in noted
        assert group.colour is None or all(group.colour in words for words in said)
        if group.count > 1:
            assert NUMBERS[group.count] in plain and NUMBERS[group.count] in told
            assert f"x {group.count}" in noted
    if scene.words:
        assert all(scene.words in words for words in said)
    if scene.absent:
        assert "no " in plain and "without any" in told and f"no {scene.absent}" in noted


def test_wordings_by_hand() -> None:
    scene = Scene(
        (Group("cat", size="small"), Group("box", 2, "orange")), "left of", words="TEA", absent="fish"
    )
    assert wordings(scene) == (
        "a small cat to the left of two orange boxes and a sign that says TEA, but no fish "
        "on a plain background",
        'a picture of two orange cubes to the right of a little kitten and a board with the word "TEA", '
        "without any fish",
        "illustration: cat (small); box (orange) x 2; cat left of box; sign: TEA; no fish",
    )
