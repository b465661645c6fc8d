"""Prompts of one word, for what in a word goes with varied images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sightline.errors import MissingPackage, UsageError
from sightline.extension import task
from sightline.language import lexicon, wordnet
from sightline.language.prompt_features import STOP_WORDS
from sightline.records import NewPrompt

SENSES = (1, 2, 4, 8)
"""Numbers of senses at which a group begins: 1, 2 or 3, 4 to 7, 8 and more."""
QUARTERS = 4
"""Groups of frequency, of equally many ranks."""
SHORTEST = 3
"""Letters of the shortest word: shorter ones are mostly abbreviations."""


class Word(NamedTuple):
    """A word with its rank among the commonest, number of senses and rating of concreteness."""

    text: str
    rank: int
    senses: int
    concreteness: float | None


@task(
    skill="single_word", source="Tang et al. 2024 (W1KP), section 4.3", licence="Apache-2.0", extra="language"
)
def single_words(
    rng: np.random.Generator, n: int, *, common: int = 10_000, concreteness: str = "", senses: str = ""
) -> Iterator[NewPrompt]:
    """Prompts of one word each, spread over numbers of senses in WordNet and quarters of frequency.

    Words are the `common` commonest of wordfreq that WordNet knows and Brysbaert et al. rated
    (`concreteness`, or SIGHTLINE_CONCRETENESS, names their table; without one no rating is asked for).
    Groups of 1, 2-3, 4-7 and 8 or more senses in each quarter of the ranks come in turn as long as each has
    words left. `senses` is a file of senses to count as one, a group of synsets per line. The tags `senses`,
    `rank` and `concreteness` say what a word has. Expects the word itself; no word comes twice.
    """
    if common < QUARTERS:
        raise UsageError(f"single_words: common={common}", remedy=f"At least {QUARTERS} words.")
    words = _words(common, concreteness, senses)
    if n > len(words):
        raise UsageError(
            f"single_words has {len(words):,} different prompts among the {common:,} commonest words, "
            f"not {n:,}",
            remedy="Ask for fewer prompts, or for more of the commonest words: single_words(common=50000).",
        )
    for word in _in_turn(words, common, n, rng):
        tags = {"skill": "single_word", "senses": str(word.senses), "rank": str(word.rank)}
        tags |= {} if word.concreteness is None else {"concreteness": f"{word.concreteness:g}"}
        yield NewPrompt(word.text, tags, {"phrases": [word.text]})


def _words(common: int, concreteness: str, senses: str) -> list[Word]:
    known = wordnet.find()
    if known is None:
        raise MissingPackage(
            "single_words counts senses in WordNet, which is not here",
            remedy=f"python -m nltk.downloader wordnet, or set {wordnet.VARIABLE} to its folder.",
        )
    ratings = lexicon.read_concreteness(concreteness) if concreteness else lexicon.find_concreteness()
    merged = wordnet.read_merged(senses) if senses else wordnet.find_merged()
    return [
        Word(text, rank, wordnet.count_senses(found, merged), rated)
        for rank, text in enumerate(lexicon.commonest(common), 1)
        if _is_plain(text)
        and (found := known.synsets(text))
        and ((rated := _rating(text, ratings)) is not None or ratings is None)
    ]


def _is_plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and len(word) >= SHORTEST and word not in STOP_WORDS


def _rating(word: str, ratings: Mapping[str, float] | None) -> float | None:
    return None if ratings is None else ratings.get(word)


def _in_turn(words: list[Word], common: int, n: int, rng: np.random.Generator) -> Iterator[Word]:
    """Words from every group of senses and frequency in turn; each group's in random order."""
    groups: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        held = int(np.searchsorted(SENSES, word.senses, side="right"))
        groups.setdefault((held, (word.rank - 1) * QUARTERS // common), []).append(word)
    waiting = [[group[int(k)] for k in rng.permutation(len(group))] for _, group in sorted(groups.items())]
    given = 0
    while given < n:
        for group in waiting:
            if group and given < n:
                given += 1
                yield group.pop()
