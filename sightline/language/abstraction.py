"""How abstract a query is, by how deep its words lie in WordNet, as ConQA defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sightline.language.wordnet import WordNet


class Depths(NamedTuple):
    """The shallowest word, the deepest, and the mean over all words that WordNet knows."""

    least: float
    most: float
    mean: float


def plain_words(text: str) -> list[str]:
    """ConQA's words: full stops removed, split on spaces, stop words kept."""
    return [word for word in text.replace(".", "").split(" ") if word]


def word_depths(text: str, wordnet: WordNet) -> list[float]:
    """The depth of every word that WordNet knows: the mean over all its senses of every part of speech.

    The depth of a sense is the number of nodes on the shortest way up to a root, the root counting 1.
    Source: Rodriguez et al. 2024 (ConQA), Table 2.
    """
    senses = (wordnet.synsets(word) for word in plain_words(text))
    return [sum(map(wordnet.depth, found)) / len(found) for found in senses if found]


def depths(text: str, wordnet: WordNet) -> Depths | None:
    """The depths of a query in three numbers; None where WordNet knows none of its words."""
    found = word_depths(text, wordnet)
    return Depths(min(found), max(found), sum(found) / len(found)) if found else None
