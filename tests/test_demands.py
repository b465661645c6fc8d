"""What prompts expect and what scenes hold, read from plain JSON: every mistake is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sightline.demands import (
    CANNOT_TELL,
    NO,
    YES,
    Decision,
    Mark,
    Relation,
    Verdict,
    Wanted,
    clipped_box,
    read_expects,
    read_scene,
)
from sightline.errors import DataError


def test_expects_are_read_as_they_stand() -> None:
    read = read_expects(
        {
            "objects": [
                {"kind": "ball", "count": 2, "colour": "red", "size": None, "attributes": ["shiny"]},
                {"kind": " dog ", "count": None, "at_least": True, "material": "wood"},
            ],
            "relation": {"first": "ball", "where": "left of", "second": "dog"},
            "relations": [{"first": "dog", "where": "near", "second": "ball"}],
            "absent": ["cat"],
            "text": None,
            "complete": True,
            "questions": ["something else"],
        }
    )
    assert read.objects == (
        Wanted("ball", 2, colour="red", attributes=("shiny",)),
        Wanted("dog", None, True, attributes=("material wood",)),
    )
    assert read.relations == (Relation("ball", "left of", "dog"), Relation("dog", "near", "ball"))
    assert (read.absent, read.text, read.complete, read.kinds()) == (
        ("cat",),
        "",
        True,
        ("ball", "cat", "dog"),
    )
    assert [(each.kind, each.about) for each in read.demands()] == [
        ("presence", "ball"), ("presence", "dog"), ("count", "2 ball"), ("absence", "no cat"),
        ("colour", "red ball"), ("attribute", "shiny ball"), ("attribute", "material wood dog"),
        ("relation", "ball left of dog"), ("relation", "dog near ball"),
    ]  # fmt: skip


def test_what_is_left_open_is_not_demanded() -> None:
    assert read_expects(None) == read_expects({}) and read_expects({}).complete is None
    assert list(read_expects({"phrases": ["a fox"], "objects": None, "text": None}).demands()) == []
    one = read_expects({"objects": [{"kind": "dog", "count": 1, "at_least": True}]})
    assert [each.kind for each in one.demands()] == ["presence"], "at least one is that it is there"
    none = read_expects({"objects": [{"kind": "dog", "count": 0, "colour": "red"}]})
    assert [each.about for each in none.demands()] == ["no dog"]


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (["dog"], r"expects is \['dog'\]"),
        ({"objects": {"kind": "dog"}}, "objects is"),
        ({"objects": ["dog"]}, r"objects\[0\] is 'dog'"),
        ({"objects": [{"kind": "dog", "count": "three"}]}, r"objects\[0\].count is 'three'"),
        ({"objects": [{"kind": "dog", "count": 1.5}]}, r"objects\[0\].count is 1.5"),
        ({"objects": [{"kind": "dog", "count": -1}]}, r"objects\[0\].count is -1"),
        ({"objects": [{"kind": "dog", "count": float("nan")}]}, r"objects\[0\].count is nan"),
        ({"objects": [{"kind": "dog", "count": True}]}, r"objects\[0\].count is True"),
        ({"objects": [{"kind": "dog", "at_least": "yes"}]}, "at_least is 'yes'"),
        ({"objects": [{"kind": " "}]}, r"objects\[0\].kind is ' '"),
        ({"objects": [{"count": 2}]}, r"objects\[0\].kind is None"),
        ({"objects": [{"kind": "dog", "color": "red"}]}, "'color', which is not read"),
        ({"object": [{"kind": "dog"}]}, "'object', which is not read"),
        ({"relation": {"first": "dog", "where": "left of"}}, r"relations\[0\].second is None"),
        ({"absent": "dog"}, "absent is 'dog'"),
        ({"text": 7}, "text is 7"),
        ({"complete": "true"}, "complete is 'true'"),
    ],
)
def test_a_mistake_is_named_with_its_place(raw: Any, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        read_expects(raw, "prompts.csv:7")
    assert caught.value.where == "prompts.csv:7" and caught.value.remedy


def test_a_scene_is_read_and_boxes_beyond_the_image_are_counted() -> None:
    scene = read_scene(
        {
            "objects": [
                {"kind": "dog", "box": [-0.1, 0, 0.5, 1], "confidence": 0.9, "colour": "brown"},
                {"kind": "cat", "box": [2, 2, 3, 3], "confidence": 0.9},
                {"kind": "sun"},
            ],
            "dropped": 1,
        },
        ("dog", "cat"),
    )
    assert scene.things is not None and scene.lines is None
    assert [(each.kind, each.box, each.colours) for each in scene.things] == [
        ("dog", (0.0, 0.0, 0.5, 1.0), {"brown": 1.0}), ("sun", None, None),
    ]  # fmt: skip
    assert (scene.clipped, scene.dropped, scene.vocabulary) == (1, 2, ("dog", "cat"))
    whole = read_scene({"complete": True}, ("dog",))
    assert (whole.things, whole.lines, whole.vocabulary) == ((), (), None)
    for wrong in ({"objects": ["dog"]}, {"objects": [{"box": [0, 0, 1, 1]}]}, {"text": [{"text": ""}]}):
        with pytest.raises(DataError):
            read_scene(wrong, where="scenes.csv:2")


sides = st.floats(-2, 2) | st.sampled_from([0.0, 1.0, float("nan"), float("inf")])


@given(st.lists(sides, min_size=0, max_size=5))
@example([0.5, 0.2, 0.5, 0.4])
def test_a_box_lies_in_the_image_or_is_dropped(box: list[float]) -> None:
    inside, outcome = clipped_box(box)
    if outcome == "dropped":
        assert inside is None
        return
    assert inside is not None and len(box) == 4
    left, top, right, bottom = inside
    assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
    assert (outcome == "") == (list(inside) == box)
    assert clipped_box(inside) == (inside, ""), "once is enough"


def test_evidence_is_plain_and_in_the_form_that_the_explorer_draws() -> None:
    made = Verdict(
        NO, "No dog is seen.", 0.25, (Mark("cat", (0, 0, 0.5, 1), 0.8), Mark("hat", (0, 0, 1, 1))), ("OPEN",),
        (Decision("presence", "dog", NO, None, "No dog is seen."),), NO,
    )  # fmt: skip
    assert json.loads(json.dumps(made.evidence())) == {
        "verdict": "no", "why": "No dog is seen.", "confidence": 0.25, "checked": "no", "text": ["OPEN"],
        "demands": [{"demand": "presence", "about": "dog", "verdict": "no", "why": "No dog is seen."}],
        "boxes": [
            {"label": "cat", "box": [0, 0, 0.5, 1], "confidence": 0.8}, {"label": "hat", "box": [0, 0, 1, 1]},
        ],
    }  # fmt: skip
    assert [Verdict(each, ".").value for each in (YES, NO, CANNOT_TELL)] == [1, 0, None]
