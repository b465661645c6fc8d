"""How many of the first answers are relevant."""

from __future__ import annotations

import numpy as np

from sightline.errors import UsageError
from sightline.extension import measure
from sightline.records import Rankings
from sightline.statistics import rankings


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (P)", licence="Apache-2.0")
def precision(run: Rankings, *, k: int = 10, level: float = 1.0) -> np.ndarray:
    """Share of the first k places that hold a relevant image.

    Relevant is a gain of at least `level`; an image nobody judged counts as not relevant, and so does a
    place past the end of a short ranking.
    """
    if k < 1:
        raise UsageError(f"precision: k={k} counts no place", remedy="At least 1, for example precision@10.")
    known = np.diff(np.append(0, np.cumsum(run.ideal >= level))[run.ideal_offsets])
    return rankings.precision(run.gains, run.offsets, known, k=k, level=level)
