"""Keywords that trail a prompt, such as "8k" and "digital art", separated by commas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

FEWER_WORDS = 4
TOP = 20


class Parts(NamedTuple):
    """What a prompt is about, and the keywords after it, each as written."""

    subject: str
    keywords: tuple[str, ...]


def split(text: str) -> Parts:
    """Cut at commas: from the first later piece with fewer than four words on, every piece is a keyword.

    The first piece is the subject whatever its length; pieces with nothing in them are left out.
    Source: Tang et al. 2024 (W1KP), appendix C.
    """
    first, *later = text.split(",")
    pieces = [piece.strip() for piece in later if piece.strip()]
    start = next((n for n, piece in enumerate(pieces) if len(piece.split()) < FEWER_WORDS), len(pieces))
    return Parts(", ".join([first.strip(), *pieces[:start]]), tuple(pieces[start:]))


def normal(keyword: str) -> str:
    """The form by which keywords are compared: lower case, single spaces, no full stop at the end."""
    return " ".join(keyword.lower().split()).rstrip(". ")


def keywords(text: str) -> set[str]:
    """The distinct keywords of a prompt, in the form by which they are compared."""
    return {word for word in map(normal, split(text).keywords) if word}


def top_keywords(texts: Iterable[str], n: int = TOP) -> list[str]:
    """The keywords that most prompts have, at most n; those in equally many come in order of spelling."""
    counted = Counter(word for text in texts for word in keywords(text))
    return [word for word, _ in sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:n]]


def presence(text: str, wanted: Sequence[str]) -> list[bool]:
    """Whether a prompt has each of these keywords; "highly detailed" is not "detailed"."""
    held = keywords(text)
    return [normal(each) in held for each in wanted]


def keyword_share(text: str) -> float | None:
    """Proportion of the words (between spaces) that belong to keywords; None where there is no word."""
    words = len(text.replace(",", " ").split())
    return sum(len(each.split()) for each in split(text).keywords) / words if words else None
