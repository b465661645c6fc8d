"""Relevant if all say so."""

from __future__ import annotations

import numpy as np

from sightline.errors import UsageError
from sightline.extension import consensus
from sightline.judging.consensus import in_favour, values_of
from sightline.records import Settled, Votes
from sightline.statistics.consensus import relevant_if


@consensus(
    scales=("nominal", "ordinal", "interval"), range=(0, 1), source="Rodriguez et al. 2024 (ConQA)",
    licence="Apache-2.0",
)  # fmt: skip
def unanimous(
    votes: Votes, *, top: float | None = None, least: int = 1, allowing: float | None = None
) -> Settled:
    """Relevant (1) if at least one judgement is for the top value of the scale and none is another, else 0.

    `top` takes judgements from there up as "relevant", or names another label of a question without order.
    The softer reading of ConQA is `least=3, allowing=0.5`: at least three say relevant, and those down to
    0.5 (unsure) do not speak against it. No interval: the verdict is about these judgements; the
    more people are asked, the rarer it is that all agree, so that it converges to nothing.
    """
    favour = in_favour("unanimous", votes, top)
    if least < 1:
        raise UsageError(f"unanimous: least={least} would need nobody's vote", remedy="Say least=1 or more.")
    if allowing is not None and votes.question.scale == "nominal":
        raise UsageError(
            f"unanimous: allowing={allowing:g} asks for an order, and the labels of "
            f"{votes.question.name!r} have none",
            remedy="Leave it out.",
        )
    known = ~np.isnan(favour)
    kept, said = votes.where(known), favour[known] > 0
    against = ~said if allowing is None else ~said & (kept.value < allowing)
    return values_of(relevant_if(kept.item, said, against, n=kept.n, items=votes.items, least=least))
