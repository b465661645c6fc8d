"""Features of prompts by hand; the published means and correlations are on PQPP's card."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sightline.language.prompt_features import (
    STOP_WORDS,
    acronym_rate,
    conjunction_rate,
    has_number,
    numeral_rate,
    preposition_rate,
    synset_count,
    word_count,
)
from sightline.language.wordnet import Synset, WordNet


class Counts(WordNet):
    """So many senses a word as it has letters."""

    def __init__(self) -> None:
        pass

    def synsets(self, word: str) -> list[Synset]:
        return [Synset("n", at) for at in range(len(word))]


def test_counts() -> None:
    assert len(STOP_WORDS) == 179
    assert word_count("Two dogs, and a cat.") == 5
    # Two, dogs, cat, cat: "And" and "a" are stop words whatever their case, repeats count again.
    assert synset_count("Two dogs And a cat cat", Counts()) == 3 + 4 + 3 + 3


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Seven cups", True),
        ("a dozen-odd birds", True),
        ("bus 12a", True),
        ("one cup, often", False),
        ("", False),
    ],
)
def test_numbers_in_words_or_digits(text: str, named: bool) -> None:
    assert has_number(text) is named


@pytest.mark.parametrize(
    ("feature", "text", "value"),
    [
        (acronym_rate, "a USA flag on a TV", 2 / 6),
        (acronym_rate, "a Usa flag", 0),
        (numeral_rate, "bus 12 on 2020-01-31 or 01/02/2020", 3 / 6),
        (numeral_rate, "the 1st of 10", 1 / 4),
        (conjunction_rate, "Salt And pepper, or oil.", 2 / 5),
        (preposition_rate, "Under the bridge of wood", 2 / 5),
    ],
)
def test_rates(feature: Callable[[str], float | None], text: str, value: float) -> None:
    assert feature(text) == pytest.approx(value)
    assert feature(" . ") is None
