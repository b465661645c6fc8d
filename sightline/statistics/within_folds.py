"""How strongly two columns go together within folds, each pair of prompts compared by one and the same model.

Predictions out of fold come from several models, and each knows the truth of all prompts but its own fold's:
a fold that happens to be hard is expected to be easy. Over all folds together even a constant prediction
therefore correlates with the truth, negatively, and so does noise. Within a fold one model predicts all
prompts and saw none of them: there noise correlates with nothing, whatever the size of a fold. With one fold
the coefficients are those of `correlation`.

The folds are not independent evidence: a prompt is predicted, and it also taught the models that predict the
others. Of predictions that are linear in the truth they learned from, such as ridge regression, the
covariance with the truth is sum y_i K_ij y_j over prompts i and j of different folds; each pair counts twice,
and where nothing can be learned its variance is `TWICE` what the folds by themselves show. The same holds
about right where something can be learned: Nadeau and Bengio, Inference for the generalization error, Machine
Learning 52 (2003), come to 2.25 for five folds.
"""

from __future__ import annotations

import numpy as np

from sightline.statistics import correlation
from sightline.statistics.chance import TWICE, better_ranks
from sightline.statistics.correlation import EstimateWithTest, midranks
from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.leave_one_out import agreeing_pairs, centred_ranks, rows_by_fold, unit_product

LEAST_FREE = 2
"""Degrees of freedom within folds that a correlation needs: prompts minus folds, minus one."""


def pearson(a: Array, b: Array, fold: Indices) -> EstimateWithTest:
    """The mean of Pearson's r in each fold, weighted by the spread of b there: sum |b_f| r_f / sum |b_f|.

    |b_f| is the root of the sum of squares of a fold's deviations from its mean. Deviations of all folds
    thrown together would count a model the more, the more it varies, and noise would not be 0 on average. A
    fold in which a is constant has an r of 0. p by the normal approximation in random order within folds,
    where sum |b_f| r_f has a variance of TWICE the sum of |b_f|^2 / (n_f - 1).
    """
    from scipy.special import ndtr

    if fold.min() == fold.max():
        return correlation.pearson(a, b)
    u, v = centred(a, fold), centred(b, fold)
    reason = _why_undefined(u, v, a, b, fold)
    if reason:
        return EstimateWithTest(None, n=a.size, reason=reason)
    u, v = u / np.abs(u).max(), v / np.abs(v).max()
    above, below, variance = 0.0, 0.0, 0.0
    for rows in rows_by_fold(fold):
        if rows.size > 1:
            spread = float(np.linalg.norm(v[rows]))
            above += spread * unit_product(u[rows], v[rows])
            below += spread
            variance += spread**2 / (rows.size - 1)
    p = float(2 * ndtr(-abs(above) / np.sqrt(TWICE * variance)))
    return EstimateWithTest(float(np.clip(above / below, -1, 1)), n=a.size, p=p)


def spearman(a: Array, b: Array, fold: Indices) -> EstimateWithTest:
    """Spearman's rho: Pearson's r of the mid-ranks within each fold, divided by the fold's size.

    p by the normal approximation of the sum of products in random order within folds, whose variance is TWICE
    the sum over folds of (sum of squares of a)(sum of squares of b) / (n - 1).
    """
    from scipy.special import ndtr

    if fold.min() == fold.max():
        return correlation.spearman(a, b)
    reason = _why_undefined(centred(a, fold), centred(b, fold), a, b, fold)
    if reason:
        return EstimateWithTest(None, n=a.size, reason=reason)
    both, of_a, of_b, variance = 0.0, 0.0, 0.0, 0.0
    for rows in rows_by_fold(fold):
        x, y = centred_ranks(a[rows]), centred_ranks(b[rows])
        both, of_a, of_b = both + float(x @ y), of_a + float(x @ x), of_b + float(y @ y)
        variance += float(x @ x) * float(y @ y) / max(1, rows.size - 1)
    p = 1.0 if variance <= 0 else float(2 * ndtr(-abs(both) / np.sqrt(TWICE * variance)))
    return EstimateWithTest(float(np.clip(both / np.sqrt(of_a * of_b), -1, 1)), n=a.size, p=p)


def kendall(a: Array, b: Array, fold: Indices) -> EstimateWithTest:
    """Kendall's tau-b over the pairs of prompts within a fold.

    (concordant - discordant) / sqrt((pairs - ties in a)(pairs - ties in b)), every sum over all folds; p by
    the normal approximation with TWICE the sum of the folds' variances, corrected for ties.
    Source: M. G. Kendall, Rank correlation methods (1970), chapter 4.
    """
    from scipy.special import ndtr

    if fold.min() == fold.max():
        return correlation.kendall(a, b)
    reason = _why_undefined(centred(a, fold), centred(b, fold), a, b, fold)
    if reason:
        return EstimateWithTest(None, n=a.size, reason=reason)
    agree, untied_a, untied_b, variance = 0.0, 0.0, 0.0, 0.0
    for rows in rows_by_fold(fold):
        own, ties_a, ties_b = agreeing_pairs(a[rows], b[rows])
        pairs = rows.size * (rows.size - 1) / 2
        agree += float(own.sum()) / 2
        untied_a += pairs - float(ties_a.sum()) / 2
        untied_b += pairs - float(ties_b.sum()) / 2
        variance += _variance(a[rows], b[rows])
    tau = float(np.clip(agree / np.sqrt(untied_a * untied_b), -1, 1))
    p = 1.0 if variance <= 0 else float(2 * ndtr(-abs(agree) / np.sqrt(TWICE * variance)))
    return EstimateWithTest(tau, n=a.size, p=p)


def smare(a: Array, b: Array, fold: Indices) -> EstimateWithTest:
    """Mean of the scaled rank errors within folds, and p of being no better than a random order."""
    off = np.empty(a.size)
    for rows in rows_by_fold(fold):
        off[rows] = np.abs(midranks(a[rows]) - midranks(b[rows])) / rows.size
    return EstimateWithTest(float(off.mean()), n=a.size, p=better_ranks(a, b, fold))


def centred(values: Array, fold: Indices) -> Array:
    """Deviations from the mean of each fold."""
    _, place, often = np.unique(fold, return_inverse=True, return_counts=True)
    return np.asarray(values - (sum_by(place, values) / often)[place], dtype=np.float64)


def _why_undefined(u: Array, v: Array, a: Array, b: Array, fold: Indices) -> str | None:
    if _free(fold) < LEAST_FREE:
        return f"{a.size} prompts in {np.unique(fold).size} folds; a correlation within folds needs more"
    # Deviations of equal values are rounding, not variation.
    flat = [bool(np.abs(own).max() <= 1e-13 * np.abs(of).max()) for own, of in ((u, a), (v, b))]
    if all(flat):
        return "both columns are constant within folds"
    if any(flat):
        return f"the {'first' if flat[0] else 'second'} column is constant within folds"
    return None


def _free(fold: Indices) -> int:
    return int(fold.size - np.unique(fold).size - 1)


def _variance(a: Array, b: Array) -> float:
    """Of concordant minus discordant pairs in random order."""
    n = a.size
    if n < 2:
        return 0.0
    tied = [np.unique(column, return_counts=True)[1].astype(np.float64) for column in (a, b)]
    pairs, triples, weighted = (
        [float(np.sum(of(t))) for t in tied]
        for of in (
            lambda t: t * (t - 1),
            lambda t: t * (t - 1) * (t - 2),
            lambda t: t * (t - 1) * (2 * t + 5),
        )
    )
    whole = n * (n - 1)
    found = (whole * (2 * n + 5) - sum(weighted)) / 18 + pairs[0] * pairs[1] / (2 * whole)
    if n > 2:
        found += triples[0] * triples[1] / (9 * whole * (n - 2))
    return float(found)
