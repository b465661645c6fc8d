"""The form of what prompts expect: wrong parts are taken out and named, the rest stays."""

from __future__ import annotations

from typing import Any

import pytest

from sightline.expects import COGNITIVE, SKILLS, sound, thing


def test_eleven_skills_single_objects_and_typos() -> None:
    assert len(COGNITIVE) == 13 and set(COGNITIVE) < set(SKILLS)


def test_what_is_sound_stays_as_it_is() -> None:
    expects = {
        "objects": [thing("dog"), thing("cat", 3, at_least=False, colour="red", attributes=["striped"])],
        "relation": {"first": "dog", "where": "left of", "second": "cat"},
        "absent": ["bus"],
        "text": "open",
        "complete": True,
        "questions": [1, 2],
    }
    assert sound(expects) == (expects, [])
    assert sound({"objects": [{"kind": "dog", "count": None, "size": None}], "relation": None})[1] == []


@pytest.mark.parametrize(
    ("given", "kept", "said"),
    [
        (
            {"objects": [{"kind": "dog", "count": "three"}]},
            {"objects": [{"kind": "dog", "count": None}]},
            "a count that is no number: 'three'",
        ),
        ({"objects": [{"kind": "d", "count": True}]}, {"objects": [{"kind": "d", "count": None}]}, "count"),
        ({"objects": [{"kind": "d", "count": -1}]}, {"objects": [{"kind": "d", "count": None}]}, "count"),
        ({"objects": [{"count": 2}, thing("cat")]}, {"objects": [thing("cat")]}, "without a kind"),
        ({"objects": "dog"}, {"objects": []}, "not a list"),
        ({"objects": [{"kind": "dog", "at_least": "yes"}]}, {"objects": [{"kind": "dog"}]}, "at_least"),
        ({"objects": [{"kind": "d", "attributes": "x"}]}, {"objects": [{"kind": "d"}]}, "attributes"),
        ({"relation": {"first": "dog"}}, {"relation": None}, "a relation without"),
        ({"relations": [{"first": "dog"}]}, {"relations": []}, "a relation without"),
        ({"absent": "dog"}, {}, "absent is not"),
        ({"text": 5}, {"text": None}, "text is not"),
        ({"complete": "yes"}, {}, "complete is neither"),
    ],
)
def test_a_wrong_part_is_taken_out_and_named(given: Any, kept: Any, said: str) -> None:
    found, wrong = sound({"complete": True, **given})
    # What lacks a part is no longer all that the prompt asks for.
    assert found == {**kept, "complete": False}
    assert len(wrong) == 1 and said in wrong[0]
