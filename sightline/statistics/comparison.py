"""Systems judged on the same prompts: means, every pairwise difference, and a ranking that admits ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Direction, Estimate
from sightline.statistics.intervals import mean_interval
from sightline.statistics.significance import (
    benjamini_hochberg,
    holm,
    minimum_detectable_effect,
    paired_bootstrap,
    sign_flip_columns,
    varies,
)

PairedTest = Literal["sign_flip", "bootstrap"]
PAIRED_TESTS: tuple[str, ...] = get_args(PairedTest)
MOST_DRAWN = 200_000
"""Sign patterns drawn at the most: enough for the 10,000 pairs of some 140 systems."""


@dataclass(frozen=True)
class Standing:
    """One system: its mean over its own prompts and the best and worst rank that the tests leave open."""

    system: str
    mean: Estimate
    best_rank: int
    worst_rank: int


@dataclass(frozen=True)
class Pair:
    """Mean of first minus second over the n prompts that both answered, with p and Holm-adjusted p.

    `p_bh` is p adjusted after Benjamini and Hochberg, which bounds the false discovery rate.
    `detectable` is the difference that n prompts with this spread would find with a power of 80 %, and
    `undetectable` why there is none.
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


class Compared(NamedTuple):
    """Standings from the best rank down, equal ones by mean, and all pairs in order of column."""

    permutations: int
    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]


def compare(
    matrix: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    direction: Direction = "higher",
    confidence: float = 0.95,
    permutations: int | None = None,
    seed: int = 0,
    test: PairedTest = "sign_flip",
) -> Compared:
    """Compare the columns (systems) of a prompts x systems matrix in which NaN means missing.

    Differences are paired by prompt: Student's interval, p by sign flips (or by `test="bootstrap"`), Holm
    over all pairs, and the smallest difference that would be found at Holm's strictest step. A system's best
    rank is 1 + the number of systems significantly above it, its worst the number of systems minus those
    significantly below: systems whose ranges overlap are not significantly different. Better values rank
    first, as `direction` has it; names are by default the numbers of the columns.
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
    sign = -1.0 if direction == "lower" else 1.0
    pairs = _pairs(values, named, confidence, permutations, seed, test)
    above, below = dict.fromkeys(named, 0), dict.fromkeys(named, 0)
    for pair in pairs:
        if pair.significant and pair.difference.value is not None:
            first_wins = sign * pair.difference.value > 0
            winner, loser = (pair.first, pair.second) if first_wins else (pair.second, pair.first)
            below[winner] += 1
            above[loser] += 1
    standings = [
        Standing(name, mean_interval(column, confidence=confidence), 1 + above[name], systems - below[name])
        for name, column in zip(named, values.T, strict=True)
    ]
    order = sorted(range(systems), key=lambda number: _from_the_top(standings[number], sign, number))
    return Compared(permutations, tuple(standings[number] for number in order), tuple(pairs))


def _pairs(
    values: np.ndarray,
    names: Sequence[str],
    confidence: float,
    permutations: int,
    seed: int,
    test: PairedTest,
) -> list[Pair]:
    index = list(combinations(range(values.shape[1]), 2))
    if not index:
        return []
    first, second = np.array(index).T
    differences = values[:, first] - values[:, second]
    if test == "bootstrap":
        drawn = (paired_bootstrap(each, resamples=permutations, seed=seed).p for each in differences.T)
        p = np.array([np.nan if each is None else each for each in drawn])
    else:
        p = sign_flip_columns(differences, permutations=permutations, seed=seed)
    adjusted, by_share = holm(p), benjamini_hochberg(p)
    alpha = (1 - confidence) / len(index)
    return [
        Pair(
            names[a],
            names[b],
            mean_interval(differences[:, column], confidence=confidence),
            _or_none(p[column]),
            _or_none(adjusted[column]),
            bool(adjusted[column] < 1 - confidence),
            _or_none(by_share[column]),
            *_detectable(differences[:, column], alpha),
        )
        for column, (a, b) in enumerate(index)
    ]


def _detectable(differences: np.ndarray, alpha: float) -> tuple[float | None, str | None]:
    known = differences[~np.isnan(differences)]
    if known.size < 2:
        return None, "fewer than two prompts in common"
    if not varies(known):
        # From no spread the formula would make 0: that any difference, however small, is found.
        return None, "the differences do not vary"
    return minimum_detectable_effect(known.std(ddof=1), known.size, alpha=alpha), None


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _from_the_top(standing: Standing, sign: float, number: int) -> tuple[bool, int, int, float, int]:
    # What the paired tests leave open goes first: means over different prompts may order systems wrongly.
    mean = standing.mean.value
    order = 0.0 if mean is None else -sign * mean
    return mean is None, standing.best_rank, standing.worst_rank, order, number
