"""How well measures, and a combination learned from them, follow people on held-out prompts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sightline.statistics.grouping import Array, Indices
from sightline.statistics.levels import Flags, coefficients
from sightline.statistics.logistic import LEAST_PAIRS, fit_logistic

TEST = 0.2
PENALTY = 1.0


def grouped_splits(unit: Indices, times: int, seed: int = 0) -> Iterator[Flags]:
    """Which rows are held out, for each of so many splits: a fifth of the units, all rows of one together."""
    names, place = np.unique(unit, return_inverse=True)
    rng = np.random.default_rng(seed)
    for _ in range(times):
        chosen = np.zeros(names.size, dtype=np.bool_)
        chosen[rng.permutation(names.size)[: max(1, round(TEST * names.size))]] = True
        yield chosen[place]


def held_out(features: Array, people: Array, unit: Indices, times: int, seed: int = 0) -> Array:
    """SRoCC, KRoCC, PLCC and RMSE on the held-out fifth: splits x (measures + their combination) x 4.

    Each measure (a column) is mapped by the five-parameter logistic fitted to the other four fifths. The
    combination is their ridge regression, fitted there too; it is left out where there is one measure only.
    """
    whole = [fit_logistic(column, people) for column in features.T]
    together = features.shape[1] > 1
    found = np.full((times, features.shape[1] + together, 4), np.nan)
    for number, test in enumerate(grouped_splits(unit, times, seed)):
        learn = ~test
        for index, column in enumerate(features.T):
            if np.ptp(column[learn]) == 0 or learn.sum() < LEAST_PAIRS:
                continue
            mapped = fit_logistic(column[learn], people[learn], whole[index])(column[test])
            found[number, index] = _quality(column[test], mapped, people[test])
        if together:
            guess = _ridge(features[learn], people[learn], features[test])
            found[number, -1] = _quality(guess, guess, people[test])
    return found


def _quality(x: Array, mapped: Array, y: Array) -> Array:
    return np.append(coefficients(x, mapped, y), np.sqrt(np.mean((mapped - y) ** 2)))


def _ridge(features: Array, y: Array, new: Array) -> Array:
    """Ridge regression on standardised features, predicted for new rows."""
    middle, width = features.mean(axis=0), features.std(axis=0)
    width = np.where(width > 0, width, 1.0)
    z = (features - middle) / width
    weights = np.linalg.solve(z.T @ z + PENALTY * np.eye(z.shape[1]), z.T @ (y - y.mean()))
    return np.asarray((new - middle) / width @ weights + y.mean())
