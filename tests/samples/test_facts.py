import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.samples.facts import Fact, alignment, holds, verdicts
from sightline.samples.scenes import Group, Scene

ASKED = Scene((Group("ball", 3, "red"), Group("box", size="small")), "left of", absent="cat", words="OPEN")


@given(st.from_type(Scene))
def test_a_scene_holds_all_its_own_facts(scene: Scene) -> None:
    assert alignment(scene, scene) == 1


@pytest.mark.parametrize(
    ("drawn", "failing"),
    [
        (ASKED, set()),
        # The same picture told from the other side.
        (Scene((ASKED.groups[1], ASKED.groups[0]), "right of", words="OPEN"), set()),
        (Scene((Group("ball", 4, "red"), ASKED.groups[1]), "left of", words="OPEN"), {"counting"}),
        (Scene((Group("ball", 3, "blue"), ASKED.groups[1]), "left of", words="OPEN"), {"colour"}),
        (Scene((ASKED.groups[0], Group("box", size="large")), "left of", words="OPEN"), {"size"}),
        (Scene(ASKED.groups, "above", words="OPEN"), {"spatial"}),
        (Scene((*ASKED.groups, Group("cat")), "left of", words="OPEN"), {"negation"}),
        (Scene(ASKED.groups, "left of", words="OPNE"), {"writing"}),
        (Scene((ASKED.groups[0],), words="OPEN"), {"object", "size", "spatial"}),
        (Scene((Group("tree"),)), {"object", "counting", "colour", "size", "spatial", "writing"}),
    ],
)
def test_each_mistake_fails_its_own_facts(drawn: Scene, failing: set[str]) -> None:
    assert {fact.skill for fact, held in verdicts(ASKED, drawn).items() if not held} == failing


def test_alignment_is_the_share_of_facts_that_hold() -> None:
    # Asked: ball, 3, red, box, small, left of, no cat, OPEN: 8 facts. Without the box, it, its size and its
    # place fail.
    assert alignment(ASKED, Scene((ASKED.groups[0],), words="OPEN")) == 5 / 8


def test_an_unknown_kind_of_fact_is_refused() -> None:
    with pytest.raises(ValueError, match="smell"):
        holds(Fact("smell", "ball", "sweet"), ASKED)
