"""Orders of systems, from pairs to many at once: what was chosen among what, and strengths that fit it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices, sum_by

MOST_ORDERS = 24
"""Orders that a ballot with ties is averaged over: all while there are no more, otherwise that many drawn."""


@dataclass(frozen=True)
class Stages:
    """Choices of one system out of several: a vote between two is one, an order of four is three.

    A row of `candidates` begins with the one that was chosen, -1 fills it up; `weight` is below 1 where a tie
    is averaged over the orders that it leaves open, and `ballot` says whose choice it is.
    """

    candidates: Indices
    weight: Array
    ballot: Indices


@dataclass(frozen=True)
class ImpliedPairs:
    """Every pair that a ballot puts in order: `part` is 1 where a is above b, 0 below, .5 tied.

    `share` is what a pair weighs: 1 of a vote between two, 2 / k of an order of k, whose k (k-1) / 2 pairs
    hold no more than its k - 1 choices.
    """

    ballot: Indices
    a: Indices
    b: Indices
    part: Array
    share: Array


def pair_stages(a: Indices, b: Indices, part: Array) -> tuple[Stages, ImpliedPairs]:
    """Votes between two systems, `part` of each being for a."""
    ballot = np.arange(a.size)
    candidates = np.concatenate([np.stack([a, b], axis=1), np.stack([b, a], axis=1)])
    weight, twice = np.concatenate([part, 1 - part]), np.concatenate([ballot, ballot])
    used = weight > 0
    pairs = ImpliedPairs(ballot, a, b, part, np.ones(a.size))
    return Stages(candidates[used], weight[used], twice[used]), pairs


def order_stages(ballot: Indices, system: Indices, rank: Array, seed: int = 0) -> tuple[Stages, ImpliedPairs]:
    """Orders given as one row per ballot and system, rank 1 being the best and equal ranks tied."""
    by = np.lexsort((rank, ballot))
    ballot, system, rank = ballot[by], system[by], rank[by]
    starts = np.flatnonzero(np.diff(ballot, prepend=-1))
    sizes = np.diff(np.append(starts, ballot.size))
    widest = int(sizes.max(initial=2))
    rng = np.random.default_rng(seed)
    rows, weights, owners, pairs = [], [], [], []
    tied = np.zeros(starts.size, dtype=np.bool_)
    inside = np.repeat(np.arange(starts.size), sizes)
    tied[inside[1:][(np.diff(rank) == 0) & (np.diff(inside) == 0)]] = True
    for size in np.unique(sizes[sizes > 1]):
        i, j = np.triu_indices(size, 1)
        for ties in (False, True):
            chosen = starts[(sizes == size) & (tied == ties)]
            members = system[chosen[:, None] + np.arange(size)].reshape(-1, size)
            ranks = rank[chosen[:, None] + np.arange(size)].reshape(-1, size)
            owner = ballot[chosen]
            if np.any(np.diff(np.sort(members, axis=1), axis=1) == 0):
                raise ValueError("a system stands twice in one order")
            part = np.where(ranks[:, i] == ranks[:, j], 0.5, 1.0)
            share = np.full(part.shape, 2 / size)
            pairs.append((np.repeat(owner, i.size), members[:, i], members[:, j], part, share))
            open_orders = [_orders(each, rng) for each in ranks] if ties else [[np.arange(size)]] * len(owner)
            counts = np.array([len(each) for each in open_orders], dtype=np.int64)
            orders = np.array([order for each in open_orders for order in each]).reshape(-1, size)
            ordered = np.take_along_axis(np.repeat(members, counts, axis=0), orders.astype(np.int64), axis=1)
            for place in range(size - 1):
                row = np.full((len(ordered), widest), -1)
                row[:, 0] = ordered[:, place]
                row[:, 1 : size - place] = np.sort(ordered[:, place + 1 :], axis=1)
                rows.append(row)
                weights.append(np.repeat(1 / counts, counts))
                owners.append(np.repeat(owner, counts))
    if not rows:
        none, empty = np.zeros(0, dtype=np.int64), np.zeros(0)
        nothing = Stages(np.zeros((0, 2), dtype=np.int64), empty, none)
        return nothing, ImpliedPairs(none, none, none, empty, empty)
    columns = (np.concatenate([np.ravel(each) for each in column]) for column in zip(*pairs, strict=True))
    stages = Stages(np.concatenate(rows), np.concatenate(weights), np.concatenate(owners))
    return stages, ImpliedPairs(*columns)


def _orders(ranks: Array, rng: np.random.Generator) -> list[Indices]:
    """Orders of sorted ranks that ties leave open."""
    size = ranks.size
    if np.all(np.diff(ranks) > 0):
        return [np.arange(size)]
    if size <= 4:
        every = (np.array(each) for each in permutations(range(size)))
        return [order for order in every if np.all(np.diff(ranks[order]) >= 0)]
    return [np.lexsort((rng.random(size), ranks)) for _ in range(MOST_ORDERS)]


@dataclass(frozen=True)
class Fitted:
    """Strengths, the covariance that independent choices would give them, and probabilities.

    Strengths are 0 on average in every group of systems that comparisons connect. `chance` holds the
    probability of each candidate of each row of the stages given to `fit_stages`.
    """

    strength: Array
    bread: Array
    chance: Array


def fit_stages(
    stages: Stages, weight: ArrayLike, systems: int, *, bias_reduced: bool = True, pull: float = 0.0
) -> Fitted:
    """Strengths by which i is chosen with probability exp(s_i) / sum of exp(s_j) over the candidates j.

    `weight` multiplies each row of `stages`. Of two candidates this is Bradley and Terry's model. With
    `bias_reduced` each pair that met receives its leverage as votes, half for either, the number of systems
    less one in every connected group: for pairs this is Firth's correction, which keeps estimates finite and
    takes off their first-order bias. `pull` is the precision of a normal prior.
    Source: Plackett, Applied Statistics 24 (1975); Firth, Biometrika 80 (1993).
    """
    times = stages.weight * np.asarray(weight, dtype=np.float64)
    unique, which = _unique_rows(stages.candidates, systems)
    times = sum_by(which, times, len(unique))
    real = unique >= 0
    index = np.where(real, unique, 0)
    rows = np.repeat(np.arange(len(unique)), unique.shape[1]).reshape(unique.shape)
    chosen = sum_by(index[:, 0], times, systems) if len(unique) else np.zeros(systems)
    met = _met(unique, times, systems)
    strength = np.zeros(systems)
    # Strengths are 0 on average in every group of systems that comparisons connect.
    group = connected_groups(met)
    together = (group[:, None] == group[None]) / np.bincount(group)[group]
    fixed = np.eye(systems) * pull if pull else together
    rank = systems - np.unique(group).size
    for _ in range(200):
        chance = _softmax(strength, index, real)
        dense = np.zeros((len(unique), systems))
        dense[rows[real], unique[real]] = chance[real]
        gradient = chosen - dense.T @ times - pull * strength
        information = np.diag(dense.T @ times) - (dense * times[:, None]).T @ dense
        inverse = np.linalg.pinv(information + fixed, hermitian=True)
        if bias_reduced:
            p = 1 / (1 + np.exp(strength[None] - strength[:, None]))
            variance = np.diag(inverse)[:, None] + np.diag(inverse)[None] - 2 * inverse
            leverage = met * p * (1 - p) * variance
            total = leverage.sum() / 2
            leverage *= rank / total if total else 0
            gradient += (leverage * (0.5 - p)).sum(axis=1)
            added = leverage * p * (1 - p)
            step = np.linalg.solve(information + fixed + np.diag(added.sum(axis=1)) - added, gradient)
        else:
            step = inverse @ gradient
        strength = strength + step / max(1.0, float(np.abs(step).max(initial=0)))
        if np.abs(step).max(initial=0) < 1e-9:
            break
    strength = strength - together @ strength
    bread = inverse if pull else inverse - together
    return Fitted(strength, np.asarray(bread, dtype=np.float64), chance[which])


def connected_groups(met: Array) -> Indices:
    """The number of the group of each system: systems that comparisons connect, through others as well."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(csr_array(met), directed=False)[1], dtype=np.int64)


def _unique_rows(candidates: Indices, systems: int) -> tuple[Indices, Indices]:
    """Distinct rows and which of them each row is; by one number per row, where that fits, for speed."""
    width = candidates.shape[1]
    if (systems + 1) ** width < 2**62:
        key = (candidates + 1) @ (systems + 1) ** np.arange(width, dtype=np.int64)
        _, at, which = np.unique(key, return_index=True, return_inverse=True)
        return candidates[at], which.reshape(-1)
    unique, which = np.unique(candidates, axis=0, return_inverse=True)
    return unique, which.reshape(-1)


def _softmax(strength: Array, index: Indices, real: np.ndarray) -> Array:
    utility = np.where(real, strength[index], -np.inf)
    power = np.exp(utility - utility.max(axis=1, keepdims=True, initial=-1e300))
    return np.asarray(power / power.sum(axis=1, keepdims=True), dtype=np.float64)


def _met(candidates: Indices, times: Array, systems: int) -> Array:
    met = np.zeros(systems * systems)
    for column in range(1, candidates.shape[1]):
        there = candidates[:, column] >= 0
        met += sum_by(candidates[there, 0] * systems + candidates[there, column], times[there], met.size)
    table = met.reshape(systems, systems)
    return np.asarray(table + table.T)


def scores_by(stages: Stages, fitted: Fitted, weight: Array, cluster: Indices, systems: int) -> Array:
    """Sums over clusters (clusters x systems) of each choice's pull on the strengths: chosen - expected."""
    clusters = int(cluster.max(initial=-1)) + 1
    times = stages.weight * weight
    totals = np.zeros(clusters * systems)
    for column in range(stages.candidates.shape[1]):
        system = stages.candidates[:, column]
        there = system >= 0
        residual = (1.0 if column == 0 else 0.0) - fitted.chance[there, column]
        totals += sum_by(cluster[there] * systems + system[there], times[there] * residual, totals.size)
    return totals.reshape(clusters, systems)
