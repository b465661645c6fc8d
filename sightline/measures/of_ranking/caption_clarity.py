"""How distinctly the captions of what was retrieved speak of one thing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sightline.errors import UsageError
from sightline.extension import NoValue, Values, measure
from sightline.measures.of_ranking._places import need_places
from sightline.measures.of_ranking._scores import Scored, by_scores
from sightline.records import Rankings
from sightline.statistics.ranking_difficulty import clarity

NO_CAPTIONS = "what was retrieved has no captions"


@measure.of_ranking(
    direction="none", range=(0, None), rests_on="run", beyond=True,
    source="Cronen-Townsend, Zhou and Croft 2002", licence="Apache-2.0",
)  # fmt: skip
def caption_clarity(run: Rankings, *, k: int = 100, own: float = 0.6, sharpness: float = 1.0) -> Values:
    """Clarity: divergence in bits of the words said of the first k images from the words of all captions.

    An image speaks with weight exp(`sharpness` x score); its words are `own` parts its captions' and the rest
    the collection's. A query that finds a jumble of images finds the words of the collection, and its clarity
    is near 0. Foretells how well a query was answered without any judgement: higher means easier. Cosines
    differ too little to weigh by: with a `sharpness` of 1 the first k images count nearly alike.
    """
    need_places("caption_clarity", k)
    if not 0 <= own <= 1 or sharpness < 0:
        raise UsageError(
            f"caption_clarity: own={own:g}, sharpness={sharpness:g}",
            remedy="own lies from 0 to 1, and sharpness is 0 or more.",
        )

    def divergence(told: Scored) -> list[float | NoValue]:
        if run.beyond is None:
            return [NoValue("the captions are not at hand")] * len(told.number)
        counts, row = run.beyond.caption_words()
        said = np.asarray(counts.sum(axis=1)).ravel() > 0
        rows = row[told.places]
        values = clarity(told.scores, told.offsets, rows, counts, k=k, own=own, sharpness=sharpness)
        first = [slice(start, min(end, start + k)) for start, end in pairwise(told.offsets)]
        return [
            max(float(value), 0.0) if said[rows[mine]].any() else NoValue(NO_CAPTIONS)
            for value, mine in zip(values, first, strict=True)
        ]

    return by_scores(run, k, divergence, NO_CAPTIONS)
