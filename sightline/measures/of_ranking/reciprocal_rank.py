"""How far down the first relevant answer is."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import hits
from sightline.records import Rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (recip_rank)", licence="Apache-2.0")
def reciprocal_rank(run: Rankings, *, min_rel: float = 1.0) -> np.ndarray:
    """One over the rank of the first relevant image; 0 if none was retrieved.

    Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant.
    """
    return hits(run, min_rel).reciprocal_rank()
