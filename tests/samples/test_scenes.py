import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.samples.facts import facts
from sightline.samples.scenes import COLOURS, FAMILIES, NUMBERS, PLURALS, SIZES, Group, Scene, scenes

SINGULAR = {plural: kind for kind, plural in PLURALS.items()}


def read_phrase(words: str) -> dict[str, Any]:
    """A noun phrase taken apart again, from the text alone."""
    number, *traits, noun = words.split()
    count = 1 if number in ("a", "an") else NUMBERS.index(number)
    if count == 1:
        assert number == ("an" if (traits or [noun])[0][0] in "aeiou" else "a")
    size = traits.pop(0) if traits and traits[0] in SIZES else None
    colour = traits.pop(0) if traits and traits[0] in COLOURS else None
    assert not traits
    kind = SINGULAR[noun] if count > 1 else noun
    return {"kind": kind, "count": count, "at_least": count == 1, "colour": colour, "size": size}


def read(text: str) -> dict[str, Any]:
    """What a prompt expects, from the text alone: an independent reading of the grammar."""
    absent, written, relation = [], None, None
    if found := re.search(r"(, but| and) no (\w+)$", text):
        absent, text = [found[2]], text[: found.start()]
    if found := re.search(r"(^| and )a sign that says ([A-Z]+)$", text):
        written, text = found[2], text[: found.start()]
    things = re.split(r", | and ", text) if text else []
    if things and (found := re.search(r" (to the left of|to the right of|above|below) ", things[0])):
        things[:1] = [things[0][: found.start()], things[0][found.end() :]]
        relation = found[1].removeprefix("to the ")
    objects = [read_phrase(thing) for thing in things]
    return {
        "objects": objects,
        "relation": {"first": objects[0]["kind"], "where": relation, "second": objects[1]["kind"]}
        if relation
        else None,
        "absent": absent,
        "text": written,
        "complete": True,
    }


@given(st.from_type(Scene))
def test_the_text_says_exactly_what_is_expected(scene: Scene) -> None:
    assert read(scene.text) == scene.expects


@given(st.from_type(Scene))
def test_expects_is_plain_json(scene: Scene) -> None:
    assert json.loads(json.dumps(scene.expects)) == scene.expects


@given(st.from_type(Scene))
def test_there_is_one_fact_for_each_demand(scene: Scene) -> None:
    expects = scene.expects
    demands = sum(
        1 + (thing["count"] > 1) + (thing["colour"] is not None) + (thing["size"] is not None)
        for thing in expects["objects"]
    )
    demands += (expects["relation"] is not None) + len(expects["absent"]) + (expects["text"] is not None)
    found = facts(scene)
    assert len(found) == len(set(found)) == demands
    counts = {thing["kind"]: thing["count"] for thing in expects["objects"] if thing["count"] > 1}
    assert {fact.about: fact.value for fact in found if fact.skill == "counting"} == counts


@pytest.mark.parametrize(
    ("scene", "text", "skills"),
    [
        (Scene((Group("fish", colour="orange"),)), "an orange fish", ("single",)),
        (Scene((Group("box", 7),)), "seven boxes", ("counting",)),
        (
            Scene((Group("umbrella"), Group("fish", 2)), where="left of"),
            "an umbrella to the left of two fish",
            ("counting", "spatial"),
        ),
        (Scene((Group("ball", colour="red"),), absent="box"), "a red ball and no box", ("negation",)),
        (
            Scene((Group("ball", 3, "red"), Group("cat", size="small")), absent="box", words="OPEN"),
            "three red balls, a small cat and a sign that says OPEN, but no box",
            ("counting", "size", "negation", "writing"),
        ),
        (Scene(words="HELLO"), "a sign that says HELLO", ("writing",)),
    ],
)
def test_prompts_are_grammatical(scene: Scene, text: str, skills: tuple[str, ...]) -> None:
    assert scene.text == text
    assert scene.skills == skills


@given(st.integers(1, 60), st.integers(0, 10**6))
def test_scenes_are_distinct_and_balanced(n: int, seed: int) -> None:
    found = scenes(n, seed)
    assert len({scene.text for scene in found}) == len({scene.ref for scene in found}) == n
    families = Counter(scene.family for scene in found)
    assert max(families.values()) - min(families.get(family, 0) for family in FAMILIES) <= 1
    for scene in found:
        assert scene.ref.startswith(f"{scene.family}-")
        assert len(scene.skills) == (3 if scene.family == "combined" else 1)


def test_more_scenes_begin_with_the_fewer_ones() -> None:
    assert [scene.ref for scene in scenes(100, 3)][:24] == [scene.ref for scene in scenes(24, 3)]
    assert scenes(100, 3)[:24] == scenes(24, 3)
    assert scenes(24, 3) != scenes(24, 4)


def test_a_family_that_is_used_up_is_passed_over() -> None:
    found = scenes(1600, 0)
    families = Counter(scene.family for scene in found)
    assert len({scene.text for scene in found}) == 1600
    assert families["single"] <= len(PLURALS) * len(COLOURS) == 136
    assert families["combined"] > 200


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Group("unicorn"),
        lambda: Group("ball", 0),
        lambda: Group("ball", 13),
        lambda: Scene(),
        lambda: Scene((Group("ball"), Group("ball", 2))),
        lambda: Scene((Group("ball"),), where="above"),
        lambda: Scene((Group("ball"),), absent="ball"),
    ],
)
def test_scenes_that_contradict_themselves_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        wrong()
