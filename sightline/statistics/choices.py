"""Does a distance see what people see? Forced choices between two images, beside a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.grouping import sum_by
from sightline.statistics.intervals import Interval, cluster_bootstrap
from sightline.statistics.significance import Test, holm, sign_flip

Array = NDArray[np.float64]

TIES = (
    "Equal distances count half. A triplet that people split evenly has no majority: it counts for the "
    "score, not for the accuracy."
)
ORACLE = "oracle"


@dataclass(frozen=True)
class Checked:
    """A backbone on triplets: its 2AFC score and its accuracy, with 95 % intervals."""

    name: str
    score: Interval
    accuracy: Interval


@dataclass(frozen=True)
class Compared:
    """Two backbones on the same triplets: the difference of their scores, its test, and p after Holm."""

    one: str
    other: str
    difference: Test
    adjusted: float | None


@dataclass(frozen=True)
class Spread:
    """A backbone's score by system, the largest minus the smallest, and how often chance spreads it so."""

    name: str
    by_system: Mapping[str, float]
    spread: float
    p: float | None


def agreement(to_a: ArrayLike, to_b: ArrayLike, share_a: ArrayLike) -> Array:
    """The share of workers that chose as the distance does, a triplet each.

    y where A is closer to the reference, 1 - y where B is, one half where both are equally far.
    Source: W1KP (Tang et al. 2024), section 3.1, which leaves ties out.
    """
    a, b, share = _columns(to_a, to_b, share_a)
    return np.where(a < b, share, np.where(a > b, 1 - share, 0.5))


def right(to_a: ArrayLike, to_b: ArrayLike, share_a: ArrayLike) -> Array:
    """1 where the distance chooses as most workers did, 0 where it does not, half where it is torn.

    NaN where people split evenly: there is no majority to agree with.
    """
    a, b, share = _columns(to_a, to_b, share_a)
    chosen = np.where(a < b, 1.0, np.where(a > b, 0.0, 0.5))
    most = np.where(share > 0.5, 1.0, 0.0)
    return np.where(share == 0.5, np.nan, 1 - np.abs(chosen - most))


def oracle(share_a: ArrayLike) -> Array:
    """The most workers that any choice can agree with, a triplet each: the larger share."""
    share = np.asarray(share_a, dtype=np.float64)
    return np.maximum(share, 1 - share)


def check(
    distances: Mapping[str, tuple[ArrayLike, ArrayLike]],
    share_a: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    seed: int = 0,
) -> list[Checked]:
    """Every backbone, the oracle first; `distances` has those to A and to B by backbone.

    Triplets of one cluster (a prompt) are no independent units: intervals draw whole clusters again.
    """
    share = np.asarray(share_a, dtype=np.float64)
    home = np.arange(share.size) if clusters is None else np.asarray(clusters)
    best = np.where(share == 0.5, np.nan, 1.0)
    rows = [Checked(ORACLE, _mean(oracle(share), home, seed), _mean(best, home, seed))]
    for name, (a, b) in distances.items():
        score, hits = agreement(a, b, share), right(a, b, share)
        rows.append(Checked(name, _mean(score, home, seed), _mean(hits, home, seed)))
    return rows


def compare(
    distances: Mapping[str, tuple[ArrayLike, ArrayLike]],
    share_a: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    seed: int = 0,
) -> list[Compared]:
    """Every two backbones on the same triplets: is the difference of their 2AFC scores chance?

    Differences are averaged within clusters, then their signs flipped; p is corrected by Holm over all pairs.
    """
    share = np.asarray(share_a, dtype=np.float64)
    _, home = np.unique(
        np.arange(share.size) if clusters is None else np.asarray(clusters), return_inverse=True
    )
    sizes = np.bincount(home)
    scores = {name: agreement(a, b, share) for name, (a, b) in distances.items()}
    tests = [
        (one, other, sign_flip(sum_by(home, scores[one] - scores[other]) / sizes, seed=seed))
        for one, other in combinations(scores, 2)
    ]
    adjusted = holm([np.nan if test.p is None else test.p for _, _, test in tests])
    return [
        Compared(one, other, test, None if np.isnan(p) else float(p))
        for (one, other, test), p in zip(tests, adjusted, strict=True)
    ]


def spread(
    name: str, scores: ArrayLike, systems: ArrayLike, *, permutations: int = 2000, seed: int = 0
) -> Spread:
    """How differently a backbone does on the images of different systems: its fairness to them.

    The largest minus the smallest mean by system; p = (b+1)/(m+1) over m random assignments of the triplets
    to systems, since a spread is above 0 by chance alone.
    Source: W1KP (Tang et al. 2024), section 3.1.
    """
    column = np.asarray(scores, dtype=np.float64)
    labels, system = np.unique(np.asarray(systems), return_inverse=True)
    means = _means(system, column, labels.size)
    told = dict(zip([str(label) for label in labels], means.tolist(), strict=True))
    observed = float(np.ptp(means))
    if labels.size < 2:
        return Spread(name, told, observed, None)
    rng = np.random.default_rng(seed)
    drawn = [np.ptp(_means(rng.permutation(system), column, labels.size)) for _ in range(permutations)]
    reached = int(np.count_nonzero(np.array(drawn) >= observed - 1e-12))
    return Spread(name, told, observed, (reached + 1) / (permutations + 1))


def _means(system: NDArray[np.int64], column: Array, systems: int) -> Array:
    return np.bincount(system, column, minlength=systems) / np.bincount(system, minlength=systems)


def _mean(values: Array, clusters: NDArray, seed: int) -> Interval:
    return cluster_bootstrap(values, clusters, seed=seed)


def _columns(to_a: ArrayLike, to_b: ArrayLike, share_a: ArrayLike) -> tuple[Array, Array, Array]:
    a, b, share = (np.asarray(each, dtype=np.float64) for each in (to_a, to_b, share_a))
    if not (a.ndim == 1 and a.shape == b.shape == share.shape):
        raise ValueError(f"distances {a.shape}, {b.shape} and shares {share.shape} must be equal columns")
    if not np.isfinite([a, b]).all() or not ((share >= 0) & (share <= 1)).all():
        raise ValueError("distances must be finite and shares within 0 and 1")
    return a, b, share
