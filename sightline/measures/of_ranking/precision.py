"""How many of the first answers are relevant."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import hits, need_places
from sightline.records import Rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (P)", licence="Apache-2.0")
def precision(run: Rankings, *, k: int = 10, min_rel: float = 1.0) -> np.ndarray:
    """Share of the first k places that hold a relevant image.

    Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant, and so does a
    place past the end of a short ranking.
    """
    need_places("precision", k)
    return hits(run, min_rel).precision(k)
