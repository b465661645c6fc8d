"""Excludes whoever does not go with the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.correlation import pearson
from sightline.statistics.grouping import sum_by


@screening(source="ITU-T P.913", licence="Apache-2.0")
def agreement_with_rest(
    votes: Votes, controls: Controls | None, *, below: float = 0.2, least: int = 10
) -> Sequence[Exclusion]:
    """Excludes annotators whose judgements hardly correlate with the mean of the others.

    Pearson's r between an annotator's judgements and the mean of everybody else's on the same items, once
    over all of them (nobody is compared with a panel already thinned out). Needs `least` common items; an
    annotator without spread has no correlation and is left to the rule one_value.
    """
    cast = np.flatnonzero(~np.isnan(votes.value))
    item, who = votes.item[cast], votes.annotator[cast]
    value, weight = votes.value[cast], np.asarray(votes.n[cast], dtype=np.float64)
    total = sum_by(item, value * weight, votes.items)
    count = sum_by(item, weight, votes.items)
    excluded = []
    for number, annotator in enumerate(votes.annotators):
        own = who == number
        own_total = sum_by(item[own], value[own] * weight[own], votes.items)
        own_count = sum_by(item[own], weight[own], votes.items)
        shared = (own_count > 0) & (count > own_count)
        if shared.sum() < least:
            continue
        others = (total[shared] - own_total[shared]) / (count[shared] - own_count[shared])
        r = pearson(own_total[shared] / own_count[shared], others)
        if r.value is not None and r.value < below:
            excluded.append(
                Exclusion(
                    annotator,
                    f"correlation with the others {r.value:.2f} over {r.n} items, below {below:g}",
                )
            )
    return excluded
