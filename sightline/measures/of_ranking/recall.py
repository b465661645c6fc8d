"""How many of the relevant images the first answers hold."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import hits, need_places
from sightline.records import Rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (recall)", licence="Apache-2.0")
def recall(run: Rankings, *, k: int = 10, min_rel: float = 1.0) -> np.ndarray:
    """Share of a query's relevant images that are among the first k; not the papers' Recall@k (hit_rate).

    Relevant is a gain of at least `min_rel`; an image nobody judged is not relevant. With more than `k`
    relevant images it cannot reach 1.
    """
    need_places("recall", k)
    return hits(run, min_rel).recall(k)
