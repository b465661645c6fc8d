"""Opinion scores of judgements made comparable first, viewer by viewer and session by session."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.errors import DataError, UsageError, near
from sightline.extension import consensus
from sightline.judging.consensus import NOBODY, need_confidence, on_the_scale
from sightline.records import Exclusion, Settled, Votes
from sightline.statistics.grouping import sum_by
from sightline.statistics.opinion_scores import mos_normalised as normalised

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
    judged = sum_by(votes.item, votes.n * ~np.isnan(votes.value), votes.items) > 0
    reasons = [
        None if not none else NO_SPREAD if some else NOBODY
        for none, some in zip(np.isnan(found.mos), judged, strict=True)
    ]
    score, low, high = (on_the_scale(votes, each) for each in (found.mos, found.low, found.high))
    cast = np.bincount(votes.annotator[votes.annotator >= 0], minlength=len(votes.annotators))
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
