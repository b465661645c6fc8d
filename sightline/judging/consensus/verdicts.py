"""A verdict by counting: majority, unanimity, any relevant vote, the proportion, and PQPP's score."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.errors import DataError, UsageError, near
from sightline.extension import consensus
from sightline.judging.consensus import NOBODY, in_favour, need_confidence, values_of
from sightline.records import Settled, Votes
from sightline.statistics import consensus as rules
from sightline.statistics.consensus import relevant_if, share_for

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


@consensus(
    scales=("nominal", "ordinal", "interval"), range=(0, 1), source="Wilson 1927", licence="Apache-2.0"
)
def proportion(votes: Votes, *, top: float | None = None, confidence: float = 0.95) -> Settled:
    """Proportion of an item's votes for the top value of the scale: of a forced choice, how many chose A.

    `top` takes votes from there up together, or names another label of a question without order. The
    interval is Wilson's: it never leaves 0 to 1 and says something even where all agree.
    """
    need_confidence("proportion", confidence)
    favour = in_favour("proportion", votes, top)
    return values_of(share_for(votes.item, favour, n=votes.n, items=votes.items, confidence=confidence))


@consensus(
    scales=("ordinal",), range=(-1, 2), source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0", version=2
)
def hbpp(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean judgement within the majority group, relevant {2, 1} or not {0, -1}; a tie goes to relevant.

    A prompt's human-based performance is the mean of this over its images. The interval is for what very many
    judgements would give (Bayesian, Jeffreys' prior on the four answers): three judgements leave open which
    group has the majority, so it often spans both. Resampling three equal ones would call them certain.
    """
    need_confidence("hbpp", confidence)
    strange = ~np.isin(votes.value, (-1, 0, 1, 2)) & ~np.isnan(votes.value)
    if strange.any():
        raise DataError(
            f"hbpp is defined for judgements of 2, 1, 0 and -1, but {int(strange.sum())} are others, "
            f"such as {votes.value[strange][0]:g}",
            where=f"question {votes.question.name}",
            remedy="Aggregate this question by mean or median.",
        )
    return values_of(rules.hbpp(votes.item, votes.value, n=votes.n, items=votes.items, confidence=confidence))
