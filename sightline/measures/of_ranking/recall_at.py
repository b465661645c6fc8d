"""The "Recall@k" of image retrieval papers, under the name they give it."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import hits, need_places
from sightline.records import Rankings


@measure.of_ranking(
    direction="higher", range=(0, 1), source="Karpathy and Fei-Fei 2015 (Recall@K)", licence="Apache-2.0"
)
def recall_at(run: Rankings, *, k: int = 10, min_rel: float = 1.0) -> np.ndarray:
    """Another name of hit_rate: the Recall@k of image retrieval papers, which is no recall.

    1 if a relevant image is among the first `k`, else 0; its mean is the share of queries with a hit. How
    many of a query's relevant images are found is told by `recall`; both agree where each query has one
    relevant image. Relevant is a gain of at least `min_rel`.
    """
    need_places("recall_at", k)
    return hits(run, min_rel).hit_rate(k)
