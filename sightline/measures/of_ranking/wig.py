"""How far the first answers stand above the collection."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.extension import Values, measure
from sightline.language.search_words import search_words
from sightline.measures.of_ranking._collection import collection, need_against
from sightline.measures.of_ranking._places import need_places
from sightline.measures.of_ranking._scores import Scored, by_scores
from sightline.records import Rankings
from sightline.statistics.ranking_difficulty import wig as weighted_information_gain


@measure.of_ranking(
    direction="none", rests_on="run", beyond=("against", "collection"), source="Zhou and Croft 2007",
    licence="Apache-2.0",
)  # fmt: skip
def wig(run: Rankings, *, k: int = 5, against: Literal["ranking", "collection"] = "ranking") -> Values:
    """Weighted information gain: mean of the first k scores less that of the collection, / sqrt(words asked).

    The score of the collection is, `against` "ranking", the mean over the whole ranking as it was kept, or,
    `against` "collection", the mean over all images that the engine could have answered with: it is asked
    again. Foretells how well a query was answered without any judgement: higher means easier. Compare queries
    of one engine only.
    """
    need_places("wig", k)
    need_against("wig", against)
    texts = [] if run.beyond is None else run.beyond.texts()

    def gain(told: Scored, whole: np.ndarray) -> np.ndarray:
        # Where nobody says what was asked, every query counts as one word.
        words = [len(search_words(texts[n])) if texts else 1 for n in told.number.tolist()]
        return weighted_information_gain(told.scores, told.offsets, whole, words, k=k)

    return by_scores(
        run,
        k,
        lambda told: collection(run, told, against, lambda whole: gain(told, whole)),
        "the query has no words",
    )
