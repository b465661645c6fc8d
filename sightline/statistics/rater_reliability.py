"""How much the votes of each rater say: who guesses weighs little, who voted little weighs the average."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.orders import ImpliedPairs
from sightline.statistics.preferences import modes

LEVELS = np.array([0.0, 0.25, 0.5, 1.0])
"""Slopes on everybody's strengths that a rater may have: 0 guesses, 1 votes like the average.

There is none above: whoever has strong tastes is not heard more than others.
"""
IN_ADVANCE = np.array([0.1, 0.05, 0.05, 15.0])
"""Raters of each slope counted in advance: that somebody guesses must be evident where raters are few."""
TASTES = (0.15, 0.5, 1.0, 2.0)
"""SDs of a rater's own strengths about everybody's."""
FEWEST_VOTES = 5


@dataclass(frozen=True)
class Reliability:
    """A weight per rater, 1 on average over votes, and the SD of tastes that fits best."""

    weight: Array
    taste: float


def rater_reliability(pairs: ImpliedPairs, rater: Indices, strength: Array, raters: int) -> Reliability:
    """The expected slope of each rater, whose own strengths are slope x (everybody's + a taste of their own).

    P(rater r prefers a to b) = 1 / (1 + exp(-c_r (s_a + u_ra - s_b - u_rb))), u normal. Slopes lie on LEVELS;
    how frequent each is, and the SD of tastes, maximise the marginal likelihood (Laplace), so that whoever
    voted little gets the average of all. A rater with a taste of their own is not taken for one who guesses:
    weights depend on how consistent somebody is, hardly on whether others agree, and two systems that are
    alike do not come to differ by leaving out who disagrees.
    `rater` holds the rater of each pair, -1 unknown: those weigh 1.
    """
    known = rater >= 0
    cast = sum_by(rater[known], pairs.share[known], raters)
    enough = np.flatnonzero(cast >= FEWEST_VOTES)
    weight = np.ones(raters)
    if enough.size < 2:
        return Reliability(weight, float("nan"))
    systems = strength.size
    # The frequencies are well known from some hundreds; the weights are then those of everybody.
    most = int(np.clip(4e7 / systems**3, 60, 1000))
    some = enough if enough.size <= most else np.sort(np.random.default_rng(0).permutation(enough)[:most])
    wins = _wins(pairs, rater, some, raters, systems)
    best, frequency, taste = -np.inf, IN_ADVANCE, TASTES[0]
    for spread in TASTES:
        evidence = _evidence(wins, strength, spread)
        found = _frequencies(evidence)
        total = float(_log_sum(evidence + np.log(found)).sum())
        if total > best:
            best, frequency, taste = total, found, spread
    for part in np.array_split(enough, max(1, -(-enough.size * systems**2 // 2**21))):
        evidence = _evidence(_wins(pairs, rater, part, raters, systems), strength, taste)
        posterior = evidence + np.log(frequency)
        posterior = np.exp(posterior - _log_sum(posterior)[:, None])
        weight[part] = posterior @ LEVELS
    weight[np.setdiff1d(np.arange(raters), enough)] = frequency @ LEVELS
    mean = (cast @ weight) / cast.sum()
    return Reliability(weight / mean if mean > 0 else np.ones(raters), taste)


def _wins(pairs: ImpliedPairs, rater: Indices, taken: Indices, raters: int, systems: int) -> Array:
    number = np.full(raters, -1)
    number[taken] = np.arange(taken.size)
    rows = np.flatnonzero((rater >= 0) & (number[np.maximum(rater, 0)] >= 0))
    who, a, b = number[rater[rows]], pairs.a[rows], pairs.b[rows]
    size = taken.size * systems * systems
    above = sum_by((who * systems + a) * systems + b, pairs.share[rows] * pairs.part[rows], size)
    below = sum_by((who * systems + b) * systems + a, pairs.share[rows] * (1 - pairs.part[rows]), size)
    return (above + below).reshape(taken.size, systems, systems)


def _evidence(wins: Array, strength: Array, taste: float) -> Array:
    """Log marginal likelihood of each rater's votes (raters x LEVELS)."""
    evidence = np.empty((len(wins), LEVELS.size))
    evidence[:, 0] = -np.log(2) * wins.sum(axis=(1, 2))
    for column, level in enumerate(LEVELS[1:], 1):
        spread = level * taste
        at, information = modes(wins, spread**-2, level * strength)
        fit = -(wins * np.logaddexp(0, at[:, None] - at[:, :, None])).sum(axis=(1, 2))
        fit -= ((at - level * strength) ** 2).sum(axis=1) / (2 * spread**2)
        evidence[:, column] = fit - strength.size * np.log(spread) - np.linalg.slogdet(information)[1] / 2
    return evidence


def _frequencies(evidence: Array) -> Array:
    """How frequent each level is, by expectation-maximisation."""
    frequency = IN_ADVANCE / IN_ADVANCE.sum()
    for _ in range(50):
        posterior = evidence + np.log(frequency)
        posterior = np.exp(posterior - _log_sum(posterior)[:, None])
        frequency = (posterior.sum(axis=0) + IN_ADVANCE) / (len(evidence) + IN_ADVANCE.sum())
    return frequency


def _log_sum(logs: Array) -> Array:
    highest = logs.max(axis=1)
    return np.asarray(highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1)))
