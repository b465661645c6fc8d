"""How far up the relevant images stand, all of them counted."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import hits, need_places
from sightline.records import Rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (map, map_cut)", licence="Apache-2.0")
def average_precision(run: Rankings, *, k: int | None = None, min_rel: float = 1.0) -> np.ndarray:
    """Mean over all relevant images of the precision at the place where each stands; its mean is MAP.

    A relevant image that was not retrieved, or stands beyond place `k`, adds 0. Relevant is a gain of at
    least `min_rel`; an image nobody judged counts as not relevant.
    """
    need_places("average_precision", k)
    return hits(run, min_rel).average_precision(k)
