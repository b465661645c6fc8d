"""How deep words lie, by hand on a small tree."""

from __future__ import annotations

from typing import cast

import pytest

from sightline.language.abstraction import Depths, depths
from sightline.language.wordnet import Synset, WordNet

SENSES = {"dog": [13, 9], "entity": [1], "run": [5, 5, 2]}


class Tree:
    """Senses of three words by their depth; the others are unknown."""

    def synsets(self, word: str) -> list[Synset]:
        return [Synset("n", depth) for depth in SENSES.get(word, [])]

    def depth(self, synset: Synset) -> int:
        return synset.offset


TREE = cast(WordNet, Tree())


def test_words_and_depths_by_hand() -> None:
    # dog (13 + 9) / 2 = 11, run (5 + 5 + 2) / 3 = 4; "the" is unknown and left out.
    assert depths("the d.og  run. ", TREE) == Depths(4, 11, 7.5)
    assert depths("entity", TREE) == pytest.approx((1, 1, 1))
    assert depths("the", TREE) is None and depths("", TREE) is None
