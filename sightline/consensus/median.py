"""The middle vote."""

from __future__ import annotations

import numpy as np

from sightline.extension import consensus
from sightline.records import Settled, Votes


@consensus(scales=("ordinal", "interval"), source="common practice", licence="Apache-2.0")
def median(votes: Votes) -> Settled:
    """Median of an item's votes: half of them are no lower, half no higher; no stray vote can move it far.

    An even number of votes gives the middle between the two central ones. A row of n equal votes counts n
    times.
    """
    cast = ~np.isnan(votes.value) & (votes.n > 0)
    order = np.lexsort((votes.value[cast], votes.item[cast]))
    item, value = votes.item[cast][order], np.asarray(votes.value[cast][order], dtype=np.float64)
    weight = np.asarray(votes.n[cast][order], dtype=np.int64)
    count = np.bincount(item, weights=weight, minlength=votes.items).astype(np.int64)
    running = np.cumsum(weight)
    before = np.cumsum(count) - count
    some = count > 0
    # Vote number m of all (from 1) lies in the first row whose running total reaches m.
    lower = np.searchsorted(running, before[some] + (count[some] + 1) // 2)
    upper = np.searchsorted(running, before[some] + count[some] // 2 + 1)
    middle = np.full(votes.items, np.nan)
    middle[some] = (value[lower] + value[upper]) / 2
    unknown = np.full(votes.items, np.nan)
    reasons = [None if known else "nobody judged it" for known in some]
    return Settled(middle, unknown, unknown.copy(), count.astype(np.float64), reasons)
