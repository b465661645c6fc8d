"""Words as BM25, pools and relations cut them."""

from __future__ import annotations

import pytest

from sightline.language.search_words import search_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A dog, a DOG!", ["a", "dog", "a", "dog"]),
        ("don't stop-motion 3d_print", ["don", "t", "stop", "motion", "3d_print"]),
        ("\u00c9t\u00e9 \u732b", ["\u00e9t\u00e9", "\u732b"]),
        ("... \n", []),
        ("", []),
    ],
)
def test_runs_of_letters_and_digits(text: str, words: list[str]) -> None:
    assert search_words(text) == words
