"""What lists of words say about a text: concreteness, richness, frequency, and relations in WordNet."""

from __future__ import annotations

import csv
import importlib
import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sightline.errors import DataError, MissingPackage
from sightline.language.prompt_features import STOP_WORDS
from sightline.language.tokens import words
from sightline.language.wordnet import Synset, WordNet, count_senses, detached

CONCRETENESS = "SIGHTLINE_CONCRETENESS"
WORD, RATING = "Word", "Conc.M"
LEAST, MOST = 1.0, 5.0
DICTIONARY_SIZE = 100_000


class Relations(NamedTuple):
    """Means over the words of a text that WordNet knows."""

    hyponyms: float
    hypernyms: float
    senses: float


def spelled_words(text: str) -> list[str]:
    """The Treebank's words that have a letter, in lower case: "8k" is one, "8" and "..." are not."""
    return [word.lower() for word in words(text) if any(map(str.isalpha, word))]


def read_concreteness(path: str | Path) -> dict[str, float]:
    """Word -> mean rating from 1 (abstract) to 5 (concrete), from the user's copy of the published list.

    A table with columns Word and Conc.M, separated by tabs or commas; expressions of two words are left out,
    since prompts are looked up word by word. Source: Brysbaert, Warriner and Kuperman, Behavior Research
    Methods 46 (2014). The list is for research use and is not shipped.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"it cannot be read as text ({error})", where=str(path)) from None
    header = lines[0] if lines else ""
    rows = csv.DictReader(lines, delimiter="\t" if "\t" in header else ",")
    if not {WORD, RATING} <= set(rows.fieldnames or ()):
        raise DataError(
            f"there are no columns {WORD} and {RATING}",
            where=str(path),
            remedy="Save the published table as text with its own header.",
        )
    ratings = {}
    for number, row in enumerate(rows, start=2):
        word, given = (row[WORD] or "").strip().lower(), row[RATING]
        try:
            rating = float(given)
        except (TypeError, ValueError):
            rating = math.nan
        if not LEAST <= rating <= MOST:
            raise DataError(
                f"{given!r} is no rating from {LEAST:g} to {MOST:g}", where=f"{path}, line {number}"
            )
        if word and " " not in word:
            ratings[word] = rating
    return ratings


def find_concreteness() -> dict[str, float] | None:
    """The ratings in the file that SIGHTLINE_CONCRETENESS names; None where it names none."""
    named = os.environ.get(CONCRETENESS)
    return read_concreteness(named) if named else None


def rating(word: str, ratings: Mapping[str, float]) -> float | None:
    """A word's rating, or that of the form from which WordNet's rules for nouns and verbs derive it.

    Most plurals and past forms are not rated themselves. Stop words are taken only as they are.
    """
    if word in ratings or word in STOP_WORDS:
        return ratings.get(word)
    forms = [form for part in ("n", "v") for form in detached([word], part)]
    return next((ratings[form] for form in forms if form in ratings), None)


def concreteness(text: str, ratings: Mapping[str, float]) -> float | None:
    """Mean rating of the words that have one, each time they occur; None where none has."""
    return _mean([rating(word, ratings) for word in spelled_words(text)])


def honore(text: str) -> float | None:
    """Honore's statistic of lexical richness: 100 ln N / (1 - V1 / V).

    N words, V distinct ones, V1 of them that occur once. None where every word occurs once, as in most short
    prompts: the statistic is infinite there. Source: A. Honore, ALLC Bulletin 7 (1979).
    """
    counted = Counter(spelled_words(text))
    once = sum(times == 1 for times in counted.values())
    if once == len(counted):
        return None
    return 100 * math.log(counted.total()) / (1 - once / len(counted))


def out_of_dictionary(text: str, dictionary: Collection[str]) -> float | None:
    """Proportion of the words that a dictionary does not contain; None where there is no word."""
    return _mean([float(word not in dictionary) for word in spelled_words(text)])


def word_frequency(text: str, zipf: Callable[[str], float]) -> float | None:
    """Mean frequency on Zipf's scale (log10 of occurrences in a billion words) of the words that are known.

    A word that the list does not know has frequency 0 there, which is no frequency: it is left out.
    Source: van Heuven et al., Quarterly Journal of Experimental Psychology 67 (2014).
    """
    return _mean([zipf(word) or None for word in spelled_words(text)])


def relations(text: str, wordnet: WordNet, merged: Mapping[Synset, int] | None = None) -> Relations | None:
    """Mean number of senses just below, of senses just above, and of senses, over words that WordNet knows.

    A word's are those of all its senses together, each once; stop words are left out ("a" is a vitamin in
    WordNet). Senses of one group of `merged`, and of a database whose fine senses are merged (Snow et al.,
    EMNLP 2007), count once. None where WordNet knows none of the words.
    """
    related = [
        word_relations(word, wordnet, merged)
        for word in spelled_words(text)
        if word not in STOP_WORDS and wordnet.synsets(word)
    ]
    if not related:
        return None
    return Relations(*(sum(column) / len(related) for column in zip(*related, strict=True)))


def word_relations(word: str, wordnet: WordNet, merged: Mapping[Synset, int] | None = None) -> Relations:
    """The same three numbers of one word."""
    senses = set(wordnet.synsets(word))
    below = {each for sense in senses for each in wordnet.hyponyms(sense)}
    above = {each for sense in senses for each in wordnet.hypernyms(sense)}
    return Relations(float(len(below)), float(len(above)), float(count_senses(senses, merged or {})))


def find_dictionary() -> frozenset[str]:
    """The 100,000 commonest English words of wordfreq; MissingPackage where it is not installed."""
    return frozenset(_wordfreq().top_n_list("en", DICTIONARY_SIZE, wordlist="large"))


def commonest(count: int) -> list[str]:
    """The commonest English words of wordfreq, the commonest first; MissingPackage without it."""
    return [str(word) for word in _wordfreq().top_n_list("en", count, wordlist="large")]


def find_frequency() -> Callable[[str], float]:
    """A word's frequency on Zipf's scale by wordfreq, 0 where unknown; MissingPackage without it."""
    library = _wordfreq()
    return lambda word: float(library.zipf_frequency(word, "en", wordlist="large"))


def _wordfreq() -> Any:
    try:
        return importlib.import_module("wordfreq")
    except ImportError:
        raise MissingPackage(
            "word frequencies need wordfreq", remedy="pip install 'sightline[language]'"
        ) from None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
