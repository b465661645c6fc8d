"""Labels: which one an item most probably bears, given that annotators mistake some for others.

Votes are columns, as in `votes.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import sum_by
from sightline.statistics.votes import Array, Cast, Indices, cast_votes, who_cast

# No count of votes is taken for exactly none: its logarithm would overrule everything else.
LEAST = 1e-10
# How many votes the prior may weigh, where the votes themselves decide it.
WEIGHTS = 2.0 ** np.arange(13)
# Later rounds keep the weights found, since choosing between steps of a ladder need not come to rest.
CHOOSING = 50


@dataclass(frozen=True)
class DawidSkene:
    """How probable each label is: `probability[item, label]`, NaN for items without votes.

    `share[label]` is how common it is, `confusion[who, true, said]` how often an annotator says one label
    where another is true; the last place stands for all anonymous votes together.
    """

    labels: Array
    probability: Array
    share: Array
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
    """Probabilities of labels by expectation-maximisation over one confusion matrix an annotator.

    Start: the shares of the votes. Then in turn confusion[who, k, l] = share of l among the votes of `who`
    on items that are k, share[k] = mean probability of k, and probability[item, k] proportional to share[k]
    x product of confusion[who, k, l] over the item's votes.
    So far the original; where annotators cast few votes it takes chance for skill, and does worse than
    counting. Hence each estimate is drawn to a plainer one, as if that had cast votes of its own: an
    annotator's rows to those of all together, these to a matrix in which every label is got right equally
    often and errors are spread evenly, and the shares to equal ones. How many votes each weighs is what
    makes the (expected) votes most probable under a Dirichlet-multinomial, 1 to 4096 in powers of two: alike
    annotators become alike, and the result that of counting. `smoothing` sets the number at all three; 0 is
    the original.
    Source: Dawid and Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28 (1979); the smoothing is ours.
    """
    votes = cast_votes(item, value, n, items)
    who, people = who_cast(votes, annotator, np.shape(value), annotators)
    known = np.unique(votes.value) if labels is None else np.unique(np.asarray(labels, dtype=np.float64))
    said = np.searchsorted(known, votes.value)
    if not np.isin(votes.value, known).all():
        raise ValueError("a vote is none of the labels")
    size = known.size
    some = votes.n > 0
    probability = sum_by(votes.item * size + said, votes.weight, votes.items * size)
    probability = probability.reshape(votes.items, size) / np.maximum(votes.n, 1)[:, None]
    share, confusion = np.zeros(size), np.zeros((people + 1, size, size))
    weights = np.full(3, np.nan if smoothing is None else smoothing)
    rounds, converged = 0, not some.any()
    while not converged and rounds < most_rounds:
        rounds += 1
        counts = _counts(votes, who, said, probability, people)
        choose = smoothing is None and rounds <= CHOOSING
        share, confusion = _estimates(probability[some].sum(axis=0), counts, weights, choose)
        updated = _posterior(votes, who, said, share, confusion)
        converged = bool(np.abs(updated - probability)[some].max() < tolerance)
        probability = updated
    probability = np.where(some[:, None], probability, np.nan)
    return DawidSkene(known, probability, share, confusion, votes.counted, rounds, converged)


def _counts(votes: Cast, who: Indices, said: Indices, probability: Array, people: int) -> Array:
    """Expected votes of each annotator for each label where each is true."""
    size = probability.shape[1]
    counts = np.empty((people + 1, size, size))
    for true in range(size):
        told = votes.weight * probability[votes.item, true]
        counts[:, true] = sum_by(who * size + said, told, (people + 1) * size).reshape(people + 1, size)
    return counts


def _estimates(true: Array, counts: Array, weights: Array, choose: bool) -> tuple[Array, Array]:
    """Shares of labels and confusion matrices; `weights` of the three priors are filled in if to choose."""
    even = np.full(true.size, 1 / true.size)
    together = counts.sum(axis=0)
    plain = _even_handed(together)
    if choose:
        weights[0] = _weight(true[None], even)
        weights[1] = _weight(together, plain)
    common = _shares(together + weights[1] * plain)
    if choose:
        weights[2] = _weight(counts, common)
    return _shares(true + weights[0] * even), _shares(counts + weights[2] * common)


def _even_handed(counts: Array) -> Array:
    """A confusion matrix with the rate of right answers in `counts` for all labels, errors spread evenly."""
    size = counts.shape[0]
    if size == 1:
        return np.ones((1, 1))
    # Half a vote a label, right or wrong, keeps the rate from being all or nothing.
    right = (np.trace(counts) + size / 2) / (counts.sum() + size)
    matrix = np.full((size, size), (1 - right) / (size - 1))
    np.fill_diagonal(matrix, right)
    return matrix


def _weight(counts: Array, mean: Array) -> float:
    """How many votes `mean` should weigh for `counts`, rows of votes, to be most probable."""
    from scipy.special import gammaln

    fits = np.array(
        [
            (gammaln(counts + weight * mean) - gammaln(weight * mean)).sum()
            + (gammaln(weight) - gammaln(counts.sum(axis=-1) + weight)).sum()
            for weight in WEIGHTS
        ]
    )
    # The least that is as good as the best but for rounding, so that the order of votes decides nothing.
    return float(WEIGHTS[np.argmax(fits >= fits.max() - 1e-6)])


def _shares(counts: Array) -> Array:
    some = np.maximum(counts, LEAST)
    return np.asarray(some / some.sum(axis=-1, keepdims=True), dtype=np.float64)


def _posterior(votes: Cast, who: Indices, said: Indices, share: Array, confusion: Array) -> Array:
    cast = np.log(confusion)[who, :, said] * votes.weight[:, None]
    log = np.stack([sum_by(votes.item, column, votes.items) for column in cast.T], axis=1)
    log += np.log(share)
    log -= log.max(axis=1, keepdims=True)
    found = np.exp(log)
    return np.asarray(found / found.sum(axis=1, keepdims=True), dtype=np.float64)
