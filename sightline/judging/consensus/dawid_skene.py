"""Labels that allow for what each annotator mistakes for what."""

from __future__ import annotations

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.extension import consensus
from sightline.judging.consensus import NOBODY, need_confidence
from sightline.records import Settled, Votes
from sightline.statistics.labels import DawidSkene
from sightline.statistics.labels import dawid_skene as fit

TIED = "two labels are equally probable"
ALIKE = 1e-9
"""Probabilities closer than this differ by rounding only."""
MOST = 100
"""So many labels: a confusion matrix of more would hold more cells than there are judgements to fill them."""


@consensus(
    scales=("nominal", "ordinal"),
    source="Dawid and Skene 1979; the smoothing is ours",
    licence="Apache-2.0",
    aliases=("ds",),
)
def dawid_skene(
    votes: Votes, *, probability: bool = False, smoothing: float | None = None, confidence: float = 0.95
) -> Settled:
    """The most probable label, given how often each annotator mistakes one label for another.

    Each annotator has a confusion matrix, found together with the labels by expectation-maximisation from the
    proportions of labels; all anonymous judgements have one in common. Whoever judged little is shrunk
    towards the others, by as much as the judgements themselves call for: where annotators are alike, the
    result is that of counting. `smoothing` sets the number of judgements that this prior weighs; 0 is the
    original rule. With `probability` the value is the probability of the higher of two labels, which says
    itself how sure it is and has no interval. Otherwise, where labels have an order, the interval holds the
    labels between the quantiles of their probabilities; it takes the confusion matrices for known, so it is
    too narrow where each annotator judged little. Labels without order have none.
    """
    need_confidence("dawid_skene", confidence)
    if smoothing is not None and smoothing < 0:
        raise UsageError(f"dawid_skene: smoothing={smoothing:g} is negative", remedy="Say 0 or more.")
    given = np.unique(votes.value[~np.isnan(votes.value)])
    if given.size > MOST:
        raise DataError(
            f"dawid_skene is for labels, and {given.size} different values were given",
            where=f"question {votes.question.name}",
            remedy="Aggregate a scale by mos_mle, mean or median.",
        )
    found = fit(
        votes.item,
        votes.annotator,
        votes.value,
        n=votes.n,
        items=votes.items,
        annotators=len(votes.annotators),
        labels=_two(votes, given) if probability else None,
        smoothing=smoothing,
    )
    none = np.full(votes.items, np.nan)
    nobody = [NOBODY if count == 0 else None for count in found.n]
    if found.labels.size == 0:
        return Settled(none, none.copy(), none.copy(), found.n, nobody)
    if probability:
        return Settled(found.probability[:, -1], none, none.copy(), found.n, nobody)
    best = np.nan_to_num(found.probability).max(axis=1)
    tied = (found.probability >= best[:, None] - ALIKE).sum(axis=1) > 1
    value = found.labels[np.nan_to_num(found.probability).argmax(axis=1)]
    chosen = np.where((found.n == 0) | tied, np.nan, value)
    low, high = _limits(found, chosen, confidence) if votes.question.scale != "nominal" else (none, none)
    reasons = [why or (TIED if even else None) for why, even in zip(nobody, tied, strict=True)]
    return Settled(chosen, low, high.copy(), found.n, reasons)


def _two(votes: Votes, given: np.ndarray) -> np.ndarray:
    """The two labels of the question: the ends of its scale, or all that were given."""
    ends = np.array([votes.question.low, votes.question.high])
    if None not in ends.tolist() and np.isin(given, ends.astype(np.float64)).all():
        return np.unique(ends.astype(np.float64))
    if given.size != 2:
        raise DataError(
            f"probability is that of the higher of two labels, and {given.size} were given",
            where=f"question {votes.question.name}",
            remedy="Aggregate without probability, or by proportion.",
        )
    return given


def _limits(found: DawidSkene, value: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    tail = (1 - confidence) / 2
    below = np.cumsum(np.nan_to_num(found.probability), axis=1)
    last = found.labels.size - 1
    low = found.labels[np.minimum((below < tail + ALIKE).sum(axis=1), last)]
    high = found.labels[np.minimum((below < 1 - tail - ALIKE).sum(axis=1), last)]
    known = ~np.isnan(value)
    return np.where(known, np.fmin(low, value), np.nan), np.where(known, np.fmax(high, value), np.nan)
