"""Systems ranked by preference: win rates, strengths and every difference, from pair votes or whole orders.

Intervals and tests are clustered over prompts and raters at once where there are enough of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate, absent
from sightline.statistics.clustered import (
    FEWEST_CLUSTERS,
    ClusteredVariance,
    Clusters,
    combined,
    variance_parts,
    ways_of,
)
from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.orders import (
    ImpliedPairs,
    Stages,
    connected_groups,
    fit_stages,
    order_stages,
    pair_stages,
    scores_by,
)
from sightline.statistics.rater_reliability import Reliability, rater_reliability
from sightline.statistics.significance import holm

BOTH_BAD = -1.0
"""The outcome of a vote for neither: half a win for either, as a tie, and counted on its own."""
ELO_SCALE = 400 / float(np.log(10))
ELO_MEAN = 1000.0
APART = "no chain of comparisons connects them"
ALONE = "it was never compared with another"


@dataclass(frozen=True)
class RankedSystem:
    """One system: how often it was preferred, how strong it is, and the ranks that the tests leave open.

    `win_rate` is the mean over its votes, ties half; against whom is up to whoever chose the pairs.
    `expected_win_rate` is the mean over all other systems of the fitted probability to be preferred to each.
    `strength` is Bradley and Terry's (or Plackett and Luce's), 0 on average; `elo` the same as
    1000 + 400 / ln(10) x strength, so that 400 points are odds of ten to one. Where no chain of comparisons
    connects all systems, strengths, expected win rates and ranks are those within the system's `group`.
    """

    system: str
    win_rate: Estimate
    expected_win_rate: Estimate
    strength: Estimate
    elo: Estimate
    best_rank: int
    worst_rank: int
    group: int
    votes: int
    wins: int
    losses: int
    ties: int
    both_bad: int


@dataclass(frozen=True)
class PreferencePair:
    """Two systems: P(first is preferred to second), the difference of strengths, p, and votes between them.

    `p_adjusted` is Holm's over all pairs. `probability` and `difference` use what both did against others.
    """

    first: str
    second: str
    probability: Estimate
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    significant: bool
    votes: int
    first_wins: int
    second_wins: int
    ties: int
    both_bad: int


@dataclass(frozen=True)
class PreferenceRanking:
    """Systems by strength, all pairs, and who is first: above every other at the level asked for, or None.

    `over` says over what intervals generalise: "prompts and raters", "prompts", "raters" or, where there is
    none, ""; `reason` why it is not both. Matrices are systems x systems in the order given: `wins[i, j]`
    counts votes for i against j. `reliability` is the weight of each rater's votes, 1 on average; `taste` the
    SD of raters' own strengths about everybody's, None where it is unknown. `rater_part` and `prompt_part`
    are the parts of the variance of strengths that come from who judged and from what was asked.
    `strength` and `covariance` are in the order given, NaN of a system that was compared with none.
    `groups` are the systems that comparisons connect, the largest group first: with more than one, nobody is
    first, and nothing is said of systems of different groups.
    """

    systems: tuple[RankedSystem, ...]
    pairs: tuple[PreferencePair, ...]
    first: str | None
    names: tuple[str, ...]
    wins: Indices
    ties: Indices
    both_bad: Indices
    votes: int
    prompts: int
    raters: int
    over: str
    reason: str | None
    reliability: Array
    taste: float | None
    rater_part: float | None
    prompt_part: float | None
    strength: Array
    covariance: Array
    groups: tuple[tuple[str, ...], ...]


def rank_by_votes(
    prompt: ArrayLike,
    rater: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    rater_quality: bool = True,
    confidence: float = 0.95,
) -> PreferenceRanking:
    """Rank systems by votes between two of them.

    Columns, one row per vote: the prompt's number; the rater's, -1 for an anonymous vote; the numbers of the
    systems; and the outcome, 1 for a, 0 for b, .5 for a tie, BOTH_BAD for neither, NaN for a skipped vote.
    Rows of a system against itself are left out.

    Strengths maximise the likelihood of Bradley and Terry with Firth's correction, votes weighted by
    `rater_reliability` (of three raters and more) unless `rater_quality` is False. Their covariance is the
    sandwich clustered in two ways, V(raters) + V(prompts) - V(raters x prompts), each part moderated towards
    what all contrasts share, and never below that of independent votes or of one way alone; t with
    Satterthwaite's degrees of freedom, at most those of the larger part. Near 0 and 1 errors of log odds grow
    faster than log odds do: the end of an interval that is nearer to 0 is Wilson's, and p that of the score
    test, where these say more, so that further wins do not weaken a lead. With fewer than three raters, or
    anonymous ones, intervals speak of these raters only and `over` is "prompts".
    Source: Bradley and Terry, Biometrika 39 (1952); Firth, Biometrika 80 (1993); Cameron, Gelbach and Miller,
    JBES 29 (2011); Smyth, SAGMB 3 (2004) for moderated variances; Hauck and Donner, JASA 72 (1977) and
    Wilson, JASA 22 (1927) for log odds near the ends.
    """
    first, second = _column(a), _column(b)
    said = np.asarray(outcome, dtype=np.float64)
    prompts, raters = _column(prompt), _column(rater)
    if not first.shape == second.shape == said.shape == prompts.shape == raters.shape:
        raise ValueError("prompt, rater, a, b and outcome must be columns of equal length")
    known = said[~np.isnan(said)]
    if not np.isin(known, (0.0, 0.5, 1.0, BOTH_BAD)).all():
        raise ValueError("an outcome is 1 for a, 0 for b, .5 for a tie or BOTH_BAD")
    used = ~np.isnan(said) & (first != second)
    first, second, said, prompts, raters = (each[used] for each in (first, second, said, prompts, raters))
    part = np.where(said == BOTH_BAD, 0.5, said)
    stages, pairs = pair_stages(first, second, part)
    return _rank(stages, pairs, prompts, raters, said == BOTH_BAD, names, rater_quality, confidence)


def rank_by_orders(
    group: ArrayLike,
    system: ArrayLike,
    rank: ArrayLike,
    prompt: ArrayLike,
    rater: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    rater_quality: bool = True,
    confidence: float = 0.95,
    seed: int = 0,
) -> PreferenceRanking:
    """Rank systems by orders of several at once: a row per system of a group, rank 1 the best, equals tied.

    `prompt` and `rater` (-1 anonymous) are given per row and are those of the group's first row. Strengths
    are Plackett and Luce's; a tie is averaged over the orders that it leaves open. Win rates and counts are
    over the pairs that each order implies. Everything else is as in `rank_by_votes`.
    Source: Plackett, Applied Statistics 24 (1975).
    """
    groups, systems = _column(group), _column(system)
    ranks = np.asarray(rank, dtype=np.float64)
    prompts, raters = _column(prompt), _column(rater)
    if not groups.shape == systems.shape == ranks.shape == prompts.shape == raters.shape:
        raise ValueError("group, system, rank, prompt and rater must be columns of equal length")
    used = ~np.isnan(ranks)
    _, at, ballot = np.unique(groups[used], return_index=True, return_inverse=True)
    stages, pairs = order_stages(ballot.reshape(-1).astype(np.int64), systems[used], ranks[used], seed)
    both_bad = np.zeros(at.size, dtype=np.bool_)
    return _rank(
        stages, pairs, prompts[used][at], raters[used][at], both_bad, names, rater_quality, confidence
    )


def _column(values: ArrayLike) -> Indices:
    return np.asarray(values, dtype=np.int64)


def _rank(
    stages: Stages,
    pairs: ImpliedPairs,
    prompt: Indices,
    rater: Indices,
    both_bad: np.ndarray,
    names: Sequence[str] | None,
    rater_quality: bool,
    confidence: float,
) -> PreferenceRanking:
    highest = int(max(pairs.a.max(initial=-1), pairs.b.max(initial=-1)))
    named = tuple(str(each) for each in (range(highest + 1) if names is None else names))
    size = len(named)
    if highest >= size or min(pairs.a.min(initial=0), pairs.b.min(initial=0)) < 0:
        raise ValueError(f"systems are numbered from 0 to {size - 1}")
    raters = int(rater.max(initial=-1)) + 1
    plain = fit_stages(stages, np.ones(stages.weight.size), size)
    quality = Reliability(np.ones(raters), float("nan"))
    if rater_quality and np.unique(rater[rater >= 0]).size > FEWEST_CLUSTERS:
        quality = rater_reliability(pairs, rater[pairs.ballot], plain.strength, raters)
    weight = (
        np.where(rater >= 0, quality.weight[np.maximum(rater, 0)], 1.0) if raters else np.ones(rater.size)
    )
    fitted = fit_stages(stages, weight[stages.ballot], size) if raters else plain
    cast = np.bincount(pairs.ballot, minlength=rater.size) > 0
    ways, over, reason = ways_of(prompt, rater, cast, weight)

    group = _groups(pairs, size)
    times = weight[stages.ballot]
    meat = _meat(stages, fitted.chance, stages.weight * times**2, size)
    factor = _tie_factor(pairs, fitted.strength)
    least = factor * fitted.bread @ meat @ fitted.bread
    if over:
        sums = [scores_by(stages, fitted, times, way.of[stages.ballot], size) for way in ways]
        variance = combined(
            [(each @ fitted.bread, way.effective) for each, way in zip(sums, ways, strict=True)],
            least,
            moderate=True,
        )
    else:
        variance = ClusteredVariance((), least, least)
    errors = _Errors(variance, _variance_of_equals(stages, pairs, times, size), confidence)
    table = _tables(pairs, both_bad, size)
    rates = _win_rates(pairs, ways if over else (), size, confidence, factor)
    compared = _pairs(named, group, fitted.strength, errors, bool(over), table, reason)
    strength = np.where(group >= 0, fitted.strength, np.nan)
    rows = _systems(named, strength, group, errors, bool(over), rates, compared, table, reason)
    ranked = sorted(
        rows,
        key=lambda row: (
            row.group < 0,
            row.group,
            -(row.strength.value or 0.0),
            named.index(row.system),
        ),
    )
    leader = ranked[0] if ranked else None
    groups = int(group.max(initial=-1)) + 1
    alone = leader is not None and groups == 1 and bool((group == 0).all()) and leader.worst_rank == 1
    shares = variance_parts(ways, variance) if over else (None, None)
    return PreferenceRanking(
        tuple(ranked),
        tuple(compared),
        leader.system if leader is not None and alone else None,
        named,
        *table,
        votes=int(cast.sum()),
        prompts=int(np.unique(prompt[cast]).size),
        raters=int(np.unique(rater[cast & (rater >= 0)]).size),
        over=over,
        reason=reason,
        reliability=quality.weight,
        taste=None if np.isnan(quality.taste) else quality.taste,
        rater_part=shares[0],
        prompt_part=shares[1],
        strength=strength,
        covariance=np.asarray(variance.total),
        groups=tuple(tuple(row.system for row in ranked if row.group == each) for each in range(groups)),
    )


def _groups(pairs: ImpliedPairs, size: int) -> Indices:
    """The group of each system, the largest first; -1 of a system that was compared with none."""
    met = np.bincount(pairs.a * size + pairs.b, minlength=size * size).reshape(size, size)
    found = connected_groups((met + met.T).astype(np.float64))
    members = np.bincount(found, minlength=1)
    place = np.empty(members.size, dtype=np.int64)
    place[np.argsort(-members, kind="stable")] = np.arange(members.size)
    return np.where(members[found] > 1, place[found], -1)


def _variance_of_equals(stages: Stages, pairs: ImpliedPairs, times: Array, size: int) -> Array:
    """The covariance that strengths would have if all systems were alike and votes independent."""
    real = stages.candidates >= 0
    even = real / np.maximum(real.sum(axis=1, keepdims=True), 1)
    bread = np.linalg.pinv(_meat(stages, even, stages.weight * times, size), hermitian=True)
    meat = _meat(stages, even, stages.weight * times**2, size)
    return np.asarray(_tie_factor(pairs, np.zeros(size)) * bread @ meat @ bread)


@dataclass(frozen=True)
class _Errors:
    """Intervals and tests of contrasts of strengths."""

    variance: ClusteredVariance
    equals: Array
    confidence: float

    def around(self, contrast: Array, value: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Ends of differences of two strengths, or of means of strengths, and of their probabilities; and p.

        The far end of a probability is Wilson's of the votes without Firth's correction, where that is
        further: of votes that are all alike it is 0 or 1.
        """
        from scipy.special import expit, logit, stdtr, stdtrit

        chance = expit(value)
        error, df = self.variance.of(contrast, 4 * chance * (1 - chance))
        df = np.minimum(df, 1e6)
        single = np.einsum("ij,jk,ik->i", contrast, self.variance.least, contrast)
        even = np.einsum("ij,jk,ik->i", contrast, self.equals, contrast)
        with np.errstate(divide="ignore", invalid="ignore"):
            # What is known is worth so many independent votes between two, less what clusters take off.
            votes = np.minimum(4 / even, 1 / (single * chance * (1 - chance))) * single / error**2
            votes = np.where((even > 0) & (single > 0), votes, 0.0)
            t = np.maximum(np.abs(value) / error, np.abs(2 * chance - 1) * np.sqrt(votes))
        quantile = stdtrit(df, (1 + self.confidence) / 2)
        low, high = value - quantile * error, value + quantile * error
        lower, upper = (logit(each) for each in wilson(chance, np.maximum(votes, 1e-9), quantile))
        low = np.where((value > 0) & (votes > 0), np.maximum(low, np.minimum(lower, value)), low)
        high = np.where((value < 0) & (votes > 0), np.minimum(high, np.maximum(upper, value)), high)
        many = np.maximum(votes, 1e-9)
        raw = np.clip(0.5 + (chance - 0.5) * (1 + 1 / many), 0, 1)
        far_low, far_high = wilson(raw, many, quantile)
        least = np.where((value < 0) & (votes > 0), np.minimum(expit(low), far_low), expit(low))
        most = np.where((value > 0) & (votes > 0), np.maximum(expit(high), far_high), expit(high))
        return low, high, least, most, np.where(error > 0, 2 * stdtr(df, -t), np.nan)


def wilson(rate: Array, n: Array, quantile: Array) -> tuple[Array, Array]:
    """Wilson's score interval of a proportion of n."""
    z2 = quantile**2 / n
    middle = (rate + z2 / 2) / (1 + z2)
    half = np.sqrt(z2 * rate * (1 - rate) + z2**2 / 4) / (1 + z2)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def _meat(stages: Stages, chance: Array, times: Array, size: int) -> Array:
    """Information of choices with `times` in place of their weights."""
    real = stages.candidates >= 0
    total = np.zeros((size, size))
    step = max(1, 2**22 // max(1, size))
    for start in range(0, len(times), step):
        rows = slice(start, start + step)
        dense = np.zeros((len(times[rows]), size))
        where = np.nonzero(real[rows])
        dense[where[0], stages.candidates[rows][where]] = chance[rows][where]
        total += np.diag(dense.T @ times[rows]) - (dense * times[rows, None]).T @ dense
    return total


def _tie_factor(pairs: ImpliedPairs, strength: Array) -> float:
    """By how much ties lessen the variance of a vote: the mean of p (1 - p) less a quarter of the ties."""
    if not pairs.a.size:
        return 1.0
    p = 1 / (1 + np.exp(strength[pairs.b] - strength[pairs.a]))
    tied = float((pairs.part == 0.5).sum()) / (pairs.a.size + 4)
    return float(np.clip(1 - tied / 4 / np.mean(p * (1 - p)), 4 / (pairs.a.size + 4), 1))


def _tables(pairs: ImpliedPairs, both_bad: np.ndarray, size: int) -> tuple[Indices, Indices, Indices]:
    """Wins, ties and votes for neither of each system (row) against each other (column)."""

    def count(rows: np.ndarray, a: Indices, b: Indices) -> Indices:
        return np.bincount(a[rows] * size + b[rows], minlength=size * size).reshape(size, size)

    neither = both_bad[pairs.ballot]
    tied = (pairs.part == 0.5) & ~neither
    wins = count(pairs.part == 1, pairs.a, pairs.b) + count(pairs.part == 0, pairs.b, pairs.a)
    ties, bad = count(tied, pairs.a, pairs.b), count(neither, pairs.a, pairs.b)
    return wins, ties + ties.T, bad + bad.T


def _win_rates(
    pairs: ImpliedPairs, ways: Sequence[Clusters], size: int, confidence: float, tie_factor: float
) -> list[Estimate]:
    """Mean of each system's votes, t interval on the scale of log odds, which stays within 0 and 1.

    Near 0 and 1 the end nearer to one half goes over to Wilson's, where that is closer.
    """
    from scipy.special import expit, stdtrit

    system = np.concatenate([pairs.a, pairs.b])
    part = np.concatenate([pairs.part, 1 - pairs.part])
    share, ballot = np.concatenate([pairs.share] * 2), np.concatenate([pairs.ballot] * 2)
    count = sum_by(system, share, size)
    votes = np.bincount(system, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = sum_by(system, share * part, size) / count
    smooth = (rate * count + 0.5) / (count + 1)
    least = tie_factor * smooth * (1 - smooth) / (count + 1)
    sums = []
    for way in ways:
        cluster = way.of[ballot]
        clusters = int(cluster.max(initial=-1)) + 1
        pull = share * (part - rate[system]) / count[system]
        sums.append((sum_by(cluster * size + system, pull, clusters * size).reshape(-1, size), way.effective))
    found = []
    variance = combined(sums, np.diag(np.nan_to_num(least)), moderate=False) if sums else None
    if variance is not None:
        error, df = variance.of(np.eye(size), 4 * smooth * (1 - smooth))
        quantile = stdtrit(np.minimum(df, 1e6), (1 + confidence) / 2)
        half = quantile * error / (smooth * (1 - smooth))
        middle = np.log(smooth / (1 - smooth))
        low, high = expit(middle - half), expit(middle + half)
        with np.errstate(divide="ignore", invalid="ignore"):
            lower, upper = wilson(smooth, smooth * (1 - smooth) / error**2, quantile)
        near = (2 * smooth - 1) ** 2
        low = np.where(smooth > 0.5, low + near * np.fmax(lower - low, 0), low)
        high = np.where(smooth < 0.5, high + near * np.fmin(upper - high, 0), high)
    for number in range(size):
        if not votes[number]:
            found.append(absent(ALONE))
        elif variance is None:
            found.append(Estimate(rate[number], n=int(votes[number]), direction="higher"))
        else:
            ends = min(low[number], rate[number]), max(high[number], rate[number])
            found.append(
                Estimate(rate[number], *ends, n=int(votes[number]), method="clustered t", direction="higher")
            )
    return found


def _pairs(
    names: Sequence[str],
    group: Indices,
    strength: Array,
    errors: _Errors,
    known: bool,
    table: tuple[Indices, Indices, Indices],
    reason: str | None,
) -> list[PreferencePair]:
    from scipy.special import expit

    index = np.array(list(combinations(range(len(names)), 2)), dtype=np.int64).reshape(-1, 2)
    if not index.size:
        return []
    a, b = index.T
    contrast = np.zeros((len(index), len(names)))
    contrast[np.arange(len(index)), a], contrast[np.arange(len(index)), b] = 1, -1
    difference = strength[a] - strength[b]
    there = (group[a] == group[b]) & (group[a] >= 0)
    lows, highs, least, most, p = errors.around(contrast, difference)
    p = np.where(there & known, p, np.nan)
    adjusted = holm(p)
    wins, ties, bad = table
    result = []
    for row, (i, j) in enumerate(index.tolist()):
        votes = int(wins[i, j] + wins[j, i] + ties[i, j] + bad[i, j])
        if not there[row]:
            probability = gap = absent(APART)
        elif not known:
            probability = Estimate(expit(difference[row]), n=votes, reason=reason)
            gap = Estimate(difference[row], n=votes, reason=reason)
        else:
            low, high = lows[row], highs[row]
            gap = Estimate(difference[row], low, high, votes, "clustered t")
            probability = Estimate(
                expit(difference[row]), least[row], most[row], votes, "clustered t on log odds"
            )
        some = not np.isnan(p[row])
        result.append(
            PreferencePair(
                names[i],
                names[j],
                probability,
                gap,
                float(p[row]) if some else None,
                float(adjusted[row]) if some else None,
                bool(some and adjusted[row] < 1 - errors.confidence),
                votes,
                int(wins[i, j]),
                int(wins[j, i]),
                int(ties[i, j]),
                int(bad[i, j]),
            )
        )
    return result


def _systems(
    names: Sequence[str],
    strength: Array,
    group: Indices,
    errors: _Errors,
    known: bool,
    rates: Sequence[Estimate],
    pairs: Sequence[PreferencePair],
    table: tuple[Indices, Indices, Indices],
    reason: str | None,
) -> list[RankedSystem]:
    from scipy.special import expit, stdtrit

    above, below = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for pair in pairs:
        if pair.significant and pair.difference.value is not None:
            higher = pair.difference.value > 0
            winner, loser = (pair.first, pair.second) if higher else (pair.second, pair.first)
            below[winner] += 1
            above[loser] += 1
    same = (group[:, None] == group[None]) & (group >= 0)[:, None]
    np.fill_diagonal(same, False)
    fellows = same.sum(axis=1)
    others = same / np.maximum(fellows, 1)[:, None]
    # The lead over the mean of the others is the strength times their number over that with itself.
    shrink = fellows / np.maximum(fellows + 1, 1)
    lead = np.nan_to_num(strength) / np.maximum(shrink, 0.5)
    lows, highs, *_ = errors.around(np.eye(len(names)) - others, lead)
    chance = expit(strength[:, None] - strength[None])
    slope = np.where(same, chance * (1 - chance), 0.0) / np.maximum(fellows, 1)[:, None]
    means = np.where(same, chance, 0.0).sum(axis=1) / np.maximum(fellows, 1)
    error, df = errors.variance.of(np.diag(slope.sum(axis=1)) - slope, 4 * means * (1 - means))
    quantile = stdtrit(np.minimum(df, 1e6), (1 + errors.confidence) / 2)
    wins, ties, bad = table
    rows = []
    for i, name in enumerate(names):
        votes = int(wins[i].sum() + wins[:, i].sum() + ties[i].sum() + bad[i].sum())
        expected, own, elo = (absent(ALONE),) * 3
        if group[i] >= 0:
            at, mean = float(strength[i]), float(means[i])
            if known:
                low, high = float(lows[i] * shrink[i]), float(highs[i] * shrink[i])
                own = Estimate(at, low, high, votes, "clustered t", direction="higher")
                elo = Estimate(_elo(at), _elo(low), _elo(high), votes, "clustered t", direction="higher")
                odds = _within_odds(mean, float(error[i]), float(quantile[i]))
                expected = Estimate(mean, *odds, n=votes, method="clustered t", direction="higher")
            else:
                own, elo, expected = (
                    Estimate(value, n=votes, reason=reason, direction="higher")
                    for value in (at, _elo(at), mean)
                )
        members = int(fellows[i]) + 1
        rows.append(
            RankedSystem(
                name,
                rates[i],
                expected,
                own,
                elo,
                1 + above[name],
                members - below[name],
                int(group[i]),
                votes,
                int(wins[i].sum()),
                int(wins[:, i].sum()),
                int(ties[i].sum()),
                int(bad[i].sum()),
            )
        )
    return rows


def _elo(strength: float) -> float:
    return ELO_MEAN + ELO_SCALE * float(strength)


def _within_odds(mean: float, error: float, quantile: float) -> tuple[float, float]:
    """mean +- quantile x error taken to the scale of log odds and back; Wilson's nearer to one half."""
    from scipy.special import expit, logit

    inside = min(max(mean, 1e-9), 1 - 1e-9)
    room = inside * (1 - inside)
    low, high = (float(expit(logit(inside) + side * quantile * error / room)) for side in (-1, 1))
    if error > 0:
        lower, upper = wilson(np.array([inside]), np.array([room / error**2]), np.array([quantile]))
        low = max(low, float(lower[0])) if mean > 0.5 else low
        high = min(high, float(upper[0])) if mean < 0.5 else high
    return min(mean, low), max(mean, high)
