"""Viewers whose votes do not follow the items: one value throughout says nothing about any of them."""

from __future__ import annotations

import numpy as np

from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.votes import Cast, Flags

ROUNDS = 60
PRIOR_VOTES = 4.0
"""Votes' worth of belief that a viewer's noise is that of the others."""
LEAST_VOTES = 10
LEAST_EQUAL = 3
LEAST_SLOPE = 1 / 3
"""Viewers whose slope is surely below this part of the panel's do not follow the items."""
SURE = 1.645
IMPROBABLE = 0.01


def straight_liners(votes: Cast, who: Indices, people: int) -> Flags:
    """Which viewers' votes are flat: the same, or almost, whatever the item.

    A model without slopes would take them for the most consistent of all and the scores from them. Flat is
    who gave one value three times or more and no other, where that has a probability below .01 given what
    viewers who used more values gave the same items; and who gave ten votes or more with a slope whose
    one-sided 95 % limit lies below a third of the panel's. Slopes: vote = level of the
    viewer + slope of the viewer * item + noise, items from a standard normal distribution, by EM; a slope is
    drawn to the panel's (with an SD of half of it), a noise variance to the common one by four votes. `who`
    is `people` for anonymous votes, never flat.
    Where everybody would be flat, nobody is.
    Source: D. B. Rubin and D. T. Thayer, EM algorithms for ML factor analysis, Psychometrika 47 (1982).
    """
    cast = np.maximum(sum_by(who, votes.weight, people + 1), 1e-300)
    overall = float(np.sum(votes.weight * votes.value) / max(votes.weight.sum(), 1.0))
    spread = float(np.sqrt(np.sum(votes.weight * (votes.value - overall) ** 2) / max(votes.weight.sum(), 1)))
    named = (cast >= 1) & (np.arange(people + 1) < people)
    if spread == 0 or named.sum() < 2:
        return np.zeros(people + 1, dtype=np.bool_)
    value = (votes.value - overall) / spread

    def of_viewer(what: Array) -> Array:
        return sum_by(who, votes.weight * what, people + 1)

    middle = of_viewer(value) / cast
    level, slope, noise, common, panel = middle, np.ones(people + 1), np.full(people + 1, 0.5), 0.5, 1.0
    error = np.zeros(people + 1)
    for _ in range(ROUNDS):
        uncertain = 1 / (1 + votes.total((slope**2 / noise)[who]))
        place = uncertain * votes.total((slope / noise)[who] * (value - level[who]))
        place_of, uncertain_of = place[votes.item], uncertain[votes.item]
        centre = of_viewer(place_of) / cast
        room = of_viewer(place_of**2 + uncertain_of) - cast * centre**2
        drawn = noise / (panel / 2) ** 2
        slope = (of_viewer(place_of * value) - cast * centre * middle + drawn * panel) / (room + drawn)
        level = middle - slope * centre
        residual = value - level[who] - slope[who] * place_of
        squares = of_viewer(residual**2 + slope[who] ** 2 * uncertain_of)
        common = max(float(squares.sum() / cast.sum()), 1e-12)
        noise = (squares + PRIOR_VOTES * common) / (cast + PRIOR_VOTES)
        rising = np.maximum(slope, 0.0)[cast >= 1]
        panel = max(float((rising**2).sum() / max(rising.sum(), 1e-12)), 1e-6)
        error = np.sqrt(noise / (room + drawn))
    constant, improbable = _one_value(votes, who, people)
    sloping = (cast < LEAST_VOTES) | (slope + SURE * error >= LEAST_SLOPE * panel)
    flat = named & np.where(constant, improbable & (cast >= LEAST_EQUAL), ~sloping)
    return flat if (named & ~flat).any() else np.zeros_like(flat)


def _one_value(votes: Cast, who: Indices, people: int) -> tuple[Flags, Flags]:
    """Who gave one value throughout, and of whom that is improbable, given the others' votes on these items.

    The probability of a vote is the proportion of equal ones among those on the item by viewers who used
    more than one value, with one vote more that is distributed as all of theirs.
    """
    values, given = np.unique(votes.value, return_inverse=True)
    least, most = np.full(people + 1, values.size), np.full(people + 1, -1)
    np.minimum.at(least, who, given)
    np.maximum.at(most, who, given)
    varied = votes.weight * (least < most)[who]
    usual = (np.bincount(given, varied, values.size) + 0.5) / (varied.sum() + 1)
    on_item = sum_by(votes.item, varied, votes.items)
    cell = votes.item * values.size + given
    equal = np.bincount(cell, varied, votes.items * values.size)[cell]
    chance = np.log((equal + usual[given]) / (on_item[votes.item] + 1))
    return least == most, sum_by(who, votes.weight * chance, people + 1) < np.log(IMPROBABLE)
