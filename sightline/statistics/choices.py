"""Does a distance see what people see? Forced choices of the image closer to a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import Estimate
from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.intervals import cluster_bootstrap
from sightline.statistics.significance import Test, holm, sign_flip

TIES = (
    "Equal distances count half. A triplet that people split evenly has no majority: it counts for the "
    "score, not for the accuracy."
)
ORACLE = "oracle"


@dataclass(frozen=True)
class DistanceScore:
    """An encoder on triplets: its 2AFC score and its accuracy, with 95 % intervals."""

    name: str
    score: Estimate
    accuracy: Estimate


@dataclass(frozen=True)
class ScoreDifference:
    """Two encoders on the same triplets: the difference of their scores, its test, and p after Holm."""

    one: str
    other: str
    difference: Test
    adjusted: float | None


@dataclass(frozen=True)
class Spread:
    """An encoder's score by system, the largest minus the smallest, and how often chance spreads it so."""

    name: str
    by_system: Mapping[str, float]
    spread: float
    p: float | None


def agreement(to_a: ArrayLike, to_b: ArrayLike, share_a: ArrayLike) -> Array:
    """The proportion of workers that chose as the distance does, for each triplet.

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
) -> list[DistanceScore]:
    """Every encoder, the oracle first; `distances` has those to A and to B by encoder.

    Triplets of one cluster (a prompt) are no independent units: intervals draw whole clusters again.
    """
    share = np.asarray(share_a, dtype=np.float64)
    home = np.arange(share.size) if clusters is None else np.asarray(clusters)
    columns = {ORACLE: (oracle(share), np.where(share == 0.5, np.nan, 1.0))}
    columns |= {name: (agreement(a, b, share), right(a, b, share)) for name, (a, b) in distances.items()}
    return [
        DistanceScore(name, *(cluster_bootstrap(each, home, seed=seed) for each in both))
        for name, both in columns.items()
    ]


def compare(
    distances: Mapping[str, tuple[ArrayLike, ArrayLike]],
    share_a: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    seed: int = 0,
) -> list[ScoreDifference]:
    """Every two encoders on the same triplets: is the difference of their 2AFC scores chance?"""
    share = np.asarray(share_a, dtype=np.float64)
    scores = {name: agreement(a, b, share) for name, (a, b) in distances.items()}
    return compare_scores(scores, np.arange(share.size) if clusters is None else clusters, seed=seed)


def compare_scores(
    scores: Mapping[str, Array], clusters: ArrayLike, *, seed: int = 0
) -> list[ScoreDifference]:
    """Every two columns of scores of the same items: is the difference of their means chance?

    The difference is that of the means over all items. Clusters are the units: the signs of their sums are
    flipped; p is corrected by Holm over all pairs.
    """
    _, home = np.unique(np.asarray(clusters), return_inverse=True)
    # So scaled, the mean over clusters of their sums is the mean over items.
    scale = (home.max(initial=-1) + 1) / max(1, home.size)
    tests = [
        (one, other, sign_flip(sum_by(home, scores[one] - scores[other]) * scale, seed=seed))
        for one, other in combinations(scores, 2)
    ]
    adjusted = holm([np.nan if test.p is None else test.p for _, _, test in tests])
    return [
        ScoreDifference(one, other, test, None if np.isnan(p) else float(p))
        for (one, other, test), p in zip(tests, adjusted, strict=True)
    ]


def spread(
    name: str,
    scores: ArrayLike,
    systems: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    permutations: int = 2000,
    seed: int = 0,
) -> Spread:
    """How differently an encoder does on the images of different systems: its fairness to them.

    The largest minus the smallest mean by system; p = (b+1)/(m+1) over m random assignments to systems, since
    a spread is above 0 by chance alone. Triplets of one cluster (a prompt) go together: clusters of a single
    system exchange their systems with each other, a cluster of several those of its own parts. No p where
    no exchange could change the spread.
    Source: W1KP (Tang et al. 2024), section 3.1.
    """
    column = np.asarray(scores, dtype=np.float64)
    labels, system = np.unique(np.asarray(systems), return_inverse=True)
    home = np.arange(column.size) if clusters is None else np.asarray(clusters)
    means = np.bincount(system, column) / np.bincount(system)
    by_system = dict(zip([str(label) for label in labels], means.tolist(), strict=True))
    observed = float(np.ptp(means))
    parts = _parts(column, system, home)
    if not parts.exchangeable():
        return Spread(name, by_system, observed, None)
    rng = np.random.default_rng(seed)
    reached = sum(parts.spread(rng) >= observed - 1e-12 for _ in range(permutations))
    return Spread(name, by_system, observed, (reached + 1) / (permutations + 1))


@dataclass(frozen=True)
class _Parts:
    """The triplets of one cluster and one system together; systems are exchanged within a `block` of parts.

    Parts are in the order of their blocks.
    """

    system: Indices
    block: Indices
    total: Array
    size: Array

    def exchangeable(self) -> bool:
        """Whether any block has parts of two systems, and any system more than the one part."""
        mixed = (self.block[1:] == self.block[:-1]) & (self.system[1:] != self.system[:-1])
        return bool(mixed.any() and (np.bincount(self.system) > 1).any())

    def spread(self, rng: np.random.Generator) -> float:
        """The spread of the means by system after systems were exchanged at random within blocks."""
        drawn = self.system[np.lexsort((rng.random(self.system.size), self.block))]
        return float(np.ptp(np.bincount(drawn, self.total) / np.bincount(drawn, self.size)))


def _parts(column: Array, system: Indices, home: NDArray[Any]) -> _Parts:
    _, cluster = np.unique(home, return_inverse=True)
    systems = int(system.max(initial=0)) + 1
    cells, place = np.unique(cluster * systems + system, return_inverse=True)
    owner = cells // systems
    # Clusters of one system are all of block -1, and so exchange with each other.
    block = np.where(np.bincount(owner)[owner] > 1, owner, -1)
    order = np.lexsort((cells % systems, block))
    total, size = sum_by(place, column), np.bincount(place).astype(np.float64)
    return _Parts((cells % systems)[order], block[order], total[order], size[order])


def _columns(to_a: ArrayLike, to_b: ArrayLike, share_a: ArrayLike) -> tuple[Array, Array, Array]:
    a, b, share = (np.asarray(each, dtype=np.float64) for each in (to_a, to_b, share_a))
    if not (a.ndim == 1 and a.shape == b.shape == share.shape):
        raise ValueError(f"distances {a.shape}, {b.shape} and shares {share.shape} must be equal columns")
    if not np.isfinite([a, b]).all() or not ((share >= 0) & (share <= 1)).all():
        raise ValueError("distances must be finite and shares within 0 and 1")
    return a, b, share
