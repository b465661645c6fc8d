"""Whether any of the first answers is relevant."""

from __future__ import annotations

import numpy as np

from sightline.errors import UsageError
from sightline.extension import measure
from sightline.records import Rankings
from sightline.statistics import rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (success)", licence="Apache-2.0")
def hit_rate(run: Rankings, *, k: int = 10, level: float = 1.0) -> np.ndarray:
    """1 if a relevant image is among the first k, else 0: what image retrieval calls Recall@k.

    Relevant is a gain of at least `level`; an image nobody judged counts as not relevant.
    """
    if k < 1:
        raise UsageError(f"hit_rate: k={k} counts no place", remedy="At least 1, for example hit_rate@10.")
    known = np.diff(np.append(0, np.cumsum(run.ideal >= level))[run.ideal_offsets])
    return rankings.hit_rate(run.gains, run.offsets, known, k=k, level=level)
