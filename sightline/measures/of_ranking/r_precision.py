"""How pure a ranking is as far down as there are relevant images."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import hits
from sightline.records import Rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (Rprec)", licence="Apache-2.0")
def r_precision(run: Rankings, *, min_rel: float = 1.0) -> np.ndarray:
    """Share of the first R places that hold a relevant image, R being how many are known to be relevant.

    Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant.
    """
    return hits(run, min_rel).r_precision()
