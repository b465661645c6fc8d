"""Whether other engines found the same images."""

from __future__ import annotations

import numpy as np

from sightline.extension import NoValue, Values, measure
from sightline.measures.of_ranking._places import need_places
from sightline.measures.of_ranking._scores import NOTHING
from sightline.records import Rankings
from sightline.statistics.ranking_difficulty import engine_overlap as overlap

ALONE = "no other engine answered this prompt"


@measure.of_ranking(direction="none", range=(0, 1), rests_on="runs", source="Sightline", licence="Apache-2.0")
def engine_overlap(run: Rankings, *, k: int = 100) -> Values:
    """Mean overlap |A and B| / |A or B| of the first k images with those of each other engine.

    Engines that agree have found what there is to find. The mean of these values over the engines of a prompt
    is the mean over all their pairs. Needs no judgement and no score; higher means easier. An engine that was
    asked and found nothing shares nothing; one that was not asked is left out.
    """
    need_places("engine_overlap", k)
    lengths = np.diff(run.offsets)
    if run.images is None or run.prompts is None or run.systems is None:
        return [NoValue(ALONE)] * len(lengths)
    shared = overlap(run.images, run.offsets, run.prompts, run.systems, k=k)
    return [
        float(value) if value == value else NoValue(ALONE if length else NOTHING)
        for value, length in zip(shared, lengths.tolist(), strict=True)
    ]
