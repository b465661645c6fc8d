"""Cutting rows into folds: the same seed, the same folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Indices


def k_fold(n: int, k: int, *, seed: int = 0) -> Indices:
    """The fold, 0 to k-1, of each of n rows, at random, with sizes that differ by at most one."""
    _check(n, k, "rows")
    return np.random.default_rng(seed).permutation(np.arange(n) % k)


def grouped_k_fold(groups: ArrayLike, k: int, *, seed: int = 0) -> Indices:
    """The fold of each row such that rows of one group (answers of one prompt) stay together.

    Groups go, largest first and equal ones in random order, to the fold with the fewest rows so far.
    The order of rows has no influence.
    """
    labels, group, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    _check(labels.size, k, "groups")
    shuffled = np.random.default_rng(seed).permutation(labels.size)
    largest_first = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold_of = np.empty(labels.size, dtype=np.int64)
    load = np.zeros(k, dtype=np.int64)
    for index in largest_first:
        fold = int(np.argmin(load))
        fold_of[index] = fold
        load[fold] += sizes[index]
    return fold_of[group]


def _check(n: int, k: int, what: str) -> None:
    if not 2 <= k <= n:
        raise ValueError(f"{k} folds of {n} {what}: at least 2 folds, and no more than there are {what}")
