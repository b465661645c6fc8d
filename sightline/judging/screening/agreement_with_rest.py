"""Excludes whoever does not go with the others."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from sightline.extension import screening
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.correlation import pearson
from sightline.statistics.grouping import sum_by


@screening(source="ITU-T P.913", licence="Apache-2.0", version=2)
def agreement_with_rest(
    votes: Votes, controls: Controls | None, *, below: float = 0.5, least: int = 10
) -> Sequence[Exclusion]:
    """Excludes annotators whose judgements surely hardly correlate with the mean of the others.

    Pearson's r between an annotator's judgements and the mean of everybody else's on the same items, once
    over all of them (nobody is compared with a panel already thinned out). Out is whose 95 % interval lies
    wholly below `below`, and wholly below the median of the other annotators' r: nobody is expected to agree
    better than people do with one another. Simulated panels of three to ten honest people on 10 to 100 items
    lose at most 3 %; of people who answer at random, 98 % are found over 60 items and 76 % over 30. Needs
    `least` common items; an annotator without spread has no correlation and is left to the rule one_value.
    """
    cast = np.flatnonzero(~np.isnan(votes.value))
    item, who = votes.item[cast], votes.annotator[cast]
    value, weight = votes.value[cast], np.asarray(votes.n[cast], dtype=np.float64)
    total = sum_by(item, value * weight, votes.items)
    count = sum_by(item, weight, votes.items)
    correlations = {}
    for number, annotator in enumerate(votes.annotators):
        own = who == number
        own_total = sum_by(item[own], value[own] * weight[own], votes.items)
        own_count = sum_by(item[own], weight[own], votes.items)
        shared = (own_count > 0) & (count > own_count)
        if shared.sum() < least:
            continue
        others = (total[shared] - own_total[shared]) / (count[shared] - own_count[shared])
        correlations[annotator] = pearson(own_total[shared] / own_count[shared], others)
    values = {annotator: r.value for annotator, r in correlations.items() if r.value is not None}
    excluded = []
    for annotator, r in values.items():
        usual = [each for other, each in values.items() if other != annotator]
        limit = min(below, max(0.0, median(usual)) if usual else below)
        low, high = correlations[annotator].low, correlations[annotator].high
        if low is not None and high is not None and high < limit:
            against = f"{below:g}" if limit == below else f"the others' median {limit:.2f}"
            reason = (
                f"correlation with the others {r:.2f} [{low:.2f}, {high:.2f}] over "
                f"{correlations[annotator].n} items, surely below {against}"
            )
            excluded.append(Exclusion(annotator, reason))
    return excluded
