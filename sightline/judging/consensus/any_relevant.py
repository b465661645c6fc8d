"""Relevant if anybody says so."""

from __future__ import annotations

import numpy as np

from sightline.extension import consensus
from sightline.judging.consensus import in_favour, values_of
from sightline.records import Settled, Votes
from sightline.statistics.consensus import relevant_if


@consensus(
    scales=("nominal", "ordinal", "interval"), range=(0, 1), source="Poesina et al. 2024 (PQPP)",
    licence="Apache-2.0",
)  # fmt: skip
def any_relevant(votes: Votes, *, top: float | None = None) -> Settled:
    """Relevant (1) if at least one judgement is for the top value of the scale, else 0.

    PQPP's rule for retrieved images. `top` takes judgements from there up as "relevant", or names another
    label of a question without order. No interval: the verdict is about these judgements; the more
    people are asked, the sooner one says yes, so that it converges to nothing.
    """
    favour = in_favour("any_relevant", votes, top)
    known = ~np.isnan(favour)
    kept, said = votes.where(known), favour[known] > 0
    return values_of(relevant_if(kept.item, said, np.zeros_like(said), n=kept.n, items=votes.items))
