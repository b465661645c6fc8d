"""What an owner of votes wants to see: how far people agree, who stands apart, and over which items.

Every function takes votes as they were cast and looks at what counts here: no control items, which are made
to be agreed on, and of an annotator's votes on one item the first, since a repeat is not a second person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.records import AnnotatorKey, Votes
from sightline.statistics.agreement import Agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha
from sightline.statistics.correlation import Correlation, pearson, spearman
from sightline.statistics.grouping import sum_by
from sightline.statistics.others import majority_of_others, mean_of_others
from sightline.statistics.reliability import icc, icc_one_way


@dataclass(frozen=True)
class Coefficient:
    """A named coefficient with its 95 % limits and n, or the reason why there is none."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True)
class OfAnnotator:
    """One annotator: votes, agreement with the others, and the median time a vote took (None: unknown)."""

    annotator: AnnotatorKey
    votes: int
    with_others: Coefficient
    median_ms: float | None


@dataclass(frozen=True)
class OfItems:
    """How far votes on each item are apart, as columns, items in dispute first.

    `entropy` is that of the shares of values in bits, `spread` the standard deviation (n-1) of the votes,
    both NaN for a single vote. Sorted by what fits the scale: entropy if nominal, else spread.
    """

    item: np.ndarray
    n: np.ndarray
    entropy: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True)
class OfGroup:
    """Agreement over the items of one group, for example the answers of one system."""

    group: str
    items: int
    votes: int
    coefficients: Sequence[Coefficient]


@dataclass(frozen=True)
class Repeats:
    """What annotators said when asked again: agreement of first and later answers, share of equal ones."""

    coefficient: Coefficient
    same: float | None
    annotators: int


def overall(votes: Votes) -> list[Coefficient]:
    """The coefficients that fit the question's scale, the one to look at first.

    Nominal: Fleiss' kappa and Krippendorff's alpha. Ordinal: Krippendorff's alpha, and Fleiss' kappa as if
    near misses were as bad as any. Interval: Krippendorff's alpha and intraclass correlations: ICC(2,1) of
    one vote and ICC(2,k) of the mean of k where everybody judged everything, else the one-way forms.
    """
    return _coefficients(counted(votes))


def by_annotator(votes: Votes) -> list[OfAnnotator]:
    """Each annotator's agreement with the others, weakest first; who has none known comes last.

    Nominal: Cohen's kappa with the majority of the others, items on which they are tied left out. Ordinal:
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
        times = kept.took_ms[own][~np.isnan(kept.took_ms[own])]
        found.append(
            OfAnnotator(
                votes.annotators[number],
                len(own),
                _beside(kept.question.scale, kept.value[own], others[own]),
                float(np.median(times)) if times.size else None,
            )
        )
    return sorted(found, key=lambda one: (one.with_others.value is None, one.with_others.value or 0.0))


def by_item(votes: Votes) -> OfItems:
    """How far people are apart on each item, the most disputed first; items with one vote come last."""
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
    return OfItems(item[order], n[order].astype(np.int64), entropy[order], spread[order])


def by_group(votes: Votes, group: Sequence[str]) -> list[OfGroup]:
    """The coefficients of `overall` within each group of items.

    `group` names the group of each item, such as the system that answered; "" is none.
    """
    names = np.asarray(group, dtype=str)
    if names.shape != (votes.items,):
        raise ValueError(f"{len(names)} groups are named for {votes.items} items")
    kept = counted(votes)
    of_vote = names[kept.item]
    found = []
    for name in sorted({str(each) for each in of_vote} - {""}):
        part = kept.where(of_vote == name)
        found.append(OfGroup(name, np.unique(part.item).size, int(part.n.sum()), _coefficients(part)))
    return found


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
        coefficient = _told("Pearson's r of first and later answers", pearson(before, after))
    elif scale == "ordinal":
        kappa = cohen_kappa(before, after, weights="quadratic")
        coefficient = _told("Cohen's kappa of first and later answers, quadratic weights", kappa)
    else:
        coefficient = _told("Cohen's kappa of first and later answers", cohen_kappa(before, after))
    same = float((before == after).mean()) if later.size else None
    return Repeats(coefficient, same, np.unique(who[later]).size)


def counted(votes: Votes) -> Votes:
    """The votes that agreement is measured on: no control items, and everybody's first on each item."""
    kept = votes.where(~votes.control & ~np.isnan(votes.value))
    order = np.lexsort((kept.repetition, kept.item, kept.annotator))
    who, item = kept.annotator[order], kept.item[order]
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (who[1:] == who[:-1]) & (item[1:] == item[:-1]) & (who[1:] >= 0)
    keep = np.ones(len(order), dtype=np.bool_)
    keep[order[again]] = False
    return kept.where(keep)


def _coefficients(kept: Votes) -> list[Coefficient]:
    scale = kept.question.scale
    if scale == "nominal":
        alpha = krippendorff_alpha(kept.item, kept.value, n=kept.n)
        fleiss = fleiss_kappa(kept.item, kept.value, n=kept.n)
        return [_told("Fleiss' kappa", fleiss), _told("Krippendorff's alpha (nominal)", alpha)]
    if scale == "ordinal":
        alpha = krippendorff_alpha(kept.item, kept.value, n=kept.n, scale="ordinal")
        fleiss = fleiss_kappa(kept.item, kept.value, n=kept.n)
        return [_told("Krippendorff's alpha (ordinal)", alpha), _told("Fleiss' kappa", fleiss)]
    alpha = krippendorff_alpha(kept.item, kept.value, n=kept.n, scale="interval")
    return [_told("Krippendorff's alpha (interval)", alpha), *_intraclass(kept)]


def _intraclass(kept: Votes) -> list[Coefficient]:
    item, row = np.unique(kept.item, return_inverse=True)
    who, column = np.unique(kept.annotator, return_inverse=True)
    complete = item.size * who.size == kept.value.size and (who >= 0).all() and (kept.n == 1).all()
    if complete and who.size >= 2:
        table = np.empty((item.size, who.size))
        table[row, column] = kept.value
        found = icc(table)
        return [_told(form, found[form]) for form in ("ICC(2,1)", "ICC(2,k)")]
    one_way = icc_one_way(kept.item, kept.value, n=kept.n)
    return [_told(form, one) for form, one in one_way.items()]


def _beside(scale: str, own: np.ndarray, others: np.ndarray) -> Coefficient:
    if scale == "nominal":
        return _told("Cohen's kappa with the majority of the others", cohen_kappa(own, others))
    if scale == "ordinal":
        return _told("Spearman's rho with the mean of the others", spearman(own, others))
    return _told("Pearson's r with the mean of the others", pearson(own, others))


def _told(name: str, found: Agreement | Correlation) -> Coefficient:
    return Coefficient(name, found.value, found.low, found.high, found.n, found.reason)


def _rows_by(number: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """The rows of each number, in rising order of numbers."""
    order = np.argsort(number, kind="stable")
    numbers, start = np.unique(number[order], return_index=True)
    return list(zip(numbers.tolist(), np.split(order, start[1:]), strict=False))
