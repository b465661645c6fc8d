"""Verdicts on whole prompts: drawn scenes whose truth is known, and how single demands are put together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import registry
from sightline.demands import CANNOT_TELL, NO, YES, Demand, Expects, read_expects
from sightline.errors import UsageError
from sightline.samples.drawing import known, layout, settle
from sightline.samples.facts import verdicts as true_facts
from sightline.samples.scenes import FAMILIES, chance, scenes
from sightline.samples.systems import SYSTEMS, attempt
from sightline.skills.deciding import STANDARD, chosen, decide


def test_drawn_scenes_are_decided_without_a_mistake() -> None:
    """Every skill, by systems that err: what the verdict says is what was drawn. Nothing is rendered here."""
    counts: Counter[tuple[str, str]] = Counter()
    for scene in scenes(160, seed=5):
        for name, system in SYSTEMS.items():
            rng = chance("verdicts", name, scene.text)
            drawn = settle(attempt(system, scene, rng), rng)
            decided = decide(scene.expects, known(drawn, *layout(drawn, rng)))
            true = true_facts(scene, drawn)
            assert decided.verdict == (YES if all(true.values()) else NO), (scene.text, drawn, decided.why)
            counts[scene.family, decided.verdict] += 1
    assert {family for family, _ in counts} == {*FAMILIES}
    assert all(counts[family, said] >= 3 for family in FAMILIES for said in (YES, NO)), counts


def test_each_demand_that_fails_is_named() -> None:
    expects = {
        "objects": [{"kind": "dog", "count": 2}, {"kind": "cat"}], "absent": ["car"], "text": "OPEN",
        "complete": True,
    }  # fmt: skip
    dog = {"kind": "dog", "box": [0, 0, 0.5, 1], "confidence": 0.9}
    decided = decide(expects, {"objects": [dog]}, ("dog", "cat", "car"))
    assert [(each.demand, each.about, each.verdict) for each in decided.decisions] == [
        ("presence", "dog", YES), ("presence", "cat", NO), ("count", "2 dog", NO), ("absence", "no car", YES),
        ("text", "the text 'OPEN'", CANNOT_TELL),
    ]  # fmt: skip
    assert decided.verdict == decided.checked == NO
    assert "cat: No object of kind cat is seen." in decided.why and "OPEN" not in decided.why
    assert [mark.label for mark in decided.boxes] == ["dog"]


@pytest.mark.parametrize(
    ("complete", "seen", "verdict", "checked"),
    [
        (True, True, YES, YES), (False, True, CANNOT_TELL, YES), (None, True, CANNOT_TELL, YES),
        (True, False, NO, NO), (False, False, NO, NO), (None, False, NO, NO),
    ],
)  # fmt: skip
def test_yes_never_goes_beyond_what_was_checked(
    complete: bool | None, seen: bool, verdict: str, checked: str
) -> None:
    scene = {"objects": [{"kind": "horse", "box": [0, 0, 1, 1], "confidence": 0.8}] if seen else []}
    decided = decide({"objects": [{"kind": "horse"}], "complete": complete}, scene, ("horse",))
    assert (decided.verdict, decided.checked) == (verdict, checked)
    if verdict == CANNOT_TELL:
        assert decided.boxes and "what was checked holds" in decided.why
        assert ("asks for more than can be checked" in decided.why) == (complete is False)


def test_nothing_to_check_cannot_be_told() -> None:
    for expects in (None, {}, {"phrases": ["a fox in the snow"], "complete": True}, Expects(complete=True)):
        assert decide(expects, {"objects": []}, None).verdict == CANNOT_TELL


kinds = st.sampled_from(["dog", "cat", "car", "hedgehog", "man"])
expected = st.fixed_dictionaries(
    {
        "objects": st.lists(
            st.fixed_dictionaries({"kind": kinds, "count": st.none() | st.integers(0, 3)}), max_size=3
        ),
        "absent": st.lists(kinds, max_size=2),
        "complete": st.booleans(),
    }
)
seen = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["dog", "cat", "car", "person"]), "confidence": st.floats(0, 1)}
    ),
    max_size=6,
)
KNOWN = ("dog", "cat", "car", "person")


@given(expected, seen)
def test_the_weakest_demand_decides(expects: dict[str, Any], things: list[dict[str, Any]]) -> None:
    decided = decide(expects, {"objects": things}, KNOWN)
    said = [each.verdict for each in decided.decisions]
    if NO in said:
        assert decided.verdict == NO
    elif CANNOT_TELL in said or not said or not expects["complete"]:
        assert decided.verdict == CANNOT_TELL
    else:
        assert decided.verdict == YES


@given(expected, seen)
def test_knowing_less_never_turns_a_verdict_round(
    expects: dict[str, Any], things: list[dict[str, Any]]
) -> None:
    """Whoever looks for fewer kinds may be unable to tell, but never says the reverse."""
    known_kinds = tuple(each for each in KNOWN if each != "cat")
    less = decide(expects, {"objects": [each for each in things if each["kind"] != "cat"]}, known_kinds)
    more = decide(expects, {"objects": things}, KNOWN)
    assert {less.verdict, more.verdict} != {YES, NO}


def test_other_verdicts_take_the_place_of_the_standard_ones() -> None:
    assert [chosen()[each].name for each in chosen()] == list(STANDARD)
    assert chosen(("joint_presence",))["presence"].name == "joint_presence"
    assert str(chosen(("count(sure=0.7)",))["count"].arguments["sure"]) == "0.7"
    with pytest.raises(UsageError, match="there is no verdict called"):
        chosen(("presense",))


PLACES = {
    "left of": ((0.1, 0.4), (0.7, 0.4)), "right of": ((0.7, 0.4), (0.1, 0.4)),
    "above": ((0.4, 0.1), (0.4, 0.7)), "below": ((0.4, 0.7), (0.4, 0.1)),
}  # fmt: skip


def shown(expects: Expects) -> list[dict[str, Any]]:
    """The objects of a picture that is just as expected."""
    places = {kind: (0.4, 0.4) for kind in expects.kinds()}
    for each in expects.relations:
        places[each.first], places[each.second] = PLACES[each.where]
    return [
        {
            "kind": each.kind, "colour": each.colour, "size": each.size, "attributes": list(each.attributes),
            "box": [*places[each.kind], *(side + 0.1 for side in places[each.kind])],
        }
        for each in expects.objects
        for _ in range(1 if each.count is None else each.count)
    ]  # fmt: skip


def spoilt(demand: Demand, things: list[dict[str, Any]], text: str) -> tuple[list[dict[str, Any]], str]:
    """The same picture with one demand not met."""
    kind = demand.wanted.kind
    own, rest = ([each for each in things if (each["kind"] == kind) is same] for same in (True, False))
    match demand.kind:
        case "presence":
            return rest, text
        case "count":
            return [*rest, *(own[1:] if demand.wanted.at_least else [*own, own[0]])], text
        case "absence":
            return [*things, {"kind": kind, "box": [0, 0, 0.1, 0.1]}], text
        case "colour" | "size":
            other = {"colour": "white" if demand.wanted.colour == "black" else "black", "size": "other"}
            return [*rest, *({**each, demand.kind: other[demand.kind]} for each in own)], text
        case "attribute":
            return [*rest, *({**each, "attributes": []} for each in own)], text
        case "relation":
            turned = {
                demand.relation.first: demand.relation.second,
                demand.relation.second: demand.relation.first,
            }
            boxes = {each["kind"]: each["box"] for each in things}
            return [{**each, "box": boxes[turned.get(each["kind"], each["kind"])]} for each in things], text
    return things, f"{text}x"


@pytest.mark.parametrize("name", registry.names("task"))
def test_what_our_tasks_expect_is_decided_without_a_mistake(name: str) -> None:
    """Yes for a picture as expected, no for the same with any one demand not met, whatever the skill."""
    import numpy as np

    for prompt in registry.get("task", name).target(np.random.default_rng(1), 12):
        expects = read_expects(prompt.expects, prompt.text)
        things = shown(expects)
        scenes_ = [(things, expects.text, YES)]
        scenes_ += [(*spoilt(each, things, expects.text), NO) for each in expects.demands()]
        for objects, text, right in scenes_ if list(expects.demands()) else ():
            scene = {"objects": objects, "text": [{"text": text}] if text else [], "complete": True}
            decided = decide(expects, scene)
            assert decided.checked == right, (prompt.text, decided.why)
            assert decided.verdict == (right if expects.complete or right == NO else CANNOT_TELL)
