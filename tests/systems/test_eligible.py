"""Which images ConQA would take: captioned, with a scene graph of actions and places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from studies import put

from sightline.errors import DataError, UsageError
from sightline.records import Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.study import create_study
from sightline.systems.eligible import eligible, sound

TAGS = {
    "riding": "VERB",
    "wears": "VERB",
    "has": "AUX",
    "shirt": "NOUN",
    "it": "PRON",
    "of": "ADP",
    "on": "ADP",
}


def tagger(sentence: str) -> list[tuple[str, str]]:
    return [(word, TAGS.get(word, "NOUN")) for word in sentence.split()]


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("riding", True),
        ("has", True),
        ("on top of", True),
        ("on", False),  # neither an action nor one of the places
        ("wears shirt", False),  # a noun in it
        ("riding it", False),
        ("left", True),  # a place, whatever the tagger takes it for
    ],
)
def test_relations(relation: str, expected: bool) -> None:
    assert sound("man", relation, "horse", tagger) is expected


def test_a_tagger_that_cuts_words_otherwise_is_reported() -> None:
    def cutting(sentence: str) -> Sequence[tuple[str, str]]:
        return [(letter, "X") for letter in sentence]

    with pytest.raises(DataError, match="into other words"):
        sound("man", "riding", "horse", cutting)


def graph(*relations: str) -> dict[str, object]:
    edges = [{"subject": "man", "relation": relation, "object": "horse"} for relation in relations]
    return {"objects": [], "relations": edges}


def test_images_of_a_study(tmp_path: Path) -> None:
    told = {
        "good": (["a man"], graph("riding", "on top of")),
        "one bad": (["a man"], graph("riding", "on")),
        "no edge": (["a man"], graph()),
        "no graph": (["a man"], None),
        "mute": ([], graph("riding")),
    }
    records: list[Record] = [Prompt(PromptKey("s", "q"), "x")]
    records += [Image(ImageKey("c", name), captions=c, scene=scene) for name, (c, scene) in told.items()]
    with create_study(tmp_path / "study") as study:
        put(study, records, "t")
        found = eligible(study, "c", tagger)
        assert list(found.images) == [ImageKey("c", "good")]
        assert found.left_out == {
            "a relation that is no action or place": 1,
            "no relation in its scene graph": 2,
            "no caption": 1,
        }
        with pytest.raises(UsageError, match="no collection called 'd'"):
            eligible(study, "d", tagger)
        wrong = Image(ImageKey("c", "odd"), captions=["x"], scene={"relations": [{"subject": "x"}]})
        put(study, [wrong], "u")
        with pytest.raises(DataError, match="image c/odd"):
            eligible(study, "c", tagger)
