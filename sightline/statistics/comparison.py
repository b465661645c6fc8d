"""Systems judged on the same prompts: means, every pairwise difference, and a ranking that admits ties."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.intervals import Interval, mean_interval
from sightline.statistics.significance import (
    benjamini_hochberg,
    holm,
    minimum_detectable_difference,
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

    system: int
    mean: Interval
    best_rank: int
    worst_rank: int


@dataclass(frozen=True)
class Pair:
    """Mean of first minus second over the n prompts that both answered, with p and Holm-adjusted p.

    `p_bh` is p adjusted after Benjamini and Hochberg, for readers who bound the share of false alarms.
    `detectable` is the difference that n prompts with this spread would find with a chance of 80 %, and
    `undetectable` why there is none.
    """

    first: int
    second: int
    difference: Interval
    p: float | None
    p_adjusted: float | None
    significant: bool
    p_bh: float | None = None
    detectable: float | None = None
    undetectable: str | None = None


@dataclass(frozen=True)
class Comparison:
    """Standings from the best rank down, equal ones by mean, and all pairs in order of column."""

    permutations: int

    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]


def compare(
    matrix: ArrayLike,
    *,
    confidence: float = 0.95,
    permutations: int | None = None,
    seed: int = 0,
    test: PairedTest = "sign_flip",
) -> Comparison:
    """Compare the columns (systems) of a prompts x systems matrix in which NaN means missing.

    Differences are paired by prompt: Student's interval, p by sign flips (or by `test="bootstrap"`), Holm
    over all pairs, and the smallest difference that would be found at Holm's strictest step. A system's best
    rank is 1 + the number of systems significantly above it, its worst the number of systems minus those
    significantly below: systems whose ranges overlap are not told apart. Higher values rank first.
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
    pairs = _pairs(values, confidence, permutations, seed, test)
    above = np.zeros(systems, dtype=np.int64)
    below = np.zeros(systems, dtype=np.int64)
    for pair in pairs:
        if pair.significant and pair.difference.value is not None:
            first_wins = pair.difference.value > 0
            winner, loser = (pair.first, pair.second) if first_wins else (pair.second, pair.first)
            below[winner] += 1
            above[loser] += 1
    standings = [
        Standing(s, mean_interval(column, confidence=confidence), int(1 + above[s]), int(systems - below[s]))
        for s, column in enumerate(values.T)
    ]
    return Comparison(permutations, tuple(sorted(standings, key=_from_the_top)), tuple(pairs))


def _pairs(
    values: np.ndarray, confidence: float, permutations: int, seed: int, test: PairedTest
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
            a,
            b,
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
    return minimum_detectable_difference(known.std(ddof=1), known.size, alpha=alpha), None


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _from_the_top(standing: Standing) -> tuple[bool, int, int, float, int]:
    # What the paired tests leave open goes first: means over different prompts may order systems wrongly.
    mean = standing.mean.value
    order = 0.0 if mean is None else -mean
    return mean is None, standing.best_rank, standing.worst_rank, order, standing.system
