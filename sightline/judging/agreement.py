"""How far annotators agree with each other and with themselves, and on which items they do not.

Every function takes judgements as they were given and looks at those that count here: no control items, which
are made to be agreed on, and of an annotator's judgements of one item the first, since a repeat is not a
second person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline.estimate import Estimate
from sightline.records import AnnotatorKey, Question, Votes
from sightline.statistics.agreement import (
    RESAMPLES,
    alpha_by_annotator,
    cohen_kappa,
    krippendorff_alpha,
)
from sightline.statistics.correlation import pearson, spearman
from sightline.statistics.grouping import sum_by
from sightline.statistics.others import majority_of_others, mean_of_others


@dataclass(frozen=True)
class Coefficient(Estimate):
    """An estimate of agreement that says which coefficient it is."""

    name: str = ""


def named(name: str, found: Estimate) -> Coefficient:
    """An estimate under the name of its coefficient."""
    return Coefficient(found.value, found.low, found.high, found.n, reason=found.reason, name=name)


def alpha_name(question: Question) -> str:
    """What the agreement on a question is called: the one coefficient, and the scale it is for."""
    return f"Krippendorff's alpha ({question.scale})"


def alpha(votes: Votes, sides: bool = False, resamples: int = RESAMPLES) -> Coefficient:
    """The agreement of all; `sides`: values are choices between two sides, of which either may be first."""
    kept, asked = counted(votes), votes.question
    scale: Any = asked.scale
    found = krippendorff_alpha(kept.item, kept.value, scale=scale, sides=sides, resamples=resamples)
    return named(alpha_name(asked), found)


def alpha_of_each(votes: Votes, sides: bool = False, confidence: float = 0.95) -> dict[int, Coefficient]:
    """The agreement of each annotator with the others, by number."""
    kept, asked = counted(votes), votes.question
    scale: Any = asked.scale
    found = alpha_by_annotator(
        kept.item, kept.annotator, kept.value, scale=scale, sides=sides, confidence=confidence
    )
    return {number: named(alpha_name(asked), each) for number, each in found.items()}


@dataclass(frozen=True)
class AnnotatorAgreement:
    """One annotator: number of judgements, and agreement with the others."""

    annotator: AnnotatorKey
    judgements: int
    with_others: Coefficient


@dataclass(frozen=True)
class Disagreement:
    """How far judgements of each item are apart, as columns, the most disputed items first.

    `entropy` is that of the proportions of values in bits, `spread` the standard deviation (n-1) of the
    judgements, both NaN for a single one. Sorted by what fits the scale: entropy if nominal, else spread.
    """

    item: np.ndarray
    n: np.ndarray
    entropy: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True)
class Repeats:
    """Test-retest agreement: the coefficient of first and later answers, and the proportion of equal ones."""

    coefficient: Coefficient
    same: float | None


def by_annotator(votes: Votes) -> list[AnnotatorAgreement]:
    """Each annotator's agreement with the others, weakest first; who has none known comes last.

    Nominal: Cohen's kappa with the majority of the others, items on which they are tied excepted. Ordinal:
    Spearman's rho, interval: Pearson's r, with the mean of the others.
    """
    kept = counted(votes)
    n = kept.n.astype(np.float64)
    if kept.question.scale == "nominal":
        others = majority_of_others(kept.item, kept.value, n)
    else:
        others = mean_of_others(kept.item, kept.annotator, kept.value, n)
    found = []
    for number, own in _rows_by(kept.annotator):
        if number < 0:
            continue
        coefficient = _with_others(kept.question.scale, kept.value[own], others[own])
        found.append(AnnotatorAgreement(votes.annotators[number], len(own), coefficient))
    return sorted(found, key=lambda one: (one.with_others.value is None, one.with_others.value or 0.0))


def by_item(votes: Votes) -> Disagreement:
    """How far people are apart on each item, the most disputed first; items with one judgement come last."""
    kept = counted(votes)
    weight = kept.n.astype(np.float64)
    item, place = np.unique(kept.item, return_inverse=True)
    n = sum_by(place, weight, item.size)
    mean = sum_by(place, weight * kept.value, item.size) / n
    squares = sum_by(place, weight * (kept.value - mean[place]) ** 2, item.size)
    scale, at = np.unique(kept.value, return_inverse=True)
    cells, cell = np.unique(place * max(1, scale.size) + at, return_inverse=True)
    of_cell = cells // max(1, scale.size)
    share = sum_by(cell, weight, cells.size) / n[of_cell]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)
    entropy = np.where(n > 1, -sum_by(of_cell, share * np.log2(share), item.size), np.nan) + 0.0
    key = entropy if kept.question.scale == "nominal" else spread
    order = np.lexsort((item, -n, -np.where(np.isnan(key), -1.0, key)))
    return Disagreement(item[order], n[order].astype(np.int64), entropy[order], spread[order])


def repeats(votes: Votes) -> Repeats:
    """How far annotators repeat themselves: their first answer on an item against each later one.

    Nominal: Cohen's kappa; ordinal: with quadratic weights; interval: Pearson's r. n counts pairs.
    """
    cast = votes.where(~np.isnan(votes.value) & (votes.annotator >= 0))
    order = np.lexsort((cast.repetition, cast.item, cast.annotator))
    who, item, value = cast.annotator[order], cast.item[order], cast.value[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (who[1:] != who[:-1]) | (item[1:] != item[:-1])
    later = np.flatnonzero(~new)
    first = np.flatnonzero(new)[np.cumsum(new)[later] - 1]
    before, after = value[first], value[later]
    scale = votes.question.scale
    if scale == "interval":
        coefficient = named("Pearson's r of first and later answers", pearson(before, after))
    elif scale == "ordinal":
        kappa = cohen_kappa(before, after, weights="quadratic")
        coefficient = named("Cohen's kappa of first and later answers, quadratic weights", kappa)
    else:
        coefficient = named("Cohen's kappa of first and later answers", cohen_kappa(before, after))
    same = float((before == after).mean()) if later.size else None
    return Repeats(coefficient, same)


def counted(votes: Votes) -> Votes:
    """The judgements that agreement is measured on: no control items, and everybody's first of each item."""
    kept = votes.where(~votes.control & ~np.isnan(votes.value))
    order = np.lexsort((kept.repetition, kept.item, kept.annotator))
    who, item = kept.annotator[order], kept.item[order]
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (who[1:] == who[:-1]) & (item[1:] == item[:-1]) & (who[1:] >= 0)
    keep = np.ones(len(order), dtype=np.bool_)
    keep[order[again]] = False
    return kept.where(keep)


def _with_others(scale: str, own: np.ndarray, others: np.ndarray) -> Coefficient:
    if scale == "nominal":
        return named("Cohen's kappa with the majority of the others", cohen_kappa(own, others))
    if scale == "ordinal":
        return named("Spearman's rho with the mean of the others", spearman(own, others))
    return named("Pearson's r with the mean of the others", pearson(own, others))


def _rows_by(number: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """The rows of each number, in rising order of numbers."""
    order = np.argsort(number, kind="stable")
    numbers, start = np.unique(number[order], return_index=True)
    return list(zip(numbers.tolist(), np.split(order, start[1:]), strict=False))
