"""Things that prompts name, with and without a parser, and the pieces of StairReward."""

from __future__ import annotations

import pytest

from sightline.errors import MissingPackage
from sightline.language import parsing
from sightline.language.phrases import Phrase, by_parse, by_rules, morphemes, quoted


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("A blue bird and a brown bear.", ["blue bird", "brown bear"]),
        ("a cat sitting on the red sofa", ["cat", "red sofa"]),
        ("a photo of a dog, 8k, detailed", ["dog"]),
        ("a dog and a dog", ["dog"]),
        ("", []),
        ("?!", []),
        ("the of and", []),
        ("a photo", []),
        ("\u732b", ["\u732b"]),
        ("ein roter Hund", ["ein roter hund"]),
    ],
)
def test_things_by_rules(text: str, things: list[str]) -> None:
    assert [phrase.text for phrase in by_rules(text)] == things


def test_numbers_and_quoted_words() -> None:
    assert by_rules("Four dogs on the street") == [Phrase("dogs", "dogs", 4), Phrase("street", "street")]
    sign = Phrase("Hello World", "Hello World", written=True)
    assert by_rules('A sign that says "Hello World".') == [sign, Phrase("sign", "sign")]
    assert quoted("the dog's 'big day', isn't it") == ["big day"]


def test_things_by_parse() -> None:
    try:
        parser = parsing.find()
    except MissingPackage as error:
        pytest.skip(f"not needed here: {error.what}")
    text = "Two green apples lie in a wooden bowl near the kitchen window"
    (tokens,) = parser([text])
    found = {phrase.head: phrase for phrase in by_parse(text, tokens)}
    assert found["apples"] == Phrase("green apples", "apples", 2)
    assert found["window"].text == "kitchen window" and found["bowl"].text == "wooden bowl"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a cat on a mat, oil painting", ["a cat", "on a mat", "oil painting"]),
        ("on a mat", ["on a mat"]),
        ("a cat", ["a cat"]),
        ("", []),
        ("?!,", []),
    ],
)
def test_pieces_between_prepositions_and_marks(text: str, pieces: list[str]) -> None:
    assert morphemes(text) == pieces
