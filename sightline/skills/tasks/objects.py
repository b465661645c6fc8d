"""Prompts that name objects: one, several, or misspelled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from zlib import crc32

import numpy as np

from sightline.extension import task
from sightline.records import NewPrompt
from sightline.skills.tasks._grammar import (
    PAIRS,
    Stratum,
    check,
    check_word,
    draw,
    sets_of,
    several,
    single,
    with_parts,
)
from sightline.skills.tasks._things import WIDE, Thing, listing, things, with_article

MOST_OBJECTS = 6
VARIANTS = 4
_NEAR = {"a": "s", "b": "v", "c": "x", "d": "s", "e": "r", "f": "g", "g": "h", "h": "j", "i": "u", "j": "k",
         "k": "l", "l": "k", "m": "n", "n": "m", "o": "p", "p": "o", "q": "w", "r": "t", "s": "d", "t": "r",
         "u": "i", "v": "b", "w": "e", "x": "c", "y": "u", "z": "x"}  # fmt: skip
_WORDS = frozenset(word for each in WIDE for name in (each.one, each.many) for word in name.split())
_OTHER_WORDS = frozenset({"char", "hose", "roster", "scorer", "soon", "spots", "tragic", "tuck"})
"""Words that one or two errors in a name lead to, and that mean something else."""


@task(skill="single_object", source="GIMBRR (single object)", licence="Apache-2.0", version=1)
def single_object(rng: np.random.Generator, n: int, *, vocabulary: str = "coco") -> Iterator[NewPrompt]:
    """Prompts for one object: what every other skill builds on.

    Expects at least one. `vocabulary` is coco, the classes that detectors know, or wide, which has
    further everyday objects.
    """
    named = things("single_object", vocabulary)
    yield from draw("single_object", rng, n, [Stratum(len(named), lambda number: single(named[number]))])


@task(skill="multiple_objects", source="GIMBRR (multiple objects)", licence="Apache-2.0")
def multiple_objects(
    rng: np.random.Generator,
    n: int,
    *,
    least: int = 2,
    most: int = 4,
    pairs: str = "any",
    vocabulary: str = "coco",
) -> Iterator[NewPrompt]:
    """Prompts for `least` to `most` different objects together, every number equally often.

    Expects at least one of each. `pairs` is common (things of one place), rare (no two of one place) or any.
    `vocabulary` is coco or wide. No two prompts name the same objects.
    """
    check("multiple_objects", "least", least, 2, MOST_OBJECTS)
    check("multiple_objects", "most", most, least, MOST_OBJECTS)
    check_word("multiple_objects", "pairs", pairs, PAIRS)
    named = things("multiple_objects", vocabulary)
    strata = []
    for k in range(least, most + 1):
        size, nth = sets_of(named, k, pairs)
        strata.append(Stratum(size, lambda number, nth=nth: several(nth(number))))  # type: ignore[misc]
    yield from draw("multiple_objects", rng, n, strata)


@task(skill="typos", source="DrawBench (misspellings)", licence="Apache-2.0")
def typos(
    rng: np.random.Generator,
    n: int,
    *,
    objects: int = 2,
    edits: int = 1,
    pairs: str = "any",
    vocabulary: str = "coco",
) -> Iterator[NewPrompt]:
    """Prompts for `objects` things, whose names have `edits` typing errors each.

    Letters are swapped, dropped, doubled or hit next to the right key. Expects what the prompt without errors
    expects, and builds on it. `pairs` and `vocabulary` are as for multiple_objects.
    """
    check("typos", "objects", objects, 1, MOST_OBJECTS)
    check("typos", "edits", edits, 1, 2)
    check_word("typos", "pairs", pairs, PAIRS)
    # Of a short word with an error not enough is left to tell what was meant.
    named = [each for each in things("typos", vocabulary) if len(max(each.one.split(), key=len)) > 3 + edits]
    size, nth = sets_of(named, objects, pairs)

    def make(number: int) -> NewPrompt:
        which, variant = divmod(number, VARIANTS)
        chosen = nth(which)
        plain = single(chosen[0]) if objects == 1 else several(chosen)
        text = listing([with_article(misspelled(each, variant, edits)) for each in chosen])
        tags = {"skill": "typos", "objects": str(objects), "edits": str(edits)}
        return NewPrompt(text, tags, plain.expects, with_parts(plain))

    yield from draw("typos", rng, n, [Stratum(size * VARIANTS, make)])


def misspelled(thing: Thing, variant: int, edits: int) -> str:
    """The name of a thing with typing errors; its variants differ."""
    return _misspellings(thing.one, edits)[variant]


@cache
def _misspellings(name: str, edits: int) -> list[str]:
    """Different wrong spellings of a name, none of which is another word that we use."""
    found: list[str] = []
    attempt = 0
    while len(found) < VARIANTS:
        words = name.split()
        # The longest word has most letters to get wrong.
        at = max(range(len(words)), key=lambda k: len(words[k]))
        word = words[at]
        seen = {word}
        for edit in range(edits):
            word = _mistyped(word, crc32(f"{name} {attempt} {edit}".encode()))
            seen.add(word)
        words[at] = word
        made = " ".join(words)
        # An error that changes nothing, or undoes another, is none.
        if word not in _WORDS | _OTHER_WORDS and len(seen) == edits + 1 and made not in found:
            found.append(made)
        attempt += 1
    return found


def _mistyped(word: str, chance: int) -> str:
    """A word with one typing error; its first letter stays."""
    place = 1 + (chance >> 8) % (len(word) - 1)
    letter = word[place]
    match chance % 4:
        case 0 if place + 1 < len(word):
            return word[:place] + word[place + 1] + letter + word[place + 2 :]
        case 1 if len(word) > 3:
            return word[:place] + word[place + 1 :]
        case 2:
            return word[:place] + letter + word[place:]
        case _:
            return word[:place] + _NEAR.get(letter, "x") + word[place + 1 :]
