"""The average judgement: mean, median, and opinion scores that allow for the annotators."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.errors import DataError, UsageError, near
from sightline.extension import consensus
from sightline.judging.consensus import NOBODY, need_confidence, on_the_scale, values_of
from sightline.records import Exclusion, Settled, Votes
from sightline.statistics.consensus import mean_votes, median_votes
from sightline.statistics.grouping import sum_by
from sightline.statistics.opinion_scores import mos_likelihood
from sightline.statistics.opinion_scores import mos_normalised as normalised


@consensus(
    scales=("ordinal", "interval"),
    source="ITU-R BT.500",
    licence="Apache-2.0",
    aliases=("mos", "mean_opinion_score"),
    version=2,
)
def mean(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean of an item's judgements, with an interval that keeps to the scale where there are two or more.

    How far the judgements of one item scatter is learned from all items together, since two or three say
    little about it.
    """
    need_confidence("mean", confidence)
    ends = {"low": votes.question.low, "high": votes.question.high}
    return values_of(
        mean_votes(votes.item, votes.value, n=votes.n, items=votes.items, confidence=confidence, **ends)
    )


@consensus(
    scales=("ordinal", "interval"), source="Thompson 1936; Tang et al. 2024 (W1KP)", licence="Apache-2.0",
    version=2,
)  # fmt: skip
def median(votes: Votes, *, top: float | None = None, confidence: float = 0.95) -> Settled:
    """Median of an item's judgements: half are no lower, half no higher; no outlier can move it far.

    An even number gives the middle between the two central ones. Judgements above `top` count as `top`:
    with `top=4` the two highest of five points are one, as W1KP has it. The interval lies between two of
    the judgements, counted from either end, and holds whatever the distribution; at 95 % that takes six, so
    with fewer there is none.
    """
    need_confidence("median", confidence)
    lowest = votes.question.low
    if top is not None and lowest is not None and top < lowest:
        raise UsageError(
            f"median: top={top:g} lies below the scale of {votes.question.name!r}",
            remedy=f"The scale begins at {lowest:g}.",
        )
    value = votes.value if top is None else np.minimum(votes.value, top)
    return values_of(median_votes(votes.item, value, n=votes.n, items=votes.items, confidence=confidence))


@consensus(
    scales=("ordinal", "interval"),
    source="ITU-T P.910 (2022); Li et al. 2020; Smyth 2004 for the moderation; Rubin and Thayer 1982",
    licence="Apache-2.0",
    version=3,
)
def mos_mle(votes: Votes, *, confidence: float = 0.95) -> Settled:
    """Mean opinion score by maximum likelihood: judgements less their viewer's bias, weighted by consistency.

    Model: judgement = score + bias of the viewer + inconsistency of the viewer x noise, where the noise may
    be larger on some items than on others. A viewer who scatters weighs little; one whose judgements do not
    follow the items (one value, or almost, throughout) carries no information, is excluded and is named.
    Biases are drawn to 0 and inconsistencies to a common one by as much as few judgements per viewer call
    for. The score is that of the viewers who judged, not of viewers to come; anonymous judgements have no
    bias and one common inconsistency. The interval stays on the scale. Simulated on five points with 5 to 200
    items and 2 to 10 viewers, nominal 95 % intervals cover .91 to .97, with viewers who always give 5 too,
    even where they are half of the panel; of viewers who give almost always the same, some escape notice
    where each judged 20 items or fewer, and then it is .87.
    """
    need_confidence("mos_mle", confidence)
    low, high = votes.question.low, votes.question.high
    ends = None if low is None or high is None or high <= low else (low, high)
    found = mos_likelihood(
        votes.item,
        votes.annotator,
        votes.value,
        n=votes.n,
        items=votes.items,
        annotators=len(votes.annotators),
        ends=ends,
        confidence=confidence,
    )
    score, least, most = (on_the_scale(votes, each) for each in (found.mos, found.low, found.high))
    reasons = _reasons(votes, found.mos, FLAT)
    cast = _cast(votes)
    flat = [
        Exclusion(annotator, f"its {int(cast[number])} judgements do not follow the items: they hardly vary")
        for number, annotator in enumerate(votes.annotators)
        if found.flat[number]
    ]
    return Settled(score, least, most, found.n, reasons, flat)


FLAT = "whoever judged it gave the same, or almost, to every item"


def _reasons(votes: Votes, score: np.ndarray, unused: str) -> list[str | None]:
    """Why items have no score: nobody judged them, or nobody whose judgements could be used."""
    judged = sum_by(votes.item, votes.n * ~np.isnan(votes.value), votes.items) > 0
    return [
        None if not none else unused if some else NOBODY
        for none, some in zip(np.isnan(score), judged, strict=True)
    ]


def _cast(votes: Votes) -> np.ndarray:
    return np.bincount(votes.annotator[votes.annotator >= 0], minlength=len(votes.annotators))


RESCALE = ("panel", "ends")


NO_SPREAD = "whoever judged it gave one value throughout, or nothing else in that session"


@consensus(
    scales=("ordinal", "interval"), source="Li et al. 2023 (AGIQA-3K); ITU-R BT.500", licence="Apache-2.0"
)
def mos_normalised(
    votes: Votes, *, rescale: Literal["panel", "ends"] = "panel", confidence: float = 0.95
) -> Settled:
    """Mean opinion score of z-scores: each viewer's session means taken off, then divided by their spread.

    z = (judgement - mean of the viewer's session) / SD (n - 1) of these over all the viewer's sessions; the
    score is the mean of the rescaled z of an item with Student's interval. With `rescale="panel"` z goes back
    to the scale as the panel used it, m + s z (m the mean judgement, s the harmonic mean of the viewers'
    SDs): the score stays in the units of the judgements. With `rescale="ends"` z from -3 to 3 is spread over
    the whole scale, as much of the literature does. A score beyond an end is the end itself. A viewer with no
    spread carries no information and is excluded, as is a judgement alone in its session: n counts what was
    used. Taking session means off supposes that sessions are alike: many images each, drawn at random.
    Anonymous judgements are normalised together, as if one viewer had given them.
    """
    need_confidence("mos_normalised", confidence)
    if rescale not in RESCALE:
        raise UsageError(f"mos_normalised: there is no rescale {rescale!r}", remedy=near(rescale, RESCALE))
    found = normalised(
        votes.item,
        votes.annotator,
        votes.session,
        votes.value,
        n=votes.n,
        items=votes.items,
        annotators=len(votes.annotators),
        ends=_ends(votes) if rescale == "ends" else None,
        confidence=confidence,
    )
    reasons = _reasons(votes, found.mos, NO_SPREAD)
    score, low, high = (on_the_scale(votes, each) for each in (found.mos, found.low, found.high))
    cast = _cast(votes)
    left_out = [
        Exclusion(annotator, f"gave one and the same value in all of {int(cast[number])} judgements")
        for number, annotator in enumerate(votes.annotators)
        if found.left_out[number]
    ]
    return Settled(score, low, high, found.n, reasons, left_out)


def _ends(votes: Votes) -> tuple[float, float]:
    low, high = votes.question.low, votes.question.high
    if low is None or high is None:
        raise DataError(
            "rescale=ends spreads z-scores over the whole scale, and this one has no end on one side",
            where=f"question {votes.question.name}",
            remedy="Give the question its ends, or use rescale=panel.",
        )
    return low, high
