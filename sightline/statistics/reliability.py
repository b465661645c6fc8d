"""How reliable are ratings on a scale of numbers? Intraclass correlation in all its usual forms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate
from sightline.statistics.grouping import sum_by

Array = NDArray[np.float64]

ONE_WAY = ("ICC(1,1)", "ICC(1,k)")
NO_SPREAD = "the items' means do not differ"
FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")


def icc(table: ArrayLike, *, confidence: float = 0.95) -> Mapping[str, Estimate]:
    """The six forms of the intraclass correlation of a table of items x annotators (NaN = not judged).

    With mean squares B between items, J between annotators, E of the rest and W within items, n items and k
    annotators:
    (1,1) = (B-W) / (B+(k-1)W): every item has annotators of its own;
    (2,1) = (B-E) / (B+(k-1)E+k(J-E)/n): annotators drawn from many, whose bias counts;
    (3,1) = (B-E) / (B+(k-1)E): these very annotators, whose bias does not count.
    (1,k), (2,k) and (3,k) are those of the mean of k votes. Limits by the F distribution.
    Where a vote is missing the two-way forms have no value, and the one-way forms are those of `icc_one_way`.
    Source: Shrout and Fleiss, Intraclass correlations, Psychological Bulletin 86 (1979); McGraw and Wong,
    Forming inferences about some intraclass correlation coefficients, Psychological Methods 1 (1996).
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"a table of items x annotators is needed, not shape {values.shape}")
    # A row or column without any vote is an item or annotator that was not there.
    values = values[~np.isnan(values).all(axis=1)]
    values = values[:, ~np.isnan(values).all(axis=0)]
    row, column = np.nonzero(~np.isnan(values))
    found = dict(icc_one_way(row, values[row, column], confidence=confidence))
    n, k = values.shape
    missing = int(values.size - row.size)
    reason = found["ICC(1,1)"].reason
    if missing:
        reason = f"{missing} of {values.size} votes are missing, and this form needs all"
    elif n < 2 or k < 2:
        reason = f"{n} items and {k} annotators; two of each are needed"
    two_way = (
        {form: Estimate(None, n=n, reason=reason) for form in FORMS if form not in ONE_WAY}
        if reason
        else _two_way(values, confidence)
    )
    return {form: (found | two_way)[form] for form in FORMS}


def icc_one_way(
    items: ArrayLike, values: ArrayLike, *, n: ArrayLike | None = None, confidence: float = 0.95
) -> Mapping[str, Estimate]:
    """ICC(1,1) and ICC(1,k) of votes in columns, however many an item has; items with one are left out.

    Variance components of a one-way analysis: (B-W) / (B+(k-1)W), k = (T - sum t^2 / T) / (items - 1) for t
    votes per item and T in all; ICC(1,k) is that of the mean of k votes. Limits by F = h V / W, V the
    variance of the items' means and h the harmonic mean of t, which is exact for equal numbers of votes.
    Source: Donner, A review of inference procedures for the intraclass correlation coefficient,
    International Statistical Review 54 (1986); Thomas and Hultquist, Annals of Statistics 6 (1978).
    """
    labels, column = np.asarray(items), np.asarray(values, dtype=np.float64)
    votes = np.ones(column.shape) if n is None else np.asarray(n, dtype=np.float64)
    if column.ndim != 1 or column.shape != labels.shape or column.shape != votes.shape:
        raise ValueError("items, values and n must be columns of equal length")
    known = ~np.isnan(column) & (votes > 0)
    _, item = np.unique(labels[known], return_inverse=True)
    column, votes = column[known], votes[known]
    enough = (sum_by(item, votes) >= 2)[item]
    _, item = np.unique(item[enough], return_inverse=True)
    column, votes = column[enough], votes[enough]
    per_item = sum_by(item, votes)
    count, total = per_item.size, float(per_item.sum())
    reason = _why_undefined(count, column)
    if reason:
        return {form: Estimate(None, n=count, reason=reason) for form in ONE_WAY}
    column = (column - column.mean()) / np.ptp(column)
    means = sum_by(item, votes * column) / per_item
    centre = float((votes * column).sum()) / total
    between = float((per_item * (means - centre) ** 2).sum()) / (count - 1)
    within = float((votes * (column - means[item]) ** 2).sum()) / (total - count)
    k = (total - float((per_item**2).sum()) / total) / (count - 1)
    value = (between - within) / (between + (k - 1) * within)
    low: float | None = None
    high: float | None = None
    harmonic = count / float((1 / per_item).sum())
    # Without spread within items, or between them, the ratio is infinite or 0 and has no limits.
    if within > 1e-12 * between and between > 1e-12 * within:
        ratio = harmonic * float(means.var(ddof=1)) / within
        low, high = (
            (limit - 1) / (limit + harmonic - 1)
            for limit in _around(ratio, count - 1, total - count, confidence)
        )
        low, high = min(low, value), max(high, value)
    single = Estimate(value, low, high, count)
    return {"ICC(1,1)": single, "ICC(1,k)": _of_mean(single, k)}


def _two_way(values: Array, confidence: float) -> dict[str, Estimate]:
    n, k = values.shape
    scaled = (values - values.mean()) / np.ptp(values)
    rows, columns = scaled.mean(axis=1), scaled.mean(axis=0)
    b = k * float((rows**2).sum()) / (n - 1)
    j = n * float((columns**2).sum()) / (k - 1)
    rest = scaled - rows[:, None] - columns[None, :]
    e = float((rest**2).sum()) / ((n - 1) * (k - 1))
    below = {"ICC(2,1)": b + (k - 1) * e + k * (j - e) / n, "ICC(3,1)": b + (k - 1) * e}
    found = {}
    for form, whole in below.items():
        # The mean squares are shares of the squared range of the votes, so that 1e-12 is nothing.
        if whole <= 1e-12:
            found[form] = Estimate(None, n=n, reason=NO_SPREAD)
            continue
        value = (b - e) / whole
        low, high = None, None
        if e > 1e-12 * b and b > 1e-12 * e:
            low, high = _two_way_limits(form, b, j, e, n, k, value, confidence)
        found[form] = Estimate(value, low, high, n)
    return found | {form.replace(",1", ",k"): _of_mean(single, k) for form, single in found.items()}


def _two_way_limits(
    form: str, b: float, j: float, e: float, n: int, k: int, value: float, confidence: float
) -> tuple[float, float]:
    if form == "ICC(2,1)":
        return _absolute_limits(b, j, e, n, k, value, confidence)
    low, high = _around(b / e, n - 1, (n - 1) * (k - 1), confidence)
    return (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)


def _absolute_limits(
    b: float, j: float, e: float, n: int, k: int, value: float, confidence: float
) -> tuple[float, float]:
    """Limits of ICC(2,1) with Satterthwaite's degrees of freedom (McGraw and Wong 1996, table 7)."""
    from scipy.special import fdtri

    middle = n * (1 + (k - 1) * value) - k * value
    of_annotators = k * value * j / e
    freedom = (k - 1) * (n - 1) * (of_annotators + middle) ** 2 / ((n - 1) * of_annotators**2 + middle**2)
    tail = (1 + confidence) / 2
    above, below = float(fdtri(n - 1, freedom, tail)), float(fdtri(freedom, n - 1, tail))
    other = k * j + (k * n - k - n) * e
    return n * (b - above * e) / (above * other + n * b), n * (below * b - e) / (other + n * below * b)


def _around(ratio: float, first: float, second: float, confidence: float) -> tuple[float, float]:
    """Limits of a ratio of true mean squares from the one observed: F / F(tail) and F F(tail) reversed."""
    from scipy.special import fdtri

    tail = (1 + confidence) / 2
    return ratio / float(fdtri(first, second, tail)), ratio * float(fdtri(second, first, tail))


def _of_mean(single: Estimate, k: float) -> Estimate:
    """Reliability of the mean of k votes from that of one: k r / (1 + (k-1) r) (Spearman-Brown)."""

    def stepped_up(r: float | None) -> float | None:
        return None if r is None or 1 + (k - 1) * r <= 1e-9 else k * r / (1 + (k - 1) * r)

    value = stepped_up(single.value)
    if value is None:
        return Estimate(None, n=single.n, reason=single.reason or NO_SPREAD)
    low, high = stepped_up(single.low), stepped_up(single.high)
    return (
        Estimate(value, n=single.n) if low is None or high is None else Estimate(value, low, high, single.n)
    )


def _why_undefined(items: int, values: Array) -> str | None:
    if items == 0:
        return "no item has two votes"
    if items == 1:
        return "only one item has two votes"
    if np.ptp(values) <= 1e-13 * np.abs(values).max():
        return "all votes are equal"
    return None
