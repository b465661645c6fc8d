"""Are predictions better than chance: than a random order, and than always predicting the mean?

Both tests are one-sided and analytic: no seed, and no lower limit of p from a number of permutations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.correlation import midranks
from sightline.statistics.grouping import Indices
from sightline.statistics.leave_one_out import blocks, jackknife_error, rows_by_fold

TWICE = 2.0
"""By how much predictions of several models vary more than their folds by themselves: see `within_folds`."""


def better_ranks(predicted: ArrayLike, truth: ArrayLike, fold: Indices | None = None) -> float:
    """p of a sum of rank errors this low, or lower, if the predictions were in random order.

    The sum is normal for many prompts, with the mean and variance of `rank_error_moments`. Without ties it
    moves in steps of 2; half a step is added, which keeps p valid for few prompts. With folds, ranks are
    those within each, sums, means and variances add up, and the variance counts TWICE.
    Source: Hoeffding, A combinatorial central limit theorem, Annals of Mathematical Statistics 22 (1951).
    """
    from scipy.special import ndtr

    a, b = (np.asarray(column, dtype=np.float64) for column in (predicted, truth))
    parts = rows_by_fold(np.zeros(a.size, dtype=np.int64) if fold is None else fold)
    several = [part for part in parts if part.size > 1]
    mean, variance = np.sum([rank_error_moments(a[rows], b[rows]) for rows in several] or [(0, 0)], axis=0)
    # All orders of a constant column are the same: none is better than another.
    if variance <= 1e-9 * (mean + 1):
        return 1.0
    off = sum(float(np.abs(midranks(a[rows]) - midranks(b[rows])).sum()) for rows in several)
    dependent = TWICE if len(parts) > 1 else 1.0
    return float(ndtr((off + 1 - mean) / np.sqrt(dependent * variance)))


def rank_error_moments(predicted: ArrayLike, truth: ArrayLike) -> tuple[float, float]:
    """Mean and variance of sum |rank - rank| over all n! orders of the predictions, with mid-ranks for ties.

    With c_ij = |rank of prediction i - rank of truth j|, the mean is sum c / n, and the variance sum d^2 /
    (n - 1), d being c minus the means of its row and column plus the grand mean. Without ties they are
    (n^2 - 1) / 3 and (n + 1)(2 n^2 + 7) / 45.
    Source: Hoeffding (1951); Diaconis and Graham, Spearman's footrule as a measure of disarray (1977).
    """
    a, b = (midranks(np.asarray(column, dtype=np.float64)) for column in (predicted, truth))
    n = a.size
    squares, of_row, of_column = 0.0, np.empty(n), np.zeros(n)
    for rows in blocks(n):
        off = np.abs(a[rows, None] - b)
        of_row[rows] = off.mean(axis=1)
        of_column += off.sum(axis=0) / n
        squares += float((off**2).sum())
    grand = float(of_row.mean())
    # sum d^2 = sum c^2 - n sum row^2 - n sum column^2 + n^2 grand^2.
    spread = squares - n * float(of_row @ of_row + of_column @ of_column) + (n * grand) ** 2
    return n * grand, max(spread, 0.0) / (n - 1)


def better_than_mean(predicted: ArrayLike, truth: ArrayLike) -> float:
    """p of a squared error this far below that of always predicting the mean truth, if it were no lower.

    f = mean (prediction - truth)^2 - variance of the truth; t = f / s with n-1 degrees of freedom, s from the
    jackknife of f over prompts, so that both errors are of the same prompts. The mean is that of the
    evaluated prompts themselves, which is unknown beforehand: the stronger baseline.
    """
    from scipy.special import stdtr

    a, b = (np.asarray(column, dtype=np.float64) for column in (predicted, truth))
    n = a.size
    error, off = (a - b) ** 2, (b - b.mean()) ** 2
    less = float(error.mean() - off.mean())
    # Without a prompt, a sum of squares about the mean is smaller by n/(n-1) of its own square.
    without = (error.sum() - error - (off.sum() - n / (n - 1) * off)) / (n - 1)
    spread = jackknife_error(without)
    # Rounding in sums of equal columns is no spread.
    if spread <= 1e-12 * float(error.mean() + off.mean()):
        return 0.0 if less < -1e-12 * float(off.mean()) else 1.0
    return float(stdtr(n - 1, less / spread))
