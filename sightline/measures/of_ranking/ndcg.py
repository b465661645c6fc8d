"""How near a ranking comes to the best possible order."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.errors import UsageError, near
from sightline.extension import measure
from sightline.measures.of_ranking._places import hits, need_places
from sightline.records import Rankings
from sightline.statistics import rankings

GAINS = ("linear", "exponential", "binary")


@measure.of_ranking(
    direction="higher", range=(0, 1), source="Jarvelin and Kekalainen 2002", licence="Apache-2.0"
)
def ndcg(
    run: Rankings,
    *,
    k: int | None = None,
    gains: Literal["linear", "exponential", "binary"] = "linear",
    min_rel: float = 1.0,
) -> np.ndarray:
    """Gain of the ranked images, discounted by rank, as a share of what the best order would gain.

    sum of g / log2(rank + 1) over the ranking or its first k places, divided by the same sum for all known
    gains in falling order. g is the gain itself ("linear"), 2^gain - 1 ("exponential"), or 1 for every image
    with a gain of at least `min_rel` ("binary", the only one that looks at the min_rel); unjudged images and
    negative gains count as 0.
    """
    if gains not in GAINS:
        raise UsageError(f"ndcg: there are no gains {gains!r}", remedy=near(gains, GAINS))
    need_places("ndcg", k)
    if gains == "binary":
        found = hits(run, min_rel).ndcg(k)
    else:
        found = rankings.ndcg_graded(run.gains, run.offsets, run.ideal, run.ideal_offsets, k=k, gains=gains)
    # Summing in another order can put a perfect ranking a hair above 1; more than that would be wrong.
    return np.where((found > 1) & (found < 1 + 1e-9), 1.0, found)
