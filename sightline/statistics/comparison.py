"""Systems judged on the same prompts: means, every pairwise difference, and a ranking that admits ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Direction, Estimate
from sightline.statistics.crossed import Panel, Variance, moderated
from sightline.statistics.intervals import mean_interval
from sightline.statistics.paired import Spread, paired_spread
from sightline.statistics.power import detectable_effect
from sightline.statistics.significance import (
    Each,
    benjamini_hochberg,
    holm,
    paired_bootstrap,
    sign_flip_columns,
)

PairedTest = Literal["sign_flip", "bootstrap"]
PAIRED_TESTS: tuple[str, ...] = get_args(PairedTest)
MOST_DRAWN = 200_000
"""Sign patterns drawn at the most: enough for the 10,000 pairs of some 140 systems."""
CONFOUNDED = "different raters judged the two systems, so that what differs may be the raters"


@dataclass(frozen=True)
class Standing:
    """One system: its mean over its own prompts and the best and worst rank that the tests leave open.

    Systems that share a letter are not significantly different.
    """

    system: str
    mean: Estimate
    best_rank: int
    worst_rank: int
    letters: str = ""


@dataclass(frozen=True)
class Pair:
    """Mean of first minus second over the n prompts that both answered, with p and Holm-adjusted p.

    `p_bh` is p adjusted after Benjamini and Hochberg, which bounds the false discovery rate. `detectable` is
    the difference that the test would find with a power of 80 %, and `undetectable` why there is none.
    `raters` is the proportion of the difference's variance that comes from who judged. With a margin,
    `p_equivalent` tests that the difference is beyond it, after Holm. `untested` says why there is no p.
    """

    first: str
    second: str
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    significant: bool
    p_bh: float | None = None
    detectable: float | None = None
    undetectable: str | None = None
    raters: float | None = None
    p_equivalent: float | None = None
    equivalent: bool = False
    untested: str = ""


class Compared(NamedTuple):
    """Standings from the best mean down, and all pairs in order of column."""

    permutations: int
    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]


def compare(
    matrix: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    direction: Direction = "higher",
    scale: tuple[float | None, float | None] = (None, None),
    panel: Panel | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    permutations: int | None = None,
    seed: int = 0,
    test: PairedTest = "sign_flip",
    power: bool = True,
    each: Each | None = None,
) -> Compared:
    """Compare the columns (systems) of a prompts x systems matrix in which NaN means missing.

    Means have intervals that keep to the `scale`; differences are paired by prompt, p by sign flips (or by
    `test="bootstrap"`), Holm over all pairs. With a `panel` of raters (its units the rows, its systems the
    columns) means and differences hold for other raters too: the variance of their effects is added, and p
    is the larger of sign flips and the t test with that variance. Pairs that different raters judged are not
    tested. A system's best rank is 1 + the number of systems significantly above it, its worst the number of
    systems minus those significantly below. With a `margin`, two one-sided tests say which pairs are
    equivalent: within the margin of each other. Better means come first, as `direction` has it. Without
    `power` no detectable effect is looked for, which takes most of the time where systems are few. `each`
    computes what is drawn of single pairs, or of some; the result does not depend on it.
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"a prompts x systems matrix is needed, not shape {values.shape}")
    if test not in PAIRED_TESTS:
        raise ValueError(f"test {test!r} is none of {', '.join(PAIRED_TESTS)}")
    systems = values.shape[1]
    if permutations is None:
        # The smallest p that can be drawn must survive Holm's factor with room to spare.
        permutations = min(MOST_DRAWN, max(10_000, 20 * systems * (systems - 1) // 2 * 20))
    named = [str(number) for number in range(systems)] if names is None else list(names)
    pairs = _pairs(values, named, scale, panel, margin, confidence, permutations, seed, test, power, each)
    standings = ranked(named, means_of(values, scale, panel, confidence), pairs, direction)
    return Compared(permutations, tuple(standings), tuple(pairs))


def ranked(
    names: Sequence[str], means: Sequence[Estimate], pairs: Sequence[Pair], direction: Direction
) -> list[Standing]:
    """The systems by mean, best first, with the ranks and letters that the tests of pairs leave them."""
    sign = -1.0 if direction == "lower" else 1.0
    above, below = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    apart = set()
    for pair in pairs:
        if pair.significant and pair.difference.value is not None:
            first_wins = sign * pair.difference.value > 0
            winner, loser = (pair.first, pair.second) if first_wins else (pair.second, pair.first)
            below[winner] += 1
            above[loser] += 1
            apart |= {(winner, loser), (loser, winner)}
    known = sorted(
        zip(names, means, strict=True), key=lambda each: (each[1].value is None, -sign * (each[1].value or 0))
    )
    letters = _letters([name for name, _ in known], apart)
    return [
        Standing(name, mean, 1 + above[name], len(names) - below[name], letters[name]) for name, mean in known
    ]


def _letters(names: Sequence[str], apart: set[tuple[str, str]]) -> dict[str, str]:
    """Compact letters: two systems share one if and only if they are not significantly different.

    Source: Piepho, Journal of Computational and Graphical Statistics 13 (2004), insert and absorb.
    """
    groups = [set(names)]
    for first, second in combinations(names, 2):
        if (first, second) in apart:
            split = [part for each in groups for part in _without_both(each, first, second)]
            groups = [each for i, each in enumerate(split) if not any(
                each < other or (each == other and i > j) for j, other in enumerate(split)
            )]  # fmt: skip
    groups.sort(key=lambda each: sorted(names.index(name) for name in each))
    if len(groups) > 26:
        return dict.fromkeys(names, "")
    return {name: "".join(chr(97 + i) for i, each in enumerate(groups) if name in each) for name in names}


def _without_both(group: set[str], first: str, second: str) -> list[set[str]]:
    return [group - {first}, group - {second}] if {first, second} <= group else [group]


def means_of(
    values: np.ndarray,
    scale: tuple[float | None, float | None] = (None, None),
    panel: Panel | None = None,
    confidence: float = 0.95,
) -> list[Estimate]:
    """The mean of every column with an interval over prompts, and over raters where a panel is given."""
    means = []
    for number, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        variance = None
        if panel is not None and known.size > 1:
            own = float(known.var(ddof=1)) / known.size
            variance = panel.variance(own, number, units=~np.isnan(column))
        means.append(
            mean_interval(column, low=scale[0], high=scale[1], variance=variance, confidence=confidence)
        )
    return means


def _pairs(
    values: np.ndarray,
    names: Sequence[str],
    scale: tuple[float | None, float | None],
    panel: Panel | None,
    margin: float | None,
    confidence: float,
    permutations: int,
    seed: int,
    test: PairedTest,
    power: bool,
    each: Each | None,
) -> list[Pair]:
    index = list(combinations(range(values.shape[1]), 2))
    if not index:
        return []
    first, second = np.array(index).T
    differences = values[:, first] - values[:, second]
    if test == "bootstrap":
        tested = partial(paired_bootstrap, resamples=permutations, seed=seed)
        drawn = [one.p for one in (each or map)(tested, list(differences.T))]
        p = np.array([np.nan if one is None else one for one in drawn])
    else:
        p = sign_flip_columns(differences, permutations=permutations, seed=seed, each=each)
    width = None if scale[0] is None or scale[1] is None else scale[1] - scale[0]
    variances = _variances(differences, index, panel)
    spreads = [
        paired_spread(
            differences[:, column],
            width=width,
            raters=variances[column],
            level=_level(values[:, b], differences[:, column], scale[0]),
        )
        for column, (_, b) in enumerate(index)
    ]
    confounded = [panel is not None and panel.confounded(a, b, seed) for a, b in index]
    for column, spread in enumerate(spreads):
        if confounded[column]:
            p[column] = np.nan
        elif spread.variance.raters:
            p[column] = max(p[column], spread.p(0.0))
    adjusted, by_share = holm(p), benjamini_hochberg(p)
    same = np.array([_p_equivalent(one, margin, confounded[i]) for i, one in enumerate(spreads)])
    same = holm(same)
    alpha = (1 - confidence) / len(index)
    return [
        Pair(
            names[a],
            names[b],
            _difference(spreads[column], confidence, confounded[column]),
            _or_none(p[column]),
            _or_none(adjusted[column]),
            bool(adjusted[column] < 1 - confidence),
            _or_none(by_share[column]),
            *(
                (None, CONFOUNDED)
                if confounded[column]
                else detectable_effect(differences[:, column], spreads[column], alpha, many=len(index))
                if power
                else (None, "not asked for")
            ),
            raters=None if panel is None or confounded[column] else spreads[column].variance.proportion,
            p_equivalent=_or_none(same[column]),
            equivalent=bool(same[column] < 1 - confidence),
            untested=CONFOUNDED if confounded[column] else "",
        )
        for column, (a, b) in enumerate(index)
    ]


def _difference(spread: Spread, confidence: float, confounded: bool) -> Estimate:
    """The difference; no interval where it may be one of raters."""
    whole = spread.interval(confidence)
    return replace(whole, low=None, high=None, reason=CONFOUNDED) if confounded else whole


def _variances(
    differences: np.ndarray, index: Sequence[tuple[int, int]], panel: Panel | None
) -> list[Variance | None]:
    if panel is None:
        return [None] * len(index)
    known = ~np.isnan(differences)
    variances = [
        panel.variance(0.0 if n < 2 else float(np.nanvar(differences[:, column], ddof=1)) / n, a, b, units)
        for column, (a, b) in enumerate(index)
        for units in [known[:, column]]
        for n in [int(units.sum())]
    ]
    return [*moderated(variances, panel.shape[0])]


def _level(values: np.ndarray, differences: np.ndarray, low: float | None) -> float | None:
    known = values[~np.isnan(differences)]
    return None if low is None or not known.size else float(known.mean()) - low


def _p_equivalent(spread: Spread, margin: float | None, confounded: bool) -> float:
    if margin is None or confounded or spread.n < 2:
        return float("nan")
    return max(spread.p_beyond(-margin, "greater"), spread.p_beyond(margin, "less"), spread.rare(margin))


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
