"""The vote of most."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.errors import UsageError, near
from sightline.extension import consensus
from sightline.judging.consensus import NOBODY
from sightline.records import Settled, Votes
from sightline.statistics import consensus as rules

TIES = ("none", "highest", "lowest")


@consensus(
    scales=("nominal", "ordinal", "interval"),
    source="common practice",
    licence="Apache-2.0",
    aliases=("majority_vote",),
)
def majority(votes: Votes, *, ties: Literal["none", "highest", "lowest"] = "none") -> Settled:
    """The value that most votes were cast for, be it a label, a grade or A of A and B.

    A tie gives no value, or with `ties` the highest or the lowest of the tied values. No interval: a label
    has none. How sure a majority is shows in `proportion`, or in `dawid_skene` with its probabilities.
    """
    if ties not in TIES:
        raise UsageError(f"majority: there is no rule {ties!r} for ties", remedy=near(ties, TIES))
    found = rules.majority(votes.item, votes.value, n=votes.n, items=votes.items, ties=ties)
    reasons = [
        None if not none else "the votes are tied" if count > 0 else NOBODY
        for none, count in zip(np.isnan(found.value), found.n, strict=True)
    ]
    return Settled(found.value, found.low, found.high, found.n, reasons)
