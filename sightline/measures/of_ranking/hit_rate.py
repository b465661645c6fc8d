"""Whether any of the first answers is relevant."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import hits, need_places
from sightline.records import Rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (success)", licence="Apache-2.0")
def hit_rate(run: Rankings, *, k: int = 10, min_rel: float = 1.0) -> np.ndarray:
    """1 if a relevant image is among the first k, else 0: what image retrieval calls Recall@k.

    Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant.
    """
    need_places("hit_rate", k)
    return hits(run, min_rel).hit_rate(k)
