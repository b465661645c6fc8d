"""How far down the first relevant answer is."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.records import Rankings
from sightline.statistics import rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (recip_rank)", licence="Apache-2.0")
def reciprocal_rank(run: Rankings, *, level: float = 1.0) -> np.ndarray:
    """One over the rank of the first relevant image; 0 if none was retrieved.

    Relevant is a gain of at least `level`; an image nobody judged counts as not relevant.
    """
    known = np.diff(np.append(0, np.cumsum(run.ideal >= level))[run.ideal_offsets])
    return rankings.reciprocal_rank(run.gains, run.offsets, known, level=level)
