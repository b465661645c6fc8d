"""Trailing keywords by the comma rule, on the paper's own examples and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.language.keywords import keyword_share, keywords, presence, split, top_keywords


@pytest.mark.parametrize(
    ("text", "subject", "after"),
    [
        # Examples of the paper's appendix C.
        ("cat walking, 4k", "cat walking", ("4k",)),
        ("ashtray in the messy desk of the detective, smoke and dark, digital art",
         "ashtray in the messy desk of the detective", ("smoke and dark", "digital art")),
        ("onion very sad crying big tears cartoon, 3d render",
         "onion very sad crying big tears cartoon", ("3d render",)),
        ("the lost city of Atlantis, 4K, hyper detailed",
         "the lost city of Atlantis", ("4K", "hyper detailed")),
        ("a galleon ship by Darek Zabrocki", "a galleon ship by Darek Zabrocki", ()),
        ("hill overlooking a viking city, fantasy, forested, large trees, top down perspective",
         "hill overlooking a viking city", ("fantasy", "forested", "large trees", "top down perspective")),
        # The second piece has four words and more; from the third on all are keywords, however long.
        ("a house, which stands on a hill, 8k, seen from the far side of it",
         "a house, which stands on a hill", ("8k", "seen from the far side of it")),
        # The first piece is the subject even if short, and nothing between commas is no keyword.
        ("cat,, 8k ,", "cat", ("8k",)),
        ("", "", ()),
    ],
)  # fmt: skip
def test_split(text: str, subject: str, after: tuple[str, ...]) -> None:
    assert split(text) == (subject, after)


def test_keywords_are_compared_by_their_words() -> None:
    assert keywords("x, Digital  Art, digital art., 8K") == {"digital art", "8k"}
    assert presence("x, Highly Detailed, 8k.", ["8K", "detailed", "highly detailed"]) == [True, False, True]


def test_top_keywords_count_prompts() -> None:
    """8k is in two prompts (named twice in one), the others in one each and so by spelling."""
    texts = ["a, 8k, 8k, zebra", "b, 8k, art", "c"]
    assert top_keywords(texts) == ["8k", "art", "zebra"]
    assert top_keywords(texts, 2) == ["8k", "art"]


def test_share_of_the_words() -> None:
    # cat walking | digital art 8k: 3 of 5
    assert keyword_share("cat walking, digital art, 8k") == 3 / 5
    assert keyword_share("cat walking") == 0
    assert keyword_share(" , ") is None


@given(st.text(alphabet="ab ,.", max_size=40))
def test_no_word_is_lost(text: str) -> None:
    parts = split(text)
    held = " ".join([parts.subject, *parts.keywords]).replace(",", " ").split()
    assert held == text.replace(",", " ").split()
    share = keyword_share(text)
    assert (share is None) == (not held)
    assert share is None or 0 <= share <= 1
