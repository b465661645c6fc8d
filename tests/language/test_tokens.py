"""Words as the Penn Treebank separates them."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.language.tokens import treebank, words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A cat on a mat.", ["A", "cat", "on", "a", "mat", "."]),
        ("red, white; and blue", ["red", ",", "white", ";", "and", "blue"]),
        ("1,000 people at 10:30", ["1,000", "people", "at", "10:30"]),
        ('reads "marginal st."', ["reads", "``", "marginal", "st", ".", "''"]),
        ('A ("quoted") word', ["A", "(", "``", "quoted", "''", ")", "word"]),
        ("the man's dogs' bowl", ["the", "man", "'s", "dogs", "'", "bowl"]),
        ("they don't and can't", ["they", "do", "n't", "and", "ca", "n't"]),
        ("we'll see, I'm sure they've", ["we", "'ll", "see", ",", "I", "'m", "sure", "they", "'ve"]),
        ("You CANNOT gonna", ["You", "CAN", "NOT", "gon", "na"]),
        ("wait... what -- now?!", ["wait", "...", "what", "--", "now", "?", "!"]),
        ("One. Two! three.", ["One", ".", "Two", "!", "three", "."]),
        ("at 5 p.m. in town", ["at", "5", "p.m.", "in", "town"]),
        ("a black-and-white t-shirt", ["a", "black-and-white", "t-shirt"]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert treebank(text) == tokens


def test_words_are_what_is_no_part_of_the_punctuation_string() -> None:
    # Dropped: . , and a lone apostrophe. Kept: .. and -- and both forms of a double quote.
    assert words('a .. b -- "c" , d\' .') == ["a", "..", "b", "--", "``", "c", "''", "d"]


@given(st.text(alphabet=string.ascii_letters + string.digits + " .,:;'\"!?()-", max_size=60))
def test_nothing_is_lost_but_space_and_the_shape_of_quotes(text: str) -> None:
    plain = text.replace('"', "''").replace(" ", "")
    assert "".join(treebank(text)).replace("``", "''") == plain
