"""The proportion of a prompt's words that belong to a class, and how many senses they have."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from sightline.errors import MissingPackage
from sightline.extension import NoValue, Value, Values, measure
from sightline.language import parsing, prompt_features, wordnet
from sightline.records import Prompt

SOURCE = "Poesina et al. 2025, PQPP"
PROPER_NOUNS = ("NNP", "NNPS")
NO_WORDS = "the prompt has no words"


def _rates(prompts: Sequence[Prompt], rate: Callable[[str], float | None]) -> Values:
    values = (rate(prompt.text) for prompt in prompts)
    return [NoValue(NO_WORDS) if value is None else value for value in values]


@measure.of_prompt(range=(0, None), source=SOURCE, licence="Apache-2.0")
def acronym_rate(prompts: Sequence[Prompt]) -> Values:
    """Runs of two capitals or more that are whole words, per Treebank word.

    One token may contain two ("TV-DVD"), so the rate can exceed 1.
    """
    return _rates(prompts, prompt_features.acronym_rate)


@measure.of_prompt(range=(0, 1), source=SOURCE, licence="Apache-2.0")
def conjunction_rate(prompts: Sequence[Prompt]) -> Values:
    """Proportion of Treebank words that are coordinating conjunctions: for, and, nor, but, or, yet, so."""
    return _rates(prompts, prompt_features.conjunction_rate)


@measure.of_prompt(range=(0, None), source=SOURCE, licence="Apache-2.0")
def numeral_rate(prompts: Sequence[Prompt]) -> Values:
    """Dates and whole numbers at word boundaries, per Treebank word.

    Dates are 2020-01-31 and 31/01/2020. A token such as "3-4" contains two numbers, so the rate can exceed 1.
    """
    return _rates(prompts, prompt_features.numeral_rate)


@measure.of_prompt(range=(0, 1), source=SOURCE, licence="Apache-2.0")
def preposition_rate(prompts: Sequence[Prompt]) -> Values:
    """Proportion of Treebank words that are among PQPP's 57 prepositions, in any case."""
    return _rates(prompts, prompt_features.preposition_rate)


@measure.of_prompt(range=(0, None), source=SOURCE, licence="Apache-2.0", packages=("spacy",), feature=False)
class proper_noun_rate:
    """Proper nouns (NNP and NNPS) per Treebank word.

    Tags are those of spaCy's small English model, where PQPP had NLTK's perceptron; the evidence says which.
    spaCy splits some tokens further than the Treebank, so the rate can exceed 1.
    """

    def __init__(self) -> None:
        self._parser = _parser(os.environ.get(parsing.VARIABLE))

    def __call__(self, prompts: Sequence[Prompt]) -> Values:
        parsed = self._parser([prompt.text for prompt in prompts])
        return [
            self._rate(sum(token.tag in PROPER_NOUNS for token in tokens), prompt.text)
            for prompt, tokens in zip(prompts, parsed, strict=True)
        ]

    def _rate(self, names: int, text: str) -> Value | NoValue:
        of = prompt_features.word_count(text)
        return Value(names / of, {"tagger": self._parser.name}) if of else NoValue(NO_WORDS)


@measure.of_prompt(
    range=(0, None), source="Mothe and Tanguy 2005; WordNet 3.0", licence="Apache-2.0", feature=False
)
class synset_count:
    """Number of senses in WordNet 3.0 of all words that are not stop words, each time they occur.

    A word is reduced by WordNet's own morphology. With `recursive` its rules are applied until something is
    found, as in NLTK before 3.9, which PQPP used; else once. WordNet itself must be on the machine.
    """

    def __init__(self, *, recursive: bool = True) -> None:
        place = wordnet.find(recursive=recursive)
        opened = _wordnet(place.path, recursive) if place else None
        reason = wordnet.why_not(opened)
        if opened is None or reason:
            remedy = "Install WordNet 3.0, or name its folder by SIGHTLINE_WORDNET."
            raise MissingPackage(reason, remedy=remedy)
        self._wordnet = opened

    def __call__(self, prompts: Sequence[Prompt]) -> Values:
        return [float(prompt_features.synset_count(prompt.text, self._wordnet)) for prompt in prompts]


@cache
def _wordnet(path: Path, recursive: bool) -> wordnet.WordNet:
    return wordnet.WordNet(path, recursive=recursive)


@cache
def _parser(named: str | None) -> parsing.Parser:
    return parsing.find()
