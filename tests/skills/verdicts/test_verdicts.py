"""Single demands, decided by hand arithmetic: sure and doubtful objects, unknown kinds, geometry, colour."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import registry
from sightline.demands import CANNOT_TELL, NO, YES, Verdict, read_expects, read_scene
from sightline.errors import UsageError
from sightline.pictures import Picture
from sightline.skills.deciding import decide
from sightline.testing.inputs import Joint, encoded

COCO = ("person", "dog", "cat", "car", "sports ball", "chair", "dining table")


def seen(
    kind: str, confidence: float | None = 0.9, box: Any = (0.4, 0.4, 0.6, 0.6), **more: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "box": list(box),
        **({} if confidence is None else {"confidence": confidence}),
        **more,
    }


def verdict(expects: dict[str, Any], *things: dict[str, Any], vocabulary: Any = COCO, **more: Any) -> Verdict:
    return decide({**expects, "complete": True}, {"objects": list(things)}, vocabulary, **more)


def asked(kind: str, **more: Any) -> dict[str, Any]:
    return {"objects": [{"kind": kind, **more}]}


def test_presence() -> None:
    assert verdict(asked("dog"), seen("dog")).verdict == YES
    assert verdict(asked("puppies"), seen("dog")).verdict == CANNOT_TELL, "a dog may be no puppy"
    assert verdict(asked("puppy")).verdict == NO, "without a dog there is no puppy"
    assert verdict(asked("animal"), seen("dog")).verdict == YES
    assert verdict(asked("animal")).verdict == CANNOT_TELL, "other animals are not looked for"
    unsure = verdict(asked("dog"), seen("dog", 0.3))
    assert unsure.verdict == CANNOT_TELL and unsure.boxes[0].label == "dog" and "0.30" in unsure.why
    unknown = verdict(asked("hedgehog"), seen("dog"))
    assert unknown.verdict == CANNOT_TELL and "not among what the detector looks for" in unknown.why
    assert verdict(asked("hedgehog"), vocabulary=None).verdict == NO, "whoever knows everything knows that"
    assert verdict(asked("dog"), seen("dog", 0.3), verdicts=["presence(sure=0.2)"]).verdict == YES
    assert verdict(asked("dog"), seen("dog", None)).confidence is None


def test_absence_is_the_reverse_and_never_guessed() -> None:
    assert verdict({"absent": ["dog"]}).verdict == YES
    assert verdict({"absent": ["dog"]}, seen("dog")).verdict == NO
    assert verdict({"absent": ["dog"]}, seen("dog", 0.2)).verdict == CANNOT_TELL
    assert verdict({"absent": ["hedgehog"]}).verdict == CANNOT_TELL


@pytest.mark.parametrize(
    ("sure", "doubtful", "count", "at_least", "expected"),
    [
        (3, 0, 3, False, YES), (2, 0, 3, False, NO), (4, 0, 3, False, NO), (4, 1, 3, False, NO),
        (2, 1, 3, False, CANNOT_TELL), (3, 1, 3, False, CANNOT_TELL), (1, 1, 3, False, NO),
        (3, 0, 3, True, YES), (4, 2, 3, True, YES), (2, 1, 3, True, CANNOT_TELL), (1, 1, 3, True, NO),
        (1, 0, 1, False, YES), (2, 0, 1, False, NO),
    ],
)  # fmt: skip
def test_counts(sure: int, doubtful: int, count: int, at_least: bool, expected: str) -> None:
    things = [seen("dog")] * sure + [seen("dog", 0.3)] * doubtful
    expects = asked("dogs", count=count, at_least=at_least)
    decided = verdict(expects, *things)
    by_count = next(each for each in decided.decisions if each.demand == "count")
    assert by_count.verdict == expected


def test_counts_of_wider_narrower_and_unknown_kinds() -> None:
    assert verdict(asked("men", count=2), seen("person")).verdict == NO, "one person is not two men"
    assert verdict(asked("men", count=2), *[seen("person")] * 3).verdict == CANNOT_TELL
    assert verdict(asked("animal", count=1), seen("dog"), seen("cat")).verdict == NO, "two are too many"
    assert verdict(asked("animal", count=3), seen("dog"), seen("cat")).verdict == CANNOT_TELL
    assert verdict(asked("animal", count=2, at_least=True), seen("dog"), seen("cat")).verdict == YES
    assert verdict(asked("owl", count=2)).verdict == CANNOT_TELL


def test_groups_of_one_kind_are_counted_by_colour() -> None:
    red, blue = ({"kind": "ball", "count": n, "colour": c} for n, c in ((2, "red"), (1, "blue")))
    things = [seen("sports ball", colours={"red": 0.9}) for _ in range(2)]
    right = verdict({"objects": [red, blue]}, *things, seen("sports ball", colours={"blue": 0.8}))
    wrong = verdict({"objects": [red, blue]}, *things, seen("sports ball", colours={"red": 0.8}))
    open_ = verdict({"objects": [red, blue]}, *things, seen("sports ball"))
    assert (right.verdict, wrong.verdict, open_.verdict) == (YES, NO, CANNOT_TELL)


def where(name: str, first: Any, second: Any, geometry: str = "geneval") -> str:
    expects = {"relation": {"first": "dog", "where": name, "second": "cat"}}
    spec = f"relation(geometry={geometry!r})"
    return verdict(expects, seen("dog", box=first), seen("cat", box=second), verdicts=[spec]).verdict


corner = st.floats(0, 0.9)
boxes = st.tuples(corner, corner, st.floats(0.02, 0.5), st.floats(0.02, 0.5)).map(
    lambda b: (b[0], b[1], min(1.0, b[0] + b[2]), min(1.0, b[1] + b[3]))
)


@given(boxes, boxes)
def test_geneval_s_geometry_is_the_published_one(one: Any, two: Any) -> None:
    """GenEval: offset of centres less 0.1 of both sizes, over its length; beyond .5 the relation holds."""
    a, b = np.array(one).reshape(2, 2), np.array(two).reshape(2, 2)
    offset = a.mean(axis=0) - b.mean(axis=0)
    revised = np.maximum(np.abs(offset) - 0.1 * (np.ptp(a, axis=0) + np.ptp(b, axis=0)), 0) * np.sign(offset)
    x, y = revised / np.linalg.norm(offset) if np.linalg.norm(offset) > 0 else (0, 0)
    if min(abs(abs(x) - 0.5), abs(abs(y) - 0.5)) < 1e-9:
        return
    for name, holds in (
        ("left of", x < -0.5),
        ("to the right of", x > 0.5),
        ("above", y < -0.5),
        ("below", y > 0.5),
    ):
        assert where(name, one, two) == (YES if holds else NO)
    centres = [(box[0] + box[2]) / 2 for box in (one, two)]
    assert where("left of", one, two, "visor") == (YES if centres[0] < centres[1] else NO)


def test_other_relations() -> None:
    small, large, far = (0.4, 0.4, 0.5, 0.5), (0.3, 0.3, 0.8, 0.8), (0.0, 0.0, 0.05, 0.05)
    assert where("inside", small, large) == YES and where("in", large, small) == NO
    assert where("near", small, (0.52, 0.4, 0.62, 0.5)) == YES and where("next to", small, far) == NO
    assert where("next to", small, small) == NO, "what is in the same place is not next to it"
    assert where("on top of", (0.4, 0.2, 0.5, 0.4), (0.3, 0.4, 0.6, 0.9)) == YES
    assert where("on", (0.7, 0.2, 0.8, 0.4), (0.3, 0.4, 0.6, 0.9)) == NO, "higher, but not over it"
    assert where("behind", small, large) == CANNOT_TELL


def test_a_relation_needs_both() -> None:
    expects = {"relation": {"first": "dog", "where": "left of", "second": "hedgehog"}}
    assert verdict(expects, seen("dog")).verdict == CANNOT_TELL
    expects["relation"]["second"] = "cat"
    assert verdict(expects, seen("dog")).verdict == NO
    kept = verdict(expects, seen("dog"), seen("cat", 0.3))
    assert kept.verdict == CANNOT_TELL and len(kept.boxes) == 2
    assert verdict(expects, {"kind": "dog"}, {"kind": "cat"}).verdict == CANNOT_TELL, "nobody knows where"


def test_colour() -> None:
    red = asked("dog", colour="red")
    shares = {
        YES: {"red": 0.6, "white": 0.4},
        NO: {"brown": 0.9, "red": 0.1},
        CANNOT_TELL: {"red": 0.3, "grey": 0.7},
    }
    for expected, colours in shares.items():
        assert verdict(red, seen("dog", colours=colours)).verdict == expected
    assert verdict(red, seen("dog")).verdict == CANNOT_TELL, "nobody looked"
    assert verdict(red).verdict == NO
    assert verdict(asked("dog", colour="gray"), seen("dog", colours={"grey": 0.9})).verdict == YES
    assert (
        verdict(asked("dog", colour="turquoise"), seen("dog", colours={"blue": 0.9})).verdict == CANNOT_TELL
    )
    both = [seen("dog", colours={"red": 0.9}), seen("dog", colours={"black": 0.9})]
    assert verdict(red, *both).verdict == YES, "one red dog is asked for"
    assert verdict(asked("dog", count=2, colour="red"), *both).verdict == NO


def test_size_is_known_or_compared() -> None:
    expects = {"objects": [{"kind": "dog", "size": "small"}, {"kind": "cat", "size": "huge"}]}
    little, big, middle = (0, 0, 0.1, 0.1), (0.5, 0.5, 0.9, 0.9), (0, 0, 0.36, 0.36)
    assert verdict(expects, seen("dog", box=little), seen("cat", box=big)).verdict == YES
    assert verdict(expects, seen("dog", box=big), seen("cat", box=little)).verdict == NO
    assert verdict(expects, seen("dog", box=middle), seen("cat", box=big)).verdict == CANNOT_TELL
    assert verdict(asked("dog", size="small"), seen("dog")).verdict == CANNOT_TELL, "nothing to compare with"
    assert verdict(asked("dog", size="tiny"), seen("dog", size="small")).verdict == YES
    assert verdict(asked("dog", size="small"), seen("dog", size="large")).verdict == NO


def test_attributes() -> None:
    wooden = asked("chair", attributes=["wooden"])
    assert verdict(wooden, seen("chair")).verdict == CANNOT_TELL
    assert verdict(wooden, seen("chair", attributes=["wooden", "old"])).verdict == YES
    assert verdict(wooden, seen("chair", attributes=["metal"])).verdict == NO


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([("OPEN", 0.9)], YES), ([("open!", None)], YES), ([("OPENN", 0.95)], NO),
        ([("OPENN", 0.7)], CANNOT_TELL),
        ([("OPENN", None)], NO), ([("EXIT", 0.6)], NO), ([], NO), (None, CANNOT_TELL),
    ],
)  # fmt: skip
def test_text(lines: Any, expected: str) -> None:
    read = None if lines is None else [
        {"text": text, **({} if sure is None else {"confidence": sure})} for text, sure in lines
    ]  # fmt: skip
    decided = decide({"text": "OPEN", "complete": True}, {"text": read} if read is not None else {})
    assert decided.verdict == expected
    assert decided.text == tuple(text for text, _ in lines or ())


def test_lines_are_read_from_top_to_bottom_and_left_to_right() -> None:
    boxes = {"Brain": (0.6, 0.1, 0.9, 0.2), "Google": (0.1, 0.12, 0.5, 0.2), "Toronto": (0.1, 0.5, 0.9, 0.6)}
    lines = [{"text": text, "box": list(box), "confidence": 0.9} for text, box in boxes.items()]
    decided = decide({"text": "Google Brain Toronto", "complete": True}, {"text": lines[::-1]})
    assert (
        decided.verdict == YES and decided.text == ("Google", "Brain", "Toronto") and len(decided.boxes) == 3
    )


def plain(colour: tuple[int, int, int]) -> Picture:
    from PIL import Image

    return encoded(Image.new("RGB", (8, 8), colour))


@pytest.mark.parametrize(("colour", "expected"), [((255, 0, 0), YES), ((0, 0, 255), NO)])
def test_a_joint_encoder_tells_a_phrase_from_distractors(colour: tuple[int, int, int], expected: str) -> None:
    """By hand: red has 1.25 against .25 and .25; "red" is (1.25, .25, .25), a distractor (.25, .25, .25)."""
    demand = next(read_expects({"objects": [{"kind": "red"}]}).demands())
    scene = read_scene({}, picture=plain(colour))
    configured = registry.configure("verdict", "joint_presence(distractors=4, scale=10.0)")
    decided = configured.load({"encoder": Joint()})(demand, scene)
    other = 1.75 / (math.sqrt(1.25**2 + 2 * 0.25**2) * math.sqrt(3))
    own = 1.0 if expected == YES else (2 * 1.25 * 0.25 + 0.25**2) / (1.25**2 + 2 * 0.25**2)
    probability = math.exp(10 * own) / (math.exp(10 * own) + 4 * math.exp(10 * other))
    assert decided.confidence == pytest.approx(probability if expected == YES else 1 - probability, abs=1e-4)
    assert decided.verdict == expected
    assert decided == configured.load({"encoder": Joint()})(demand, scene), "distractors are seeded"


@pytest.mark.parametrize(
    "spec",
    ["presence(sure=2.0)", "relation(geometry='flat')", "colour(plain=0.1, trace=0.5)", "size(ratio=0.5)",
     "text(edits=-1)", "joint_presence(distractors=0)"],
)  # fmt: skip
def test_a_parameter_that_makes_no_sense_is_refused(spec: str) -> None:
    everything = {
        "objects": [{"kind": "dog", "colour": "red", "size": "small"}],
        "relation": {"first": "dog", "where": "near", "second": "cat"},
        "text": "OPEN",
    }
    ready = registry.configure("verdict", spec)
    function = ready.load({"encoder": Joint()}) if "joint" in spec else ready.load()
    demands = [
        each for each in read_expects(everything).demands() if each.kind == ready.spec.details["decides"]
    ]
    with pytest.raises(UsageError, match=ready.name):
        function(
            demands[0], read_scene({"objects": [seen("dog")], "text": []}, COCO, picture=plain((0, 0, 0)))
        )
