"""How well a measure follows people: pooled, within prompts, within systems and between systems.

The levels answer different questions, and a measure may follow people on one and contradict them on another
(Simpson's paradox): pooled correlations mix how hard prompts are with which answer is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.estimate import Estimate
from sightline.statistics.correlation import LEAST_PAIRS, midranks
from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.intervals import mean_interval
from sightline.statistics.paired import paired_spread
from sightline.statistics.significance import holm, sign_flip

Flags = NDArray[np.bool_]

LEVELS = ("pooled", "within prompts", "within systems", "between systems")
SURE = 0.05
MOST_PARTS = 40
"""Parts that prompts are divided into where one after the other is left out."""
SMALL_GROUP = 40
"""Groups up to this size are computed many at once, from all their pairs."""
CELLS = 250_000
"""Pairs that are computed at once."""
BINS = 4096
"""Ranges of differences that are counted to find the one with the best threshold."""
RANKED = ("spearman", "kendall", "plcc")
FEW_SYSTEMS = "systems are too few for an interval"
UNMAPPED = "too few items to map the measure onto people's scale"
FITTED = 5
"""Parameters of the mapping, which cost the error as many degrees of freedom (ITU-T P.1401)."""

# Below these numbers simulated intervals leave the range of .93 to .97: benchmarks/trust_coverage.py.
LEAST_PROMPTS = {"spearman": 8, "kendall": 8, "plcc": 40, "rmse": 200}
FEW_ANSWERS, LEAST_WITH_FEW, LEAST_PAIRS_OF_ANSWERS = 6, 20, 10
LEAST_SYSTEMS = {"spearman": 8, "kendall": 15, "plcc": 5}


class Items(NamedTuple):
    """One row per item: a measure, its mapping onto people's scale, people's value, and whose it is.

    `unit` is the family of the prompt: what is left out or counted together. `system` is -1 for none. `drawn`
    says what units are; images that answer no prompt are drawn themselves, or by their references.
    """

    measure: Array
    mapped: Array
    people: Array
    prompt: Indices
    unit: Indices
    system: Indices
    drawn: str = "prompts"

    def of(self, rows: Flags | Indices) -> Items:
        return Items(
            self.measure[rows], self.mapped[rows], self.people[rows], self.prompt[rows], self.unit[rows],
            self.system[rows], self.drawn,
        )  # fmt: skip


class Level(NamedTuple):
    """The statistics of a level; each one's n counts prompts, between systems systems.

    `parts` are jackknife pseudo-values of Spearman's rho, one for each part of the prompts, about the
    coefficient itself; those of two measures of the same items are paired.
    """

    level: str
    items: int
    spearman: Estimate
    kendall: Estimate
    plcc: Estimate
    rmse: Estimate
    accuracy: Estimate
    parts: Array


class SystemPair(NamedTuple):
    """Two systems: the first is the better one by people, or by the measure where people see no difference.

    `people` and `measure` are 1, 0 or -1: significantly better, no significant difference, worse.
    """

    first: int
    second: int
    people: int
    measure: int


class Levels(NamedTuple):
    """The levels that items have, in which direction the measure is read (1 or -1), and pairs of systems."""

    levels: dict[str, Level]
    sign: float
    pairs: list[SystemPair]

    @property
    def headline(self) -> Level:
        """Within prompts where prompts have several answers, else pooled."""
        return self.levels.get("within prompts", self.levels["pooled"])


def at_levels(
    items: Items, once: Items | None = None, distinct: Flags | None = None, sign: float | None = None
) -> Levels:
    """The levels that items have.

    Where an item belongs to several prompts or systems, pooled takes `once`, in which each stands once, and
    within prompts those that are `distinct`. `sign` is -1 where a lower measure should mean a higher value of
    people; without one the measure is read in the direction in which it follows people at the headline.
    """
    levels = {"pooled": pooled(once or items)}
    if levels["pooled"].spearman.value is None:
        return Levels(levels, sign or 1.0, [])
    systems = np.unique(items.system)
    several = systems.size > 0 and systems[0] >= 0
    if several:
        levels["within prompts"] = within_prompts(items if distinct is None else items.of(distinct), sign)
        levels["within systems"] = within_systems(items)
        levels = {name: each for name, each in levels.items() if each.spearman.value is not None}
    read = Levels(levels, sign or 1.0, [])
    if sign is None and (read.headline.spearman.value or 0) < 0:
        read = read._replace(sign=-1.0)
    if not several or systems.size < 2:
        return read
    levels["between systems"], pairs = between_systems(items, read.sign)
    return read._replace(pairs=pairs)


def pooled(items: Items) -> Level:
    """All items together; the interval is over prompts, since images of one prompt resemble each other."""
    errors = items.people - items.mapped

    def value(keep: Flags) -> Array:
        found = coefficients(items.measure[keep], items.mapped[keep], items.people[keep])
        return np.append(found, _root(errors[keep] ** 2, int(keep.sum()) - FITTED))

    return _leaving_out("pooled", items, value)


def within_systems(items: Items) -> Level:
    """The mean over systems of the coefficient over each one's answers; systems are fixed, prompts drawn."""
    errors = items.people - items.mapped
    _, system = np.unique(items.system, return_inverse=True)

    def value(keep: Flags) -> Array:
        x, mapped, y = items.measure[keep], items.mapped[keep], items.people[keep]
        found = grouped_coefficients(x, mapped, y, system[keep])
        known = found[~np.isnan(found[:, 0])]
        means = known.mean(axis=0) if len(known) else np.full(3, np.nan)
        return np.append(means, _spread_within(errors[keep], system[keep], FITTED - 1))

    return _leaving_out("within systems", items, value)


def within_prompts(items: Items, sign: float | None = None) -> Level:
    """The mean over prompts of the coefficient over each one's answers; prompts of a family count once."""
    name = "within prompts"
    _, prompt = np.unique(items.prompt, return_inverse=True)
    _, unit = np.unique(items.unit, return_inverse=True)
    of_prompt = np.zeros(int(prompt.max(initial=-1)) + 1, dtype=np.int64)
    of_prompt[prompt] = unit
    values = grouped_coefficients(items.measure, items.mapped, items.people, prompt)
    per_unit = np.column_stack([_means_by(of_prompt, column) for column in values.T])
    known = ~np.isnan(per_unit[:, 0])
    n = int(known.sum())
    if n == 0:
        return _without(name, "no prompt has several answers that people judge differently", items)
    # The coefficients of a few answers take few values, and their mean needs more prompts.
    few = float(np.median(np.bincount(prompt))) < FEW_ANSWERS
    rho, tau, r = (_mean_on_z(per_unit[known, at], n, which, few) for at, which in enumerate(RANKED))
    r = _if_correlated(r, rho)
    errors = items.people - items.mapped
    part = _parts(unit)
    left = [_spread_within(errors[part != each], prompt[part != each]) for each in range(part.max() + 1)]
    read = (sign or (-1.0 if (rho.value or 0) < 0 else 1.0)) * items.measure
    alike = grouped_accuracy(read, items.people, prompt, tie_threshold(read, items.people, prompt))
    return Level(
        name, int((np.bincount(prompt)[prompt] > 1).sum()), rho, tau, r,
        _rmse(_spread_within(errors, prompt), np.array(left), n, items.drawn),
        mean_interval(_means_by(of_prompt, alike), low=0.0, high=1.0), per_unit[:, 0],
    )  # fmt: skip


def between_systems(items: Items, sign: float = 1.0) -> tuple[Level, list[SystemPair]]:
    """The order of systems by their means over prompts, and every pair of them by number.

    `sign` is -1 where a lower measure should mean a higher value of people. The accuracy is that of pairs,
    with differences that are not significant as ties: (same order + tied in both) / pairs. Source: Deutsch,
    Foster and Freitag, Ties matter, EMNLP (2023).
    """
    name = "between systems"
    _, system = np.unique(items.system, return_inverse=True)
    measure, mapped, people = (_by_system(each, items.unit, system) for each in items[:3])
    means = [np.nanmean(each, axis=0) for each in (measure, mapped, people)]
    n = means[0].size
    pairs = _system_pairs(sign * measure, people)
    if n < 3:
        rho = tau = r = Estimate(None, n=n, reason="two systems are too few for a correlation")
    else:
        values = coefficients(_rounded(means[0]), means[1], _rounded(means[2]))
        rho, tau, r = (
            _over_systems(float(each), n, which) for each, which in zip(values, RANKED, strict=True)
        )
    alike = sum(pair.people == pair.measure for pair in pairs) / len(pairs)
    error = _root((means[1] - means[2]) ** 2, n)
    level = Level(
        name, len(items.people), rho, tau, r,
        Estimate(None, n=n, reason=UNMAPPED) if np.isnan(error) else Estimate(error, n=n, reason=FEW_SYSTEMS),
        Estimate(alike, n=len(pairs), reason="pairs of systems are not independent"), np.zeros(0),
    )  # fmt: skip
    return level, pairs


def coefficients(x: Array, mapped: Array, y: Array) -> Array:
    """Spearman's rho, Kendall's tau-b and Pearson's r after the mapping, of one group of items.

    NaN where people see no difference. 0 where they do and the measure sees none: leaving such groups out
    would flatter it. Source: Deutsch, Foster and Freitag, Ties matter, EMNLP (2023).
    """
    from scipy.stats import kendalltau

    if len(y) < 2 or np.ptp(y) == 0:
        return np.full(3, np.nan)
    if np.ptp(x) == 0:
        return np.zeros(3)
    tau = float(kendalltau(x, y, method="asymptotic").statistic)
    columns = (midranks(x), midranks(y)), (mapped, y)
    rho, r = (float(_cosines(_centred(a[None]), _centred(b[None]))[0]) for a, b in columns)
    return np.array([rho, tau, r])


def grouped_coefficients(x: Array, mapped: Array, y: Array, group: Indices) -> Array:
    """`coefficients` of every group from 0 to the highest: groups x 3."""
    out = np.full((int(group.max(initial=-1)) + 1, 3), np.nan)
    for which, rows in _blocks(group):
        if rows.shape[1] > SMALL_GROUP:
            for one, own in zip(which, rows, strict=True):
                out[one] = coefficients(x[own], mapped[own], y[own])
            continue
        signs = [np.sign(each[rows][:, :, None] - each[rows][:, None, :]) for each in (x, y)]
        # The sum of a row of signs is twice the centred mid-rank.
        ranks, order = (each.sum(axis=2) for each in signs)
        found = np.column_stack([
            _cosines(ranks, order),
            _cosines(*(each.reshape(len(rows), -1) for each in signs)),
            _cosines(_centred(mapped[rows]), _centred(y[rows])),
        ])  # fmt: skip
        found[~order.any(axis=1)] = np.nan
        out[which] = found
    return out


def tie_threshold(x: Array, y: Array, group: Indices) -> float:
    """The difference in x up to which two items of a group are best taken for tied: tie calibration.

    Of all thresholds the one with the highest accuracy over all pairs, (same order + tied in both) / pairs:
    people's values are often equal, those of most measures never. Source: Deutsch, Foster and Freitag, Ties
    matter: meta-evaluating modern metrics with pairwise accuracy and tie calibration, EMNLP (2023).
    """
    highest = float(np.ptp(x)) or 1.0
    counts, sums, most = np.zeros((3, BINS))
    counts[0] = 1.0  # the threshold 0, which there is without any pair
    for gap, gain in _tie_gains(x, y, group):
        place = _bin(gap, highest)
        counts += np.bincount(place, minlength=BINS)
        sums += np.bincount(place, gain, minlength=BINS)
        most += np.bincount(place, np.maximum(gain, 0.0), minlength=BINS)
    # Pairs are too many to sort: only ranges that may hold a better threshold than the end of any are.
    ends = np.cumsum(sums)
    before = ends - sums
    open_ = (counts > 0) & (before + most >= ends[counts > 0].max())
    best, found = -np.inf, 0.0
    for some in _few_pairs(np.flatnonzero(open_), counts):
        gaps, gains = [np.zeros(int(some[0] == 0))], [np.zeros(int(some[0] == 0))]
        for gap, gain in _tie_gains(x, y, group):
            own = np.isin(_bin(gap, highest), some)
            gaps.append(gap[own])
            gains.append(gain[own])
        gap, gain = np.concatenate(gaps), np.concatenate(gains)
        order = np.argsort(gap, kind="stable")
        gap, gain, place = gap[order], gain[order], _bin(gap[order], highest)
        starts = np.cumsum(gain) - gain
        first = np.searchsorted(place, place)
        reached = before[place] + np.cumsum(gain) - starts[first]
        last = np.append(gap[1:] > gap[:-1], True)
        top = int(np.argmax(reached[last]))
        if reached[last][top] > best:
            best, found = float(reached[last][top]), float(gap[last][top])
    return found


def _tie_gains(x: Array, y: Array, group: Indices) -> Iterator[tuple[Array, Array]]:
    """The difference in x of each pair within a group, and what calling it tied adds to the pairs right."""
    for dx, dy, _ in _pair_differences(x, y, group):
        # Calling a pair tied is right where people tie it, and wrong where the order was right.
        gain = 1.0 * (dy == 0) - ((np.sign(dx) == np.sign(dy)) & (dx != 0))
        yield np.abs(dx).ravel(), gain.ravel()


def _bin(gap: Array, highest: float) -> Indices:
    return np.minimum(gap / highest * BINS, BINS - 1).astype(np.int64)


def _few_pairs(bins: Indices, counts: Array) -> list[Indices]:
    """Bins in their order, together as long as their pairs are computed at once."""
    part = (np.cumsum(counts[bins]) // CELLS).astype(np.int64)
    return [bins[part == each] for each in np.unique(part)]


def grouped_accuracy(x: Array, y: Array, group: Indices, threshold: float = 0.0) -> Array:
    """The proportion of the pairs within each group that x and y order, or tie, alike; NaN without pairs."""
    out = np.full(int(group.max(initial=-1)) + 1, np.nan)
    for dx, dy, which in _pair_differences(x, y, group):
        ordered = np.where(np.abs(dx) <= threshold, 0.0, np.sign(dx))
        out[which] = (ordered == np.sign(dy)).mean(axis=1)
    return out


def _pair_differences(x: Array, y: Array, group: Indices) -> Iterator[tuple[Array, Array, Indices]]:
    """The differences of all pairs within groups of one size, groups x pairs, and which groups they are."""
    for which, rows in _blocks(group):
        first, second = np.triu_indices(rows.shape[1], 1)
        step = max(1, CELLS // first.size)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            yield (
                x[part][:, first] - x[part][:, second],
                y[part][:, first] - y[part][:, second],
                which[start : start + step],
            )


def _blocks(group: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Groups of two or more rows, those of one size together: their numbers, and groups x size rows."""
    sizes = np.bincount(group)
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 1]):
        which = np.flatnonzero(sizes == size)
        step = max(1, CELLS // int(size) ** 2)
        for start in range(0, len(which), step):
            own = which[start : start + step]
            yield own, order[starts[own][:, None] + np.arange(size)]


def _leaving_out(name: str, items: Items, value: Callable[[Flags], Array]) -> Level:
    """A level whose intervals come from leaving out one part of the prompts after the other."""
    n, why = int(np.unique(items.unit).size), _why_undefined(items)
    whole = np.full(4, np.nan) if why else value(np.ones(len(items.people), dtype=np.bool_))
    if why or np.isnan(whole[0]):
        return _without(name, why or "no system has items that people judge differently", items)
    part = _parts(items.unit)
    left = np.array([value(part != each) for each in range(int(part.max()) + 1)])
    rho, tau, r = (
        _on_z(float(whole[at]), left[:, at], n, LEAST_PROMPTS[which], items.drawn)
        for at, which in enumerate(RANKED)
    )
    r = _if_correlated(r, rho)
    return Level(
        name, len(items.people), rho, tau, r, _rmse(float(whole[3]), left[:, 3], n, items.drawn),
        Estimate(None, reason="pairs are compared within prompts and between systems"),
        whole[0] - (len(left) - 1) * (left[:, 0] - left[:, 0].mean()),
    )  # fmt: skip


def _parts(unit: Indices) -> Indices:
    """Which part each row is in: units one by one, or in so many parts at random, the same each time."""
    names, place = np.unique(unit, return_inverse=True)
    if names.size <= MOST_PARTS:
        return np.asarray(place, dtype=np.int64)
    return np.asarray((np.random.default_rng(0).permutation(names.size) % MOST_PARTS)[place], dtype=np.int64)


def _on_z(value: float, left: Array, n: int, least: int, drawn: str = "prompts") -> Estimate:
    """Jackknife on Fisher's scale: tanh(atanh r +- t sqrt((g-1)/g sum (z_i - mean z)^2)), g parts left out.

    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapter 11.
    """
    from scipy.special import stdtrit

    if np.isnan(value):
        return Estimate(None, n=n, reason=UNMAPPED)
    value = float(np.clip(value, -1, 1))
    if n < least:
        return Estimate(value, n=n, reason=f"fewer than {least} {drawn}: simulated intervals do not hold")
    if abs(value) > 1 - 1e-12 or np.isnan(left).any():
        return Estimate(value, n=n, reason=f"no {drawn} disagree: nothing to estimate an interval from")
    z = np.arctanh(np.clip(left, -1 + 1e-12, 1 - 1e-12))
    parts = len(left)
    half = float(stdtrit(parts - 1, 0.975)) * np.sqrt((parts - 1) / parts * ((z - z.mean()) ** 2).sum())
    low, high = (float(np.tanh(np.arctanh(value) + side * half)) for side in (-1, 1))
    return Estimate(value, min(low, value), max(high, value), n, f"jackknife over {drawn}")


def _mean_on_z(values: Array, n: int, which: str, few: bool) -> Estimate:
    """The mean of coefficients of prompts; where each is 1 or -1, as of two answers, it is a proportion."""
    least = max(LEAST_PROMPTS[which], LEAST_WITH_FEW) if few else LEAST_PROMPTS[which]
    if n >= LEAST_PAIRS_OF_ANSWERS and bool((np.abs(values) > 1 - 1e-12).all()):
        return mean_interval(np.sign(values), low=-1.0, high=1.0)
    left = (values.sum() - values) / max(1, n - 1)
    return _on_z(float(values.mean()), left, n, least)


def _if_correlated(r: Estimate, rho: Estimate) -> Estimate:
    """A mapping finds some correlation in noise: no interval holds where there may be none."""
    if rho.low is not None and rho.high is not None and rho.low * rho.high > 0:
        return r
    return replace(
        r, low=None, high=None, reason=r.reason or "a fitted mapping always finds some correlation"
    )


def _rmse(value: float, left: Array, n: int, drawn: str) -> Estimate:
    """Root mean squared error; its interval is a jackknife of its logarithm."""
    from scipy.special import stdtrit

    least = LEAST_PROMPTS["rmse"]
    if not np.isfinite(value):
        return Estimate(None, n=n, reason=UNMAPPED)
    if n < least:
        return Estimate(value, n=n, reason=f"fewer than {least} {drawn}: simulated intervals do not hold")
    if value == 0 or not (left > 0).all():
        return Estimate(value, n=n, reason="no error to estimate an interval from")
    logs, parts = np.log(left), len(left)
    spread = np.sqrt((parts - 1) / parts * ((logs - logs.mean()) ** 2).sum())
    half = float(stdtrit(parts - 1, 0.975)) * spread
    return Estimate(
        value, float(value * np.exp(-half)), float(value * np.exp(half)), n, f"jackknife over {drawn}"
    )


def _over_systems(value: float, n: int, which: str) -> Estimate:
    """A coefficient of n systems: tanh(atanh r +- z s), s by Fisher, Bonett and Wright, or Fieller.

    Coefficients of ranks are drawn in by 2 / n^2 first: n systems in the same order leave room for others.
    """
    from scipy.special import ndtri

    if np.isnan(value):
        return Estimate(None, n=n, reason=UNMAPPED if which == "plcc" else "people see no difference")
    if n < LEAST_SYSTEMS[which]:
        reason = f"fewer than {LEAST_SYSTEMS[which]} systems: no interval holds"
        return Estimate(value, n=n, reason=reason)
    inside = float(np.clip(value, -1 + 2 / n**2, 1 - 2 / n**2))
    error = {
        "spearman": np.sqrt((1 + inside**2 / 2) / (n - 3)),
        "kendall": np.sqrt(0.437 / (n - 4)),
        "plcc": 1 / np.sqrt(n - 3),
    }[which]
    middle, half = np.arctanh(inside), ndtri(0.975) * error
    low, high = float(np.tanh(middle - half)), float(np.tanh(middle + half))
    return Estimate(value, min(low, value), max(high, value), n, "over systems")


def _system_pairs(measure: Array, people: Array) -> list[SystemPair]:
    """Every pair of systems (columns; rows are prompts), tested by paired t, adjusted after Holm."""
    pairs = list(combinations(range(people.shape[1]), 2))
    verdicts = [_orders(values, pairs) for values in (people, measure)]
    found = []
    for (a, b), of_people, of_measure in zip(pairs, *verdicts, strict=True):
        turn = of_people < 0 or (of_people == 0 and of_measure < 0)
        pair = SystemPair(a, b, of_people, of_measure)
        found.append(SystemPair(b, a, -of_people, -of_measure) if turn else pair)
    return found


def _orders(values: Array, pairs: Sequence[tuple[int, int]]) -> list[int]:
    spreads = [paired_spread(values[:, a] - values[:, b]) for a, b in pairs]
    p = np.array([each.p(0.0) if each.n > 1 else 1.0 for each in spreads])
    return [
        int(np.sign(each.mean)) if adjusted < SURE else 0
        for each, adjusted in zip(spreads, holm(p), strict=True)
    ]


def _by_system(values: Array, unit: Indices, system: Indices) -> Array:
    """Units x systems: the mean of each cell, NaN where there is none."""
    names, row = np.unique(unit, return_inverse=True)
    systems = int(system.max()) + 1
    cell = row * systems + system
    counts = sum_by(cell, np.ones(len(values)), names.size * systems)
    sums = sum_by(cell, values, names.size * systems)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means.reshape(names.size, systems)


def _means_by(group: Indices, values: Array) -> Array:
    """The mean of the values of each group that are not NaN."""
    known = ~np.isnan(values)
    counts, sums = sum_by(group, known), sum_by(group, np.where(known, values, 0.0))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _spread_within(errors: Array, group: Indices, fitted: int = 0) -> float:
    """The root mean square of errors about their group's mean, with one degree of freedom less per group."""
    counts = np.bincount(group)
    centred = errors - (sum_by(group, errors) / np.maximum(counts, 1))[group]
    return _root(centred**2, int(np.maximum(counts - 1, 0).sum()) - fitted)


def _root(squares: Array, freedom: int) -> float:
    return float(np.sqrt(squares.sum() / freedom)) if freedom > 0 else np.nan


def _why_undefined(items: Items) -> str:
    if len(items.people) < LEAST_PAIRS:
        return f"{len(items.people)} items; a correlation needs {LEAST_PAIRS}"
    return "the measure is constant" if np.ptp(items.measure) == 0 else (
        "people see no difference" if np.ptp(items.people) == 0 else ""
    )  # fmt: skip


def _without(name: str, why: str, items: Items) -> Level:
    none = Estimate(None, n=int(np.unique(items.unit).size), reason=why)
    return Level(name, len(items.people), none, none, none, none, none, np.zeros(0))


def _rounded(values: Array) -> Array:
    """Values without the last bits, in which equal means may differ."""
    return np.asarray(np.round(values / max(float(np.abs(values).max()), 1e-300), 12))


def _centred(rows: Array) -> Array:
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def _cosines(a: Array, b: Array) -> Array:
    """The cosine of each row of a with that of b, 0 where either is zero."""
    size = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(size > 0, size, 1.0))


class Difference(NamedTuple):
    """How much more closely the first of two measures follows people, with its test."""

    estimate: Estimate
    p: float | None


def difference(first: Level, second: Level, signs: tuple[float, float], seed: int = 0) -> Difference:
    """The difference of two coefficients of the same items at one level, in the direction of agreement.

    Paired pseudo-values of the parts: Student's interval, and p by sign flips.
    """
    gaps = signs[0] * first.parts - signs[1] * second.parts
    found = sign_flip(gaps, seed=seed)
    estimate = paired_spread(gaps, width=2.0).interval()
    return Difference(replace(estimate, n=min(first.spearman.n, second.spearman.n)), found.p)
