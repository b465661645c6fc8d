"""How much of a ranking anybody has judged."""

from __future__ import annotations

import numpy as np

from sightline.extension import measure
from sightline.measures.of_ranking._places import need_places
from sightline.records import Rankings
from sightline.statistics.runs import count_judged


@measure.of_ranking(
    direction="none", range=(0, 1), nan="nothing was retrieved", source="Buckley and Voorhees 2004",
    licence="Apache-2.0",
)  # fmt: skip
def judged(run: Rankings, *, k: int | None = 10) -> np.ndarray:
    """Share of the images among the first k that anybody judged: how far the other measures can be trusted.

    Images, not places: a ranking shorter than `k` (None for the whole of it) is judged in full if all it
    holds is. It says nothing about quality, but what was not judged counts as not relevant elsewhere.
    """
    need_places("judged", k)
    found = count_judged(run.gains, run.offsets, k=k)
    return np.where(found.of > 0, found.judged / np.maximum(found.of, 1), np.nan)
