"""Do annotators agree beyond chance? Cohen's and Fleiss' kappa, Krippendorff's alpha.

n counts the items judged at least twice. There is no interval where the judgements do not show how sure a
coefficient is: a perfect agreement, for example, has no spread to estimate an error from. Of two labels the
rarer must have been given to ten items or more (Cohen's kappa: 15): with fewer, intervals cover as little as
.23 in simulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate
from sightline.statistics.agreement_intervals import alpha_bootstrap, jackknife_interval, kappa_interval
from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


LEAST_RARE = 10
"""So many items must have the rarer of two labels for an interval."""
LEAST_RARE_OF_TWO = 15
"""The same for Cohen's kappa, whose error holds for large samples."""

# Resamples behind the interval of alpha by default, and the seed they are drawn with.
RESAMPLES = 1000
SEED = 0


def cohen_kappa(
    a: ArrayLike,
    b: ArrayLike,
    *,
    weights: Literal["linear", "quadratic"] | None = None,
    scale: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two annotators over the items that both judged (NaN = not judged).

    1 - sum(w O) / sum(w E), w = 1 off the diagonal, |i-j| or (i-j)^2 between the i-th and j-th value of the
    scale; the scale is the set of values seen unless given. Limits by the asymptotic standard error; where
    several items belong to one `unit`, such as the answers to a prompt, by the jackknife over units.
    Source: J. Cohen, Educational and Psychological Measurement 20 (1960); Psychological Bulletin 70 (1968);
    Fleiss, Cohen and Everitt, Psychological Bulletin 72 (1969).
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"two columns of equal length are needed, not {first.shape} and {second.shape}")
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    if first.size == 0:
        return Estimate(None, n=0, reason="no item was judged by both")
    of = None if unit is None else np.unique(np.asarray(unit)[both], return_inverse=True)[1].reshape(-1)
    seen = np.unique(np.concatenate([first, second]))
    values = seen if scale is None else np.unique(np.asarray(scale, dtype=np.float64))
    if not np.isin(seen, values).all():
        raise ValueError(f"values outside the scale: {seen[~np.isin(seen, values)].tolist()}")
    size = values.size
    cell = np.searchsorted(values, first) * size + np.searchsorted(values, second)
    observed = np.bincount(cell, minlength=size * size).reshape(size, size)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / first.size
    weight = _disagreement(size, weights)
    chance = float((weight * expected).sum())
    if chance == 0:
        return Estimate(None, n=first.size, reason="both gave one and the same value to every item")
    value = 1 - float((weight * observed).sum()) / chance
    if seen.size == 2:
        given = [(first == each) | (second == each) for each in seen]
        rare = min(int(each.sum() if of is None else np.unique(of[each]).size) for each in given)
        if rare < LEAST_RARE_OF_TWO:
            return _too_rare(value, rare, first.size, LEAST_RARE_OF_TWO)
    if of is not None and int(of.max()) + 1 < first.size:
        low, high = jackknife_interval(value, _cohen_without_each(cell, of, weight), confidence)
    else:
        low, high = kappa_interval(observed.astype(np.float64), weight, confidence)
    return Estimate(value, low, high, first.size)


def _cohen_without_each(cell: Indices, unit: Indices, weight: Array) -> Array:
    """Cohen's kappa without each unit in turn; NaN where all others have one and the same value."""
    size = weight.shape[0]
    counts = np.bincount(unit * size**2 + cell, minlength=(int(unit.max()) + 1) * size**2)
    of_unit = counts.reshape(-1, size, size).astype(np.float64)
    rest = of_unit.sum(axis=0) - of_unit
    expected = np.einsum("ui,uj->uij", rest.sum(axis=2), rest.sum(axis=1))
    chance = (weight * expected).sum(axis=(1, 2)) / rest.sum(axis=(1, 2))
    off = (weight * rest).sum(axis=(1, 2))
    return 1 - np.divide(off, chance, out=np.full(chance.size, np.nan), where=chance > 0)


def fleiss_kappa(
    items: ArrayLike, values: ArrayLike, *, n: ArrayLike | None = None, confidence: float = 0.95
) -> Estimate:
    """Fleiss' kappa of votes in columns: item, category, and how many such votes (1 each unless given).

    (P - Pe) / (1 - Pe), P the mean over items of the proportion of agreeing pairs of votes, Pe the sum of
    squared proportions of categories. Items may have different numbers of votes; those with one are ignored.
    Limits by the jackknife over items, kappa +- t(items-1) SE: the published error holds for equal numbers of
    votes only.
    Source: J. L. Fleiss, Psychological Bulletin 76 (1971); B. Efron, The jackknife, the bootstrap and other
    resampling plans (1982), chapter 3.
    """
    table = _count(items, values, n)
    if table is None:
        return Estimate(None, n=0, reason="no item has two votes")
    same = _per_item(table, table.votes * (table.votes - 1)) / (table.per_item * (table.per_item - 1))
    shares = sum_by(table.value, table.votes) / table.votes.sum()
    chance = float((shares**2).sum())
    if table.scale.size == 1:
        return Estimate(None, n=table.per_item.size, reason="all votes are equal")
    value = (float(same.mean()) - chance) / (1 - chance)
    if table.rare < LEAST_RARE:
        return _too_rare(value, table.rare, table.per_item.size)
    low, high = jackknife_interval(value, _fleiss_without_each(table, same), confidence)
    return Estimate(value, low, high, table.per_item.size)


def fleiss_by_annotator(
    items: ArrayLike, annotators: ArrayLike, values: ArrayLike, *, confidence: float = 0.95
) -> tuple[dict[int, Estimate], Estimate]:
    """Fleiss' kappa of each annotator, by number, and the mean of these.

    An annotator's is that of all votes on the items which they judged and somebody else did too. Limits of
    the mean by the jackknife over items: without an item every kappa changes to which it belongs, and the
    annotators, who share items, need not be independent of each other.
    """
    who, item = np.asarray(annotators), np.unique(np.asarray(items), return_inverse=True)[1].reshape(-1)
    value = np.asarray(values, dtype=np.float64)
    found: dict[int, Estimate] = {}
    total = int(item.max(initial=-1)) + 1
    without, known = np.zeros(total), []
    for number in np.unique(who[who >= 0]).tolist():
        own = np.isin(item, item[who == number])
        found[number] = fleiss_kappa(item[own], value[own], confidence=confidence)
        kappa = found[number].value
        table = _count(item[own], value[own], None)
        if kappa is None or table is None:
            continue
        known.append(kappa)
        same = _per_item(table, table.votes * (table.votes - 1)) / (table.per_item * (table.per_item - 1))
        several = np.unique(item[own])[np.bincount(np.unique(item[own], return_inverse=True)[1]) > 1]
        change = np.zeros(total)
        change[several] = _fleiss_without_each(table, same) - kappa
        without += change
    judged = np.flatnonzero(np.bincount(item, minlength=total) > 1)
    if not known:
        return found, Estimate(None, n=0, reason="no annotator has a kappa")
    mean = float(np.mean(known))
    if any(each.value is not None and each.low is None and each.reason for each in found.values()):
        return found, Estimate(
            mean, n=len(known), reason="no interval: one label is too rare for some annotators"
        )
    low, high = jackknife_interval(mean, mean + without[judged] / len(known), confidence)
    return found, Estimate(mean, low, high, len(known))


def krippendorff_alpha(
    items: ArrayLike,
    values: ArrayLike,
    *,
    n: ArrayLike | None = None,
    scale: Literal["nominal", "ordinal", "interval"] = "nominal",
    sides: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha of votes in columns: item, value, and how many such votes (1 each unless given).

    1 - Do / De with Do = sum over items of the squared differences of its pairs / (votes of the item - 1),
    De the same over all votes at once. A missing vote is a missing row; items with one vote are left out.
    Nominal differences are 0 or 1; ordinal ones are interval ones of mid-ranks, which equals the published
    sum of category counts between two values; so no coincidence matrix is built. Limits by the bootstrap over
    items, `resamples` times with `seed`; 0 resamples give none. With `sides`, values are choices between two
    sides, 0 to 1, and either might have come first: every item counts both ways round, so that alpha does not
    depend on which did.
    Source: K. Krippendorff, Content analysis, 3rd edition (2013), chapter 12.
    """
    if sides:
        number = 2 * np.unique(np.asarray(items), return_inverse=True)[1].reshape(-1)
        given = np.asarray(values, dtype=np.float64)
        items, values = np.append(number, number + 1), np.append(given, 1 - given)
        n = None if n is None else np.tile(np.asarray(n), 2)
    table = _count(items, values, n)
    if table is None:
        return Estimate(None, n=0, reason="no item has two votes")
    if table.scale.size == 1:
        return Estimate(None, n=table.per_item.size, reason="all votes are equal")
    ways = 2 if sides else 1
    total = table.votes.sum()
    of_value = sum_by(table.value, table.votes)
    if scale == "nominal":
        differing = table.per_item**2 - _per_item(table, table.votes**2)
        overall = total**2 - (of_value**2).sum()
    else:
        place = table.scale if scale == "interval" else np.cumsum(of_value) - of_value / 2
        # Centring keeps the difference of two large sums precise.
        place = place - (of_value * place).sum() / total
        at = place[table.value]
        sums, squares = _per_item(table, table.votes * at), _per_item(table, table.votes * at**2)
        differing = table.per_item * squares - sums**2
        overall = total * (of_value * place**2).sum() - (of_value * place).sum() ** 2
    value = float(1 - (differing / (table.per_item - 1)).sum() * (total - 1) / overall)
    if table.rare < LEAST_RARE:
        return _too_rare(value, table.rare, table.per_item.size // ways)
    low, high = alpha_bootstrap(
        table.item, table.value, table.votes, table.scale, scale, value, resamples, seed, confidence,
        ways=ways,
    )  # fmt: skip
    return Estimate(value, low, high, table.per_item.size // ways)


def alpha_by_annotator(
    items: ArrayLike,
    annotators: ArrayLike,
    values: ArrayLike,
    *,
    scale: Literal["nominal", "ordinal", "interval"] = "nominal",
    sides: bool = False,
    confidence: float = 0.95,
) -> dict[int, Estimate]:
    """Krippendorff's alpha of each annotator with the others: 1 - D / De, by the annotator's number.

    D is the mean, over the items that the annotator shares with somebody, of the squared differences between
    the annotator's vote and the others'; De is that of krippendorff_alpha, over all votes on items with two
    or more. Two annotators who judged the same items have the alpha of both. `scale` and `sides` as there;
    limits by Student's t over items, De taken as known; none where no item differs from another.
    """
    number, who = np.unique(np.asarray(items), return_inverse=True)[1], np.asarray(annotators)
    value = np.asarray(values, dtype=np.float64)
    votes = np.bincount(number)[number]
    number, who, value = number[votes > 1], who[votes > 1], value[votes > 1]
    pool = np.append(value, 1 - value) if sides else value
    place, expected = _places(pool, scale)
    if expected == 0:
        reason = "all votes are equal" if value.size else "no item has two votes"
        known = [int(each) for each in np.unique(np.asarray(annotators))]
        return {each: Estimate(None, n=int((who == each).sum()), reason=reason) for each in known}
    apart = _apart_from_others(number, place[: value.size], scale)
    return {
        int(each): _alpha_of_one(number[who == each], apart[who == each] / expected, confidence)
        for each in np.unique(np.asarray(annotators))
    }


def _places(values: Array, scale: str) -> tuple[Array, float]:
    """Where votes lie on the scale that differences are taken on, and the mean squared difference of two."""
    labels, code, often = np.unique(values, return_inverse=True, return_counts=True)
    total = values.size
    if labels.size < 2:
        return values, 0.0
    if scale == "nominal":
        return code.astype(np.float64), float((total**2 - (often**2).sum()) / (total * (total - 1)))
    at = labels if scale == "interval" else np.cumsum(often) - often / 2
    place = at[code] - at[code].mean()
    return place, float(2 * (place**2).sum() / (total - 1))


def _apart_from_others(item: Indices, place: Array, scale: str) -> Array:
    """The mean squared difference of each vote from the other votes on its item."""
    others = np.bincount(item)[item] - 1
    if scale == "nominal":
        cell = np.unique(item * (place.max() + 1) + place, return_inverse=True)[1]
        return np.asarray(1 - (np.bincount(cell)[cell] - 1) / others)
    sums, squares = sum_by(item, place)[item] - place, sum_by(item, place**2)[item] - place**2
    return np.asarray((others * place**2 - 2 * place * sums + squares) / others)


def _alpha_of_one(item: Indices, ratio: Array, confidence: float) -> Estimate:
    from scipy.special import stdtrit

    if not item.size:
        return Estimate(None, n=0, reason="no item was judged by others too")
    # Of several votes on one item the mean counts: they are not several items.
    _, place, often = np.unique(item, return_inverse=True, return_counts=True)
    each = sum_by(place, ratio) / often
    value = float(1 - each.mean())
    if each.size < 2 or each.std() == 0:
        return Estimate(value, n=each.size, reason="no interval: every item differs by as much")
    half = float(stdtrit(each.size - 1, (1 + confidence) / 2) * each.std(ddof=1) / np.sqrt(each.size))
    return Estimate(value, value - half, min(1.0, value + half), each.size)


def _too_rare(value: float, rare: int, n: int, wanted: int = LEAST_RARE) -> Estimate:
    items = "1 item has" if rare == 1 else f"{rare} items have"
    return Estimate(value, n=n, reason=f"{items} the rarer of the two labels; an interval needs {wanted}")


def _fleiss_without_each(table: _Counts, same: Array) -> Array:
    """Fleiss' kappa without each item in turn, NaN where the rest are all of one value."""
    items, total = table.per_item.size, table.votes.sum()
    of_value = sum_by(table.value, table.votes)
    if items == 1:
        return np.array([np.nan])
    # The squares of (all - own) counts, from those of all: only an item's own cells change them.
    change = _per_item(table, table.votes**2 - 2 * table.votes * of_value[table.value])
    chance = ((of_value**2).sum() + change) / (total - table.per_item) ** 2
    agreeing = (same.sum() - same) / (items - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (agreeing - chance) / (1 - chance)
    return np.where(chance < 1 - 1e-12, without, np.nan)


@dataclass(frozen=True)
class _Counts:
    """Votes by (item, value) for items with two votes or more, both renumbered from 0."""

    item: Indices
    value: Indices
    votes: Array
    per_item: Array
    scale: Array

    @property
    def rare(self) -> int:
        """Items with a vote for the rarer of two values; enough where there are more values."""
        return int(np.bincount(self.value).min()) if self.scale.size == 2 else LEAST_RARE


def _count(items: ArrayLike, values: ArrayLike, n: ArrayLike | None) -> _Counts | None:
    column = np.asarray(values, dtype=np.float64)
    labels = np.asarray(items)
    votes = np.ones(column.shape) if n is None else np.asarray(n, dtype=np.float64)
    if column.ndim != 1 or column.shape != labels.shape or column.shape != votes.shape:
        raise ValueError("items, values and n must be columns of equal length")
    known = ~np.isnan(column) & (votes > 0)
    if not known.any():
        return None
    _, item = np.unique(labels[known], return_inverse=True)
    enough = (sum_by(item, votes[known]) >= 2)[item]
    if not enough.any():
        return None
    _, item = np.unique(item[enough], return_inverse=True)
    scale, value = np.unique(column[known][enough], return_inverse=True)
    cells, cell = np.unique(item * scale.size + value, return_inverse=True)
    counted = sum_by(cell, votes[known][enough])
    of_item = cells // scale.size
    return _Counts(of_item, cells % scale.size, counted, sum_by(of_item, counted), scale)


def _per_item(table: _Counts, what: Array) -> Array:
    return sum_by(table.item, what)


def _disagreement(size: int, weights: str | None) -> Array:
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    if weights is None:
        return (apart > 0).astype(np.float64)
    if weights == "linear":
        return apart
    if weights == "quadratic":
        return apart**2
    raise ValueError(f"weights {weights!r} is none of linear, quadratic")
