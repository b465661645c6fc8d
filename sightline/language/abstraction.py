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


def depths(text: str, wordnet: WordNet) -> Depths | None:
    """The depths of a query's words in three numbers; None where WordNet knows none of them.

    Words are ConQA's: full stops removed, split on spaces, stop words kept. The depth of a word is the mean
    over all its senses of every part of speech, that of a sense the number of nodes on the shortest way up to
    a root, the root counting 1. Source: Rodriguez et al. 2024 (ConQA), Table 2.
    """
    senses = (wordnet.synsets(word) for word in text.replace(".", "").split(" ") if word)
    known = [sum(map(wordnet.depth, each)) / len(each) for each in senses if each]
    return Depths(min(known), max(known), sum(known) / len(known)) if known else None
