"""What a prompt asks to see: its noun phrases and quoted words, and the pieces between prepositions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sightline.language.parsing import Token
from sightline.language.prompt_features import CONJUNCTIONS, PREPOSITIONS, STOP_WORDS, word_set

QUOTED = re.compile(r"[\"“”]([^\"“”]{1,200})[\"“”]|(?<!\w)['‘]([^'‘’]{1,200})['’](?!\w)")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_BREAK = re.compile(r"[.,;:!?()\[\]{}<>|/\n]|--+|\s[-–—]\s")
NUMBERS = {
    "one": 1, "single": 1, "two": 2, "pair": 2, "couple": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12,
}  # fmt: skip
# Words for a picture itself, or for how it is made: there is nothing of that name in it.
ABOUT_PICTURES = word_set(
    """photo photograph photography photorealistic picture image illustration painting drawing sketch render
    rendering portrait art artwork style view shot close-up closeup scene background foreground front side top
    bottom left right middle center centre 4k 8k hd uhd hdr detailed quality resolution realistic lighting
    colored coloured color colour shape shaped kind type form version lots lot number made"""
)
# Verbs that join things in prompts; without a parser they would be taken for things.
VERBS = word_set(
    """sitting standing lying riding holding wearing eating playing running walking looking flying jumping
    swimming showing shows show says saying reads reading written using having has sits stands holds wears
    rides eats plays looks contains containing depicting featuring surrounded covered filled
    next made"""
)


class Phrase(NamedTuple):
    """A thing a prompt names: its words, the noun that heads it, and how many of it, if a number is given.

    `written` says that these are words to be read in the picture.
    """

    text: str
    head: str
    number: int | None = None
    written: bool = False


def quoted(text: str) -> list[str]:
    """What stands in quotation marks: words that should be readable in the picture."""
    return [
        (double or single).strip() for double, single in QUOTED.findall(text) if (double or single).strip()
    ]


def by_rules(text: str) -> list[Phrase]:
    """The things a text names, without a parser: runs of words between stop words, prepositions and marks.

    The last word of a run is its head. A phrase that is named twice counts once.
    """
    found = [Phrase(words, words, written=True) for words in quoted(text)]
    for piece in _BREAK.split(QUOTED.sub(" , ", text)):
        run: list[str] = []
        for word in [*_WORD.findall(piece), ""]:
            low = word.lower()
            if low and low not in STOP_WORDS and low not in PREPOSITIONS and low not in VERBS:
                run.append(low)
                continue
            found += _phrase(run)
            run = []
    return list(dict.fromkeys(found))


def by_parse(text: str, tokens: Sequence[Token]) -> list[Phrase]:
    """The same from a parse of the text: nouns with the adjectives, numbers and nouns that modify them."""
    found = [Phrase(words, words, written=True) for words in quoted(text)]
    inside = {word for phrase in found for word in _WORD.findall(phrase.text)}
    for place, token in enumerate(tokens):
        if token.part not in ("NOUN", "PROPN") or token.label == "compound" or token.text in inside:
            continue
        around = [
            each.text.lower()
            for number, each in enumerate(tokens)
            if number == place
            or (
                each.head == place and each.label in ("compound", "amod", "nummod", "nmod") and number < place
            )
        ]
        found += _phrase(around)
    return list(dict.fromkeys(found))


def _phrase(run: Sequence[str]) -> list[Phrase]:
    """A run of words as a phrase; none where nothing of it can be seen."""
    counts = [
        NUMBERS.get(word) or (int(word) if word.isdecimal() and len(word) < 4 else None) for word in run
    ]
    numbered = [number for number in counts if number is not None]
    words = [word for word, number in zip(run, counts, strict=True) if number is None]
    words = [word for word in words if word not in ABOUT_PICTURES and word not in CONJUNCTIONS]
    if not words:
        return []
    return [Phrase(" ".join(words), words[-1], numbered[0] if numbered else None)]


def morphemes(text: str) -> list[str]:
    """A prompt cut at prepositions and punctuation, as StairReward does; at least one piece if it has a word.

    The preposition opens the piece that follows it. Source: Li et al. 2023 (AGIQA-3K).
    """
    pieces: list[list[str]] = []
    for part in _BREAK.split(text):
        pieces.append([])
        for word in part.split():
            if word.lower().strip("\"'") in PREPOSITIONS and pieces[-1]:
                pieces.append([])
            pieces[-1].append(word)
    joined = [" ".join(piece) for piece in pieces]
    return [piece for piece in joined if any(map(str.isalnum, piece))]
