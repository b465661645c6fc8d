"""Preferences: from pairwise choices to strengths and probabilities of preference (Bradley and Terry).

`bradley_terry` fits under a given prior; `pooled_preferences` estimates how far strengths lie apart from the
choices themselves. Whole systems are ranked in `preference_ranking`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices, sum_by

PRIOR = float(np.pi / np.sqrt(6))
"""SD of strengths at which, before any choice, each probability of preference is about equally likely.

The logit of a probability that is uniform on 0 to 1 has variance pi^2 / 3: that of a difference of two.
"""
NEVER = "it was never compared with another"
SPREADS = np.geomspace(0.15, 10, 37)
"""SDs of strengths that `pooled_preferences` weighs: from next to no difference to all but certain wins."""
HYPERPRIOR = 1.5
"""SD of the logarithm of that SD about PRIOR before any choice: .07 to 23 in 95 %."""
DRAWS = 3000
FEW_DRAWS = 300
ONE_SIDED = "it belongs to those that won, or lost, every comparison with the others: no finite strength"


@dataclass(frozen=True)
class BradleyTerry:
    """Strengths with mean 0 in each group of players that choices connect, and their standard errors.

    Strengths of different groups are not comparable. `reason` says why a player has none. `covariance` holds
    one matrix per group, over its players in ascending order.
    """

    strength: Array
    error: Array
    group: Indices
    reason: Sequence[str | None]
    covariance: Sequence[Array]
    place: Indices

    def preference(
        self, a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95
    ) -> tuple[Array, Array, Array]:
        """Probability that each of `a` is preferred to its `b`, with limits; NaN where it is unknown.

        1 / (1 + exp(-(strength of a - strength of b))); limits from the difference +- z standard errors.
        """
        from scipy.special import expit, ndtri

        first, second = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
        difference = self.strength[first] - self.strength[second]
        difference[self.group[first] != self.group[second]] = np.nan
        variance = np.full(first.shape, np.nan)
        for row in np.flatnonzero(~np.isnan(difference)):
            matrix = self.covariance[self.group[first[row]]]
            i, j = self.place[first[row]], self.place[second[row]]
            variance[row] = matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]
        half = float(ndtri((1 + confidence) / 2)) * np.sqrt(np.maximum(variance, 0))
        return expit(difference), expit(difference - half), expit(difference + half)


def bradley_terry(
    winner: ArrayLike,
    loser: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    tied: ArrayLike | None = None,
    players: int | None = None,
    prior: float | None = PRIOR,
) -> BradleyTerry:
    """Strengths by which P(i is preferred to j) = 1 / (1 + exp(-(s_i - s_j))), by maximum likelihood.

    A row stands for `weight` choices; where `tied`, half a win for each. `prior` is the SD of a normal
    prior on strengths: it keeps the strength of a player that always won finite, and the result is the
    maximum a posteriori. None: no prior; then strengths exist only where chains of wins lead from each player
    to every other.
    Newton's method; errors from the inverse of the observed information.
    Source: Bradley and Terry, Biometrika 39 (1952); Ford, American Mathematical Monthly 64 (1957) for when
    a maximum exists.
    """
    won, lost, times, size = _choices(winner, loser, weight, tied, players)
    group, reason = _groups(won, lost, size, prior)
    strength, error = np.full(size, np.nan), np.full(size, np.nan)
    place = np.zeros(size, dtype=np.int64)
    solved = np.array([each is None for each in reason], dtype=np.bool_)
    order = np.argsort(group[won], kind="stable")
    cuts = np.searchsorted(group[won][order], np.arange(group.max(initial=-1) + 2))
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    covariance = []
    for number, inside in enumerate(members):
        place[inside] = np.arange(inside.size)
        rows = order[cuts[number] : cuts[number + 1]]
        if inside.size == 0 or not solved[inside].all():
            covariance.append(np.full((inside.size, inside.size), np.nan))
            continue
        strength[inside], matrix = _fit(place[won[rows]], place[lost[rows]], times[rows], inside.size, prior)
        error[inside] = np.sqrt(np.maximum(np.diag(matrix), 0))
        covariance.append(matrix)
    return BradleyTerry(strength, error, group, reason, covariance, place)


def _choices(
    winner: ArrayLike, loser: ArrayLike, weight: ArrayLike | None, tied: ArrayLike | None, players: int | None
) -> tuple[Indices, Indices, Array, int]:
    won, lost = np.asarray(winner, dtype=np.int64), np.asarray(loser, dtype=np.int64)
    times = np.ones(won.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    even = np.zeros(won.shape, dtype=np.bool_) if tied is None else np.asarray(tied, dtype=np.bool_)
    if won.ndim != 1 or not won.shape == lost.shape == times.shape == even.shape:
        raise ValueError("winner, loser, weight and tied must be columns of equal length")
    if not np.isfinite(times).all() or np.any(times < 0):
        raise ValueError("weights must be numbers and not negative")
    highest = int(max(won.max(initial=-1), lost.max(initial=-1)))
    size = highest + 1 if players is None else players
    if highest >= size or np.any(won < 0) or np.any(lost < 0):
        raise ValueError(f"players are numbered from 0 to {size - 1}")
    times = np.where(even, times / 2, times)
    won, lost = np.concatenate([won, lost[even]]), np.concatenate([lost, won[even]])
    times = np.concatenate([times, times[even]])
    # A comparison with itself says nothing about a player's strength.
    used = (times > 0) & (won != lost)
    return won[used], lost[used], times[used], size


def _groups(won: Indices, lost: Indices, size: int, prior: float | None) -> tuple[Indices, list[str | None]]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    met = np.zeros(size, dtype=np.bool_)
    met[won] = met[lost] = True
    graph = coo_array((np.ones(won.size), (won, lost)), shape=(size, size)).tocsr()
    groups, group = connected_components(graph, directed=True, connection="weak")
    one_sided = np.zeros(groups, dtype=np.bool_)
    if prior is None and size:
        _, strong = connected_components(graph, directed=True, connection="strong")
        pairs = np.unique(np.stack([group, strong]), axis=1)[0]
        one_sided = np.bincount(pairs, minlength=groups) > 1
    reason = [
        NEVER if not there else ONE_SIDED if split else None
        for there, split in zip(met, one_sided[group], strict=True)
    ]
    return group.astype(np.int64), reason


def _fit(won: Indices, lost: Indices, times: Array, size: int, prior: float | None) -> tuple[Array, Array]:
    """Strengths of one group and their covariance."""
    pull = 0.0 if prior is None else prior**-2
    strength = np.zeros(size)

    def objective(at: Array) -> float:
        return float((times * np.logaddexp(0, at[lost] - at[won])).sum() + pull * (at**2).sum() / 2)

    value = objective(strength)
    for _ in range(200):
        gradient, information = _slopes(strength, won, lost, times, pull)
        step = np.linalg.solve(information, gradient)
        # Newton's step may overshoot where wins are one-sided; it is halved until it does not.
        for fraction in 0.5 ** np.arange(40):
            ahead = strength - fraction * step
            reached = objective(ahead)
            if reached <= value + 1e-12 * (1 + abs(value)):
                break
        done = np.abs(ahead - strength).max() < 1e-11
        strength, value = ahead, reached
        if done:
            break
    strength -= strength.mean()
    _, information = _slopes(strength, won, lost, times, pull)
    inverse = np.linalg.inv(information)
    if not pull:
        inverse -= 1 / size**2
    return strength, np.asarray(inverse, dtype=np.float64)


def _slopes(at: Array, won: Indices, lost: Indices, times: Array, pull: float) -> tuple[Array, Array]:
    from scipy.special import expit

    size = at.size
    upset = expit(at[lost] - at[won])
    gradient = sum_by(lost, times * upset, size) - sum_by(won, times * upset, size) + pull * at
    curve = times * upset * (1 - upset)
    information = -sum_by(won * size + lost, curve, size * size).reshape(size, size)
    information += information.T
    np.fill_diagonal(information, pull - information.sum(axis=1))
    # Without a prior only differences are identified: fixing the mean at 0 makes the matrix invertible.
    return gradient, information if pull else information + 1.0


@dataclass(frozen=True)
class Pooled:
    """P(a is preferred to b) with limits, NaN where they were never connected, and the SD of strengths."""

    value: Array
    low: Array
    high: Array
    spread: float


def pooled_preferences(
    winner: ArrayLike,
    loser: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    a: ArrayLike,
    b: ArrayLike,
    tied: ArrayLike | None = None,
    players: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Pooled:
    """Probability that each of `a` is preferred to its `b`, the spread of strengths being estimated as well.

    Strengths are N(0, spread^2) with one spread for all groups of players that choices connect. Every spread
    of a grid is weighed by its marginal likelihood; limits are quantiles of the posterior over all of them,
    by importance sampling around the mode (Laplace), so that they neither assume a spread nor that the
    posterior of somebody who won every comparison is symmetric. `value` is the posterior median.
    Source: Bradley and Terry, Biometrika 39 (1952); Caron and Doucet, JCGS 21 (2012) for the Bayesian model.
    """
    won, lost, times, size = _choices(winner, loser, weight, tied, players)
    first, second = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    group, _ = _groups(won, lost, size, 1.0)
    members = np.bincount(group)
    place = np.zeros(size, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    place[order] = np.arange(size) - np.repeat(np.cumsum(members) - members, members)
    batches = []
    for count in np.unique(members[members > 1]):
        inside = np.flatnonzero(members == count)
        number = np.full(members.size, -1)
        number[inside] = np.arange(inside.size)
        rows = number[group[won]] >= 0
        cell = (number[group[won[rows]]] * count + place[won[rows]]) * count + place[lost[rows]]
        wins = sum_by(cell, times[rows], inside.size * count * count).reshape(-1, count, count)
        batches.append((inside, wins))
    belief = _spread_belief([wins for _, wins in batches], seed)
    value, low, high = (np.full(first.shape, np.nan) for _ in range(3))
    met = (group[first] == group[second]) & (members[group[first]] > 1)
    levels = np.array([0.5, (1 - confidence) / 2, (1 + confidence) / 2])
    for inside, wins in batches:
        number = np.full(members.size, -1)
        number[inside] = np.arange(inside.size)
        asked = np.flatnonzero(met & (number[group[first]] >= 0))
        which = number[group[first[asked]]]
        limits = _quantiles(wins, belief, which, place[first[asked]], place[second[asked]], levels, seed)
        value[asked], low[asked], high[asked] = limits
    return Pooled(value, low, high, float(np.exp(belief @ np.log(SPREADS))))


def _spread_belief(batches: Sequence[Array], seed: int) -> Array:
    """Posterior probability of each of SPREADS; evidence is computed for every third and interpolated."""
    from scipy.interpolate import CubicSpline

    evidence = np.zeros(SPREADS[::3].size)
    for wins in batches:
        for part in _parts(wins, FEW_DRAWS):
            for column, spread in enumerate(SPREADS[::3]):
                # The same draws for every spread: what they get wrong cancels.
                _, weights = _draw(part, float(spread), FEW_DRAWS, np.random.default_rng(seed))
                evidence[column] += _log_mean(weights).sum()
    log = np.log(SPREADS / PRIOR)
    belief = CubicSpline(log[::3], evidence)(log) - log**2 / (2 * HYPERPRIOR**2)
    belief = np.exp(belief - belief.max())
    return np.asarray(belief / belief.sum(), dtype=np.float64)


def _quantiles(
    wins: Array, belief: Array, which: Indices, a: Indices, b: Indices, levels: Array, seed: int
) -> Array:
    """Quantiles (levels x pairs) of P(a is preferred) in group `which`, over all spreads."""
    from scipy.special import expit

    result = np.empty((levels.size, which.size))
    taken = np.flatnonzero(belief > 0.003)
    begin = 0
    for part in _parts(wins, DRAWS):
        here = np.flatnonzero((which >= begin) & (which < begin + len(part)))
        inside = which[here] - begin
        drawn, weighed = [], []
        rng = np.random.default_rng(seed)
        for column in taken:
            count = max(80, round(DRAWS * float(belief[column])))
            strengths, weights = _draw(part, float(SPREADS[column]), count, rng)
            weights = np.exp(weights - weights.max(axis=1, keepdims=True))
            weighed.append((belief[column] * weights / weights.sum(axis=1, keepdims=True))[inside])
            drawn.append(strengths[inside, :, a[here]] - strengths[inside, :, b[here]])
        differences, weights = np.concatenate(drawn, axis=1), np.concatenate(weighed, axis=1)
        order = np.argsort(differences, axis=1)
        reached = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
        for row, level in enumerate(levels):
            place = np.argmax(reached >= level * reached[:, -1:], axis=1)
            result[row, here] = expit(differences[np.arange(here.size), order[np.arange(here.size), place]])
        begin += len(part)
    return result


def _parts(wins: Array, draws: int) -> list[Array]:
    """Groups in parts whose draws fit in memory."""
    size = wins.shape[1]
    return np.array_split(wins, max(1, -(-len(wins) * draws * size * size // 2**23)))


def _draw(wins: Array, spread: float, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Strengths (groups x draws x players) from around each group's mode, and log importance weights."""
    size = wins.shape[1]
    pull = spread**-2
    mode, information = modes(wins, pull)
    # Wider than the normal at the mode, by less the more players there are: weights must not degenerate.
    inflation = 1 + min(0.5, 3 / size)
    root = np.linalg.cholesky(information)
    half = (count + 1) // 2
    normal = rng.standard_normal((half, size))
    normal = np.concatenate([normal, -normal])[:count]
    step = np.linalg.solve(np.swapaxes(root, 1, 2), normal.T[None] * np.sqrt(inflation))
    strengths = mode[:, None] + np.swapaxes(step, 1, 2)
    fit = -pull * (strengths**2).sum(axis=2) / 2 - size * np.log(spread)
    for i in range(size):
        for j in range(size):
            if i != j and wins[:, i, j].any():
                fit -= wins[:, i, j, None] * np.logaddexp(0, strengths[..., j] - strengths[..., i])
    scale = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) - size * np.log(inflation) / 2
    return strengths, fit - (scale[:, None] - (normal**2).sum(axis=1) / 2)


def modes(wins: Array, pull: float, centre: Array | float = 0.0) -> tuple[Array, Array]:
    """The most probable strengths of many groups at once (groups x players) and the information there.

    `wins` is groups x players x players; strengths are normal about `centre` with precision `pull`.
    """
    from scipy.special import expit

    groups, size, _ = wins.shape
    met = wins + np.swapaxes(wins, 1, 2)
    diagonal = np.arange(size)
    strength = np.zeros((groups, size)) + centre
    for _ in range(200):
        p = expit(strength[:, :, None] - strength[:, None])
        information = -met * p * (1 - p)
        information[:, diagonal, diagonal] = pull - information.sum(axis=2)
        gradient = (wins - met * p).sum(axis=2) - pull * (strength - centre)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        strength += step / np.abs(step).max(axis=1, keepdims=True, initial=1)
        if np.abs(step).max(initial=0) < 1e-7:
            break
    return strength, information


def _log_mean(logs: Array) -> Array:
    highest = logs.max(axis=1)
    return np.asarray(highest + np.log(np.exp(logs - highest[:, None]).mean(axis=1)))
