"""How far a text that was read is from the text that was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NO_LETTER = re.compile(r"[\W_]+")


def edit_distance(one: str, two: str) -> int:
    """Levenshtein's distance: insertions, deletions and substitutions of single letters.

    Source: Wagner and Fischer, Journal of the ACM 21 (1974).
    """
    if len(one) < len(two):
        one, two = two, one
    row = list(range(len(two) + 1))
    for n, letter in enumerate(one, start=1):
        diagonal, row[0] = row[0], n
        for place, other in enumerate(two, start=1):
            diagonal, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, diagonal + (letter != other)),
            )
    return row[-1]


def letters(text: str, *, case: bool = False) -> str:
    """Letters and digits alone, in lower case unless the case counts."""
    plain = _NO_LETTER.sub("", text)
    return plain if case else plain.casefold()


def nearest_words(wanted: str, lines: Sequence[str], *, case: bool = False) -> tuple[int, tuple[int, int]]:
    """The fewest edits from words that stand together to the words wanted, and the lines they stand in.

    Spaces and punctuation do not count, since readers split and join words. Only whole words are compared:
    "OPENN" is one edit from "OPEN", although it contains it. Lines are given as (first, last + 1).
    """
    goal = letters(wanted, case=case)
    words = [(letters(word, case=case), n) for n, line in enumerate(lines) for word in line.split()]
    words = [(word, n) for word, n in words if word]
    best, place = len(goal), (0, 0)
    for start in range(len(words)):
        run = ""
        for end in range(start, len(words)):
            run += words[end][0]
            if len(run) - len(goal) >= best:
                break
            edits = edit_distance(goal, run)
            if edits < best:
                best, place = edits, (words[start][1], words[end][1] + 1)
    return best, place
