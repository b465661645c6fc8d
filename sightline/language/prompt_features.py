"""Features of a prompt that follow from its words alone, as PQPP defines them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sightline.language.tokens import words

if TYPE_CHECKING:
    from sightline.language.wordnet import WordNet


def word_set(listed: str) -> frozenset[str]:
    """Words separated by spaces, as a set."""
    return frozenset(listed.split())


CONJUNCTIONS = word_set("for and nor but or yet so")
PREPOSITIONS = word_set(
    """aboard about above across after against along amid among around as at before behind below beneath
    beside between beyond by concerning considering despite down during except for from in inside
    into like near of off on onto out outside over past regarding round since through to toward
    towards under underneath unlike until up upon with within without"""
)
# The 179 English stop words that the authors of PQPP left out.
STOP_WORDS = word_set(
    """i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves
    he him his himself she she's her hers herself it it's its itself they them their theirs
    themselves what which who whom this that that'll these those am is are was were be been being
    have has had having do does did doing a an the and but if or because as until while of at by for
    with about against between into through during before after above below to from up down in out
    on off over under again further then once here there when where why how all any both each few
    more most other some such no nor not only own same so than too very s t can will just don don't
    should should've now d ll m o re ve y ain aren aren't couldn couldn't didn didn't doesn doesn't
    hadn hadn't hasn hasn't haven haven't isn isn't ma mightn mightn't mustn mustn't needn needn't
    shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't"""
)
_LETTERS = re.compile(r"[^\W\d_]+|\d+")
_ACRONYM = re.compile(r"\b[A-Z]{2,}\b")
NUMBER_WORDS = word_set(
    """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen"""
)
_NUMERAL = re.compile(r"\b(?:\d{4}-\d{2}-\d{2}|\d{2}/\d{2}/\d{4}|\d+)\b")


def word_count(text: str) -> int:
    """How many Treebank tokens there are that are no punctuation."""
    return len(words(text))


def synset_count(text: str, wordnet: WordNet) -> int:
    """Senses in WordNet of all words that are no stop words, each time they occur."""
    return sum(len(wordnet.synsets(word)) for word in words(text) if word.lower() not in STOP_WORDS)


def acronym_rate(text: str) -> float | None:
    """Runs of two capitals or more that are whole words, a word; None where there is no word."""
    listed = words(text)
    return _rate(sum(len(_ACRONYM.findall(word)) for word in listed), len(listed))


def numeral_rate(text: str) -> float | None:
    """Dates and whole numbers, a word; None where there is no word."""
    return _rate(len(_NUMERAL.findall(text)), word_count(text))


def has_number(text: str) -> bool:
    """Whether it names a number above one, in words or digits: "one" is mostly no count."""
    return any(word.isdecimal() or word in NUMBER_WORDS for word in _LETTERS.findall(text.lower()))


def conjunction_rate(text: str) -> float | None:
    """Proportion of the words that are coordinating conjunctions; None where there is no word."""
    return _proportion(text, CONJUNCTIONS)


def preposition_rate(text: str) -> float | None:
    """Proportion of the words that are prepositions; None where there is no word."""
    return _proportion(text, PREPOSITIONS)


def _proportion(text: str, of: frozenset[str]) -> float | None:
    listed = words(text)
    return _rate(sum(word.lower() in of for word in listed), len(listed))


def _rate(n: int, of: int) -> float | None:
    return n / of if of else None
