"""Coverage of phrases and StairReward, by hand on scenes and alignments that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.errors import UsageError
from sightline.extension import NoValue, Picture, Value
from sightline.measures.of_answer.phrase_coverage import phrase_coverage
from sightline.measures.of_answer.stair_reward import stair_reward
from sightline.records import Prompt, PromptKey
from sightline.testing.inputs import encoded

GREY = encoded(Image.new("RGB", (40, 40), (128, 128, 128)))
BOX = [0.1, 0.2, 0.5, 0.6]


def prompt(text: str) -> Prompt:
    return Prompt(PromptKey("suite", text), text)


class Sees:
    def __init__(self, **scene: Any) -> None:
        self.scene = scene

    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        return [self.scene for _ in images]


class Letters:
    """A text as the letters in it: equal words have cosine 1, words without a common letter 0."""

    def text(self, texts: Sequence[str]) -> np.ndarray:
        rows = [[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 26)


def coverage(text: str, objects: Any = (), classes: Any = (), read: Any = (), image: Picture = GREY) -> Any:
    (found,) = phrase_coverage(
        [prompt(text)],
        [image],
        objects=Sees(objects=[{"box": BOX, **each} for each in objects]),
        classes=Sees(objects=[{"box": [0, 0, 1, 1], **each} for each in classes]),
        text=Sees(text=[{"box": BOX, **each} for each in read]),
        encoder=Letters(),
    )
    return found


def test_covered_and_missing_things_come_with_their_boxes() -> None:
    found = coverage("a dog and an elf", [{"kind": "dog", "confidence": 0.8}])
    # dog: cosine 1, so likeness 1, times .8; elf shares no letter with dog.
    assert found.value == pytest.approx(0.4)
    (covered,), (missing,) = found.evidence["covered"], found.evidence["missing"]
    assert covered == {"phrase": "dog", "coverage": 0.8, "kind": "dog", "box": BOX, "confidence": 0.8}
    assert missing == {"phrase": "elf", "coverage": 0}


def test_classes_of_one_kind_add_up() -> None:
    found = coverage(
        "a dog", classes=[{"kind": "dog, god", "confidence": 0.3}, {"kind": "zzz, dog", "confidence": 0.4}]
    )
    assert found.value == pytest.approx(0.7)


def test_numbers_and_colours_count_half() -> None:
    dogs = [{"kind": "dog", "confidence": 1.0, "colour": "red"}] * 2
    assert coverage("two dog", dogs).value == 1
    assert coverage("three dog", dogs).value == 0.5
    assert coverage("a red dog", dogs).value == 1
    assert coverage("a blue dog", dogs).value == 0.5
    # Without an object to wear it, the colour of the picture counts: grey is there, blue is not.
    assert coverage("a grey dog").value == 0.5
    assert coverage("a blue dog").value == 0


def test_quoted_words_are_read() -> None:
    found = coverage('"Hello World"', read=[{"text": "HELLO", "confidence": 0.9}])
    assert found.value == 0.5 and found.evidence["covered"][0]["kind"] == "text: HELLO"
    assert coverage('"Hello"').value == 0
    split = [{"text": "hel", "confidence": 1.0}, {"text": "lo", "confidence": 1.0}]
    assert coverage('"Hello"', read=split).value == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "empty"), (" \n", "empty"), ("?!", "names nothing"), ("the of", "names nothing")],
)
def test_prompts_without_things_have_a_reason(text: str, reason: str) -> None:
    found = coverage(text, [{"kind": "dog", "confidence": 1.0}])
    assert isinstance(found, NoValue) and reason in found.reason


def test_nothing_seen_is_zero_and_a_wrong_parser_is_refused() -> None:
    assert coverage("a dog").value == 0
    with pytest.raises(UsageError, match="parser"):
        phrase_coverage(
            [], [], objects=Sees(), classes=Sees(), text=Sees(), encoder=Letters(), parser="other"
        )


def lengths(prompts: Sequence[Prompt], images: Sequence[Picture]) -> list[float]:
    """An alignment that shows what it was given: words, and the width of the image as a fraction of 40."""
    return [
        len(one.text.split()) + image.rgb.shape[1] / 40 for one, image in zip(prompts, images, strict=True)
    ]


def stairs(text: str, **ablation: bool) -> Any:
    (found,) = stair_reward([prompt(text)], [GREY], alignment=lengths, **ablation)
    return found


def test_stairs_by_hand() -> None:
    # Three pieces of 2, 3 and 2 words; crops of 1/2, 3/4 and all; weights 4/7, 2/7, 1/7.
    text = "a cat on a mat, oil painting"
    whole = 7 + 1
    found = stairs(text)
    assert found.value == pytest.approx(whole + (4 * 2.5 + 2 * 3.75 + 1 * 3) / 7)
    assert [step["value"] for step in found.evidence["pieces"]] == [2.5, 3.75, 3.0]
    assert stairs(text, split=False).value == pytest.approx(whole + (4 * 7.5 + 2 * 7.75 + 8) / 7)
    assert stairs(text, crop=False).value == pytest.approx(whole + (4 * 3 + 2 * 4 + 3) / 7)
    assert stairs(text, split=False, crop=False).value == 2 * whole


def test_one_piece_takes_the_whole_image_and_none_has_a_reason() -> None:
    assert stairs("a cat").value == 6
    assert isinstance(stairs("?"), NoValue)


def test_a_piece_without_a_value_is_named() -> None:
    def picky(prompts: Sequence[Prompt], images: Sequence[Picture]) -> list[Any]:
        return [
            NoValue("no") if "mat" in one.text and "cat" not in one.text else Value(1.0) for one in prompts
        ]

    (found,) = stair_reward([prompt("a cat on a mat")], [GREY], alignment=picky)
    assert found == NoValue("'on a mat': no")
