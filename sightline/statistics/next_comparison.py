"""What to compare next: the pair, or the set of several, that says most about the order still open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices
from sightline.statistics.orders import Stages, fit_stages, order_stages, pair_stages
from sightline.statistics.preferences import PRIOR

SHARPNESS = 1.5
"""How strongly the more informative is preferred: chances are the gain to this power."""
EXPLORE = 0.1
"""How often a set is drawn from all with the same chance, so that every pair stays reachable."""
MOST_PAIRS = 2000


@dataclass(frozen=True)
class Belief:
    """What is known of strengths so far: their most probable values and their covariance."""

    strength: Array
    covariance: Array


def belief_from_votes(a: ArrayLike, b: ArrayLike, part: ArrayLike, systems: int) -> Belief:
    """From votes between two systems, `part` of each being for a: 1, 0 or .5; 0 votes are no obstacle."""
    first, second = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    stages, _ = pair_stages(first, second, np.asarray(part, dtype=np.float64))
    return _belief(stages, systems)


def belief_from_orders(group: ArrayLike, system: ArrayLike, rank: ArrayLike, systems: int) -> Belief:
    """From orders, a row per system of a group, rank 1 the best and equal ones tied."""
    stages, _ = order_stages(
        np.asarray(group, dtype=np.int64),
        np.asarray(system, dtype=np.int64),
        np.asarray(rank, dtype=np.float64),
    )
    return _belief(stages, systems)


def _belief(stages: Stages, systems: int) -> Belief:
    fitted = fit_stages(stages, np.ones(stages.weight.size), systems, bias_reduced=False, pull=PRIOR**-2)
    return Belief(fitted.strength, fitted.bread)


def next_comparison(
    belief: Belief, *, size: int = 2, count: int = 1, explore: float = EXPLORE, seed: int = 0
) -> Indices:
    """`count` sets of `size` systems to compare next (count x size), each in random order.

    The gain of a vote between two is the part of the variance of every difference that it would take off,
    p (1 - p) k^2 / (1 + p (1 - p) v) / v, weighted by the probability that the order of that pair is still
    wrong: it goes to systems that are close and little known, not to those long since apart. Sets are drawn
    with chances that rise with the gain; a larger set grows from its first pair by those that gain most with
    its members. One set in ten (`explore`) is drawn from all alike.
    """
    systems = belief.strength.size
    if not 2 <= size <= systems:
        raise ValueError(
            f"a comparison of {size} needs at least 2 and at most the {systems} systems there are"
        )
    rng = np.random.default_rng(seed)
    gain = _gains(belief, rng)
    chances = np.triu(gain**SHARPNESS, 1).ravel()
    sets = np.empty((count, size), dtype=np.int64)
    for row in range(count):
        if rng.random() < explore or not chances.sum() > 0:
            sets[row] = rng.choice(systems, size, replace=False)
            continue
        first, second = divmod(int(rng.choice(chances.size, p=chances / chances.sum())), systems)
        members = [first, second]
        while len(members) < size:
            joined = gain[members].sum(axis=0) ** SHARPNESS
            joined[members] = 0
            members.append(int(rng.choice(systems, p=joined / joined.sum())))
        sets[row] = rng.permutation(members)
    return sets


def chances_of_sets(belief: Belief, members: ArrayLike, seed: int = 0) -> Array:
    """How likely each of these sets should come next, 1 for the most informative.

    `members` (sets x systems) is 1 where a system belongs to a set. A set gains what votes between any two of
    its members would, as in `next_comparison`.
    """
    inside = np.asarray(members, dtype=np.float64)
    gain = ((inside @ _gains(belief, np.random.default_rng(seed))) * inside).sum(axis=1) / 2
    chances = gain**SHARPNESS
    most = chances.max(initial=0)
    return np.asarray(chances / most if most > 0 else chances, dtype=np.float64)


def _gains(belief: Belief, rng: np.random.Generator) -> Array:
    """Gain of a vote between any two systems (systems x systems)."""
    from scipy.special import expit, ndtr

    size = belief.strength.size
    a, b = np.triu_indices(size, 1)
    covariance = belief.covariance
    difference = belief.strength[a] - belief.strength[b]
    variance = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
    # Of very many pairs a sample stands for all.
    counted = np.arange(a.size) if a.size <= MOST_PAIRS else rng.choice(a.size, MOST_PAIRS, replace=False)
    rows = covariance[a[counted]] - covariance[b[counted]]
    shared = rows[:, a] - rows[:, b]
    wrong = ndtr(-np.abs(difference[counted]) / np.sqrt(variance[counted]))
    p = expit(difference)
    information = p * (1 - p)
    taken = information / (1 + information * variance)
    gain = np.zeros((size, size))
    gain[a, b] = taken * ((wrong / variance[counted]) @ shared**2)
    return np.asarray(gain + gain.T, dtype=np.float64)
