"""Labels: the most probable one of each item, given how annotators confuse them (Dawid and Skene).

Votes are columns, as in `votes.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.votes import Cast, cast_votes, who_cast

# Smallest proportion: the logarithm of 0 would overrule everything else.
LEAST = 1e-10
# Weights of the prior, in votes, that are tried.
WEIGHTS = 2.0 ** np.arange(13)
# Iterations that choose weights; later ones keep them, since choosing from a grid need not converge.
CHOOSING = 50


@dataclass(frozen=True)
class DawidSkene:
    """How probable each label is: `probability[item, label]`, NaN for items without votes.

    `prevalence` is that of each label, `confusion[annotator, true, given]` the probability that an annotator
    gives one label where another is true; the last entry is that of all anonymous votes together.
    """

    labels: Array
    probability: Array
    prevalence: Array
    confusion: Array
    n: Indices
    rounds: int
    converged: bool


def dawid_skene(
    item: ArrayLike,
    annotator: ArrayLike,
    value: ArrayLike,
    *,
    n: ArrayLike | None = None,
    items: int | None = None,
    annotators: int | None = None,
    labels: ArrayLike | None = None,
    smoothing: float | None = None,
    tolerance: float = 1e-7,
    most_rounds: int = 2000,
) -> DawidSkene:
    """Probabilities of labels by expectation-maximisation with one confusion matrix per annotator.

    Start: the proportions of votes. Then in turn confusion[who, k, l] = proportion of l among the votes of
    `who` on items that are k, prevalence[k] = mean probability of k, and probability[item, k] proportional to
    prevalence[k] x product of confusion[who, k, l] over the item's votes.
    That is the original; where annotators cast few votes it overfits and does worse than counting. Hence each
    estimate is shrunk towards a simpler one, as by a prior worth some votes: an annotator's matrix towards
    that of all annotators together, this towards one with the same accuracy for every label and errors spread
    evenly, and the prevalences towards equal ones. The weight of each prior maximises the probability of the
    (expected) votes under a Dirichlet-multinomial, 1 to 4096 in powers of two: for similar annotators the
    result is that of counting. `smoothing` sets all three weights; 0 is the original.
    Source: Dawid and Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28 (1979); the smoothing is ours.
    """
    votes = cast_votes(item, value, n, items)
    who, people = who_cast(votes, annotator, np.shape(value), annotators)
    known = np.unique(votes.value) if labels is None else np.unique(np.asarray(labels, dtype=np.float64))
    given = np.searchsorted(known, votes.value)
    if not np.isin(votes.value, known).all():
        raise ValueError("a vote is none of the labels")
    size = known.size
    some = votes.n > 0
    probability = sum_by(votes.item * size + given, votes.weight, votes.items * size)
    probability = probability.reshape(votes.items, size) / np.maximum(votes.n, 1)[:, None]
    prevalence, confusion = np.zeros(size), np.zeros((people + 1, size, size))
    weights = np.full(3, np.nan if smoothing is None else smoothing)
    rounds, converged = 0, not some.any()
    while not converged and rounds < most_rounds:
        rounds += 1
        counts = _counts(votes, who, given, probability, people)
        choose = smoothing is None and rounds <= CHOOSING
        prevalence, confusion = _estimates(probability[some].sum(axis=0), counts, weights, choose)
        updated = _posterior(votes, who, given, prevalence, confusion)
        converged = bool(np.abs(updated - probability)[some].max() < tolerance)
        probability = updated
    probability = np.where(some[:, None], probability, np.nan)
    return DawidSkene(known, probability, prevalence, confusion, votes.counted, rounds, converged)


def _counts(votes: Cast, who: Indices, given: Indices, probability: Array, people: int) -> Array:
    """Expected votes of each annotator for each label where each is true."""
    size = probability.shape[1]
    counts = np.empty((people + 1, size, size))
    for true in range(size):
        weight = votes.weight * probability[votes.item, true]
        counts[:, true] = sum_by(who * size + given, weight, (people + 1) * size).reshape(people + 1, size)
    return counts


def _estimates(true: Array, counts: Array, weights: Array, choose: bool) -> tuple[Array, Array]:
    """Prevalences and confusion matrices; with `choose`, chooses the priors' weights in place."""
    even = np.full(true.size, 1 / true.size)
    together = counts.sum(axis=0)
    plain = _symmetric(together)
    if choose:
        weights[0] = _weight(true[None], even)
        weights[1] = _weight(together, plain)
    common = _proportions(together + weights[1] * plain)
    if choose:
        weights[2] = _weight(counts, common)
    return _proportions(true + weights[0] * even), _proportions(counts + weights[2] * common)


def _symmetric(counts: Array) -> Array:
    """A confusion matrix with the accuracy of `counts` for all labels, errors spread evenly."""
    size = counts.shape[0]
    if size == 1:
        return np.ones((1, 1))
    # Half a vote per label, right and wrong, keeps the accuracy from being 0 or 1.
    right = (np.trace(counts) + size / 2) / (counts.sum() + size)
    matrix = np.full((size, size), (1 - right) / (size - 1))
    np.fill_diagonal(matrix, right)
    return matrix


def _weight(counts: Array, mean: Array) -> float:
    """The weight of `mean`, in votes, that makes `counts`, rows of votes, most probable."""
    from scipy.special import gammaln

    fits = np.array(
        [
            (gammaln(counts + weight * mean) - gammaln(weight * mean)).sum()
            + (gammaln(weight) - gammaln(counts.sum(axis=-1) + weight)).sum()
            for weight in WEIGHTS
        ]
    )
    # The smallest that equals the best within rounding, so the order of votes has no influence.
    return float(WEIGHTS[np.argmax(fits >= fits.max() - 1e-6)])


def _proportions(counts: Array) -> Array:
    some = np.maximum(counts, LEAST)
    return np.asarray(some / some.sum(axis=-1, keepdims=True), dtype=np.float64)


def _posterior(votes: Cast, who: Indices, given: Indices, prevalence: Array, confusion: Array) -> Array:
    cast = np.log(confusion)[who, :, given] * votes.weight[:, None]
    log = np.stack([sum_by(votes.item, column, votes.items) for column in cast.T], axis=1)
    log += np.log(prevalence)
    log -= log.max(axis=1, keepdims=True)
    odds = np.exp(log)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float64)
