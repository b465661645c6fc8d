"""How differently two samples are distributed: Kolmogorov-Smirnov and Wasserstein, tested by relabelling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices

PERMUTATIONS = 999
CELLS = 4_000_000


class DistributionGap(NamedTuple):
    """The largest difference of two cumulative distributions and the area between them, each with its p.

    `units` are what was relabelled: those that both samples have, or all of them. Without p where there are
    fewer than two on either side.
    """

    ks: float
    wasserstein: float
    p_ks: float | None
    p_wasserstein: float | None
    units: int
    paired: bool


def distribution_gap(
    first: ArrayLike,
    second: ArrayLike,
    first_unit: ArrayLike,
    second_unit: ArrayLike,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> DistributionGap:
    """How differently two samples are distributed.

    KS = max |F - G|, W = integral of |F - G|. Values of one unit (a prompt, a reference) belong together:
    where both samples have most units, as of two systems on the same prompts, those are exchanged by chance
    one by one; otherwise whole units are dealt out again. p = (b + 1) / (m + 1) over m relabellings. Source:
    Smirnov 1948; Kantorovich 1942; Phipson and Smyth, SAGMB 9 (2010) for (b + 1).
    """
    samples = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    values = np.concatenate(samples)
    own = np.repeat([True, False], [len(each) for each in samples])
    names, unit = np.unique(np.concatenate([first_unit, second_unit]), return_inverse=True)
    order = np.argsort(values, kind="stable")
    values, own, unit = values[order], own[order], unit[order]
    ks, area = _gaps(own[None], values)
    has = [np.unique(unit[own == side]) for side in (True, False)]
    both = np.intersect1d(has[0], has[1])
    paired = 2 * both.size > names.size
    count = both.size if paired else int(names.size)
    if (paired and both.size < 2) or (not paired and min(len(each) for each in has) < 2):
        return DistributionGap(float(ks[0]), float(area[0]), None, None, count, paired)
    random = np.random.default_rng(seed)
    reached = np.zeros(2)
    step = max(1, CELLS // len(values))
    for start in range(0, permutations, step):
        size = min(step, permutations - start)
        labels = (
            own ^ _exchanged(random, size, names.size, both)[:, unit]
            if paired
            else _dealt(random, size, names.size, len(has[0]))[:, unit]
        )
        drawn = _gaps(labels, values)
        # Rounding must not decide whether an equal value reaches the observed one.
        reached += [(each >= seen * (1 - 1e-9)).sum() for each, seen in zip(drawn, (ks, area), strict=True)]
    p = (reached + 1) / (permutations + 1)
    return DistributionGap(float(ks[0]), float(area[0]), float(p[0]), float(p[1]), count, paired)


def _exchanged(random: np.random.Generator, size: int, units: int, both: Indices) -> np.ndarray:
    """Which units change sides in each of so many relabellings: only those that both samples have."""
    found = np.zeros((size, units), dtype=bool)
    found[:, both] = random.random((size, both.size)) < 0.5
    return found


def _dealt(random: np.random.Generator, size: int, units: int, first: int) -> np.ndarray:
    """Which units are in the first sample: as many as there were."""
    ranks = random.random((size, units)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < first)


def _gaps(own: np.ndarray, values: Array) -> tuple[Array, Array]:
    """KS and Wasserstein distance of each labelling (a row) of sorted values."""
    n = own.sum(axis=1, keepdims=True)
    weights = np.where(own, 1 / np.maximum(n, 1), -1 / np.maximum(own.shape[1] - n, 1))
    height = np.abs(np.cumsum(weights, axis=1))
    gaps = np.diff(values)
    # Between equal values a distribution has no value of its own.
    last = np.append(gaps > 0, True)
    return height[:, last].max(axis=1), height[:, :-1] @ gaps
