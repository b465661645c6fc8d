"""Covariances clustered over prompts and raters at once, with degrees of freedom that few clusters allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.statistics.grouping import Array, Indices, sum_by

FEWEST_CLUSTERS = 2.5
"""Below three clusters of equal size there is no saying how far another would lie off."""
SHARED_DF = 4.0
"""Degrees of freedom lent to a contrast's variance by those of all others, where there are that many."""


@dataclass(frozen=True)
class Clusters:
    """The cluster of each ballot in one way, and how many there are, counted by their weight."""

    of: Indices
    effective: float


@dataclass(frozen=True)
class ClusteredVariance:
    """A covariance with the parts it is made of and their degrees of freedom."""

    parts: Sequence[tuple[Array, float]]
    total: Array
    least: Array

    @property
    def ways(self) -> list[Array]:
        """The covariance clustered in each way alone."""
        return [matrix for matrix, _ in self.parts]

    def of(self, contrast: Array, room: Array | float = 1.0) -> tuple[Array, Array]:
        """Standard errors and degrees of freedom of contrasts (rows).

        `room` is 4 p (1 - p) of the probability that a contrast is about: where nearly all votes are alike,
        clusters hardly can differ, and what variance there is comes from single votes. The power of 3 leaves
        degrees of freedom as they are up to about p = .8, which keeps intervals of three raters wide enough.
        """

        def spread(matrix: Array) -> Array:
            return np.asarray(np.einsum("ij,jk,ik->i", contrast, matrix, contrast))

        # What is known of raters alone, or of prompts alone, is part of the whole.
        single = spread(self.least)
        variance = np.maximum.reduce([single, *(spread(each) for each in (self.total, *self.ways))])
        if not self.parts:
            return np.sqrt(np.maximum(variance, 0)), np.full(len(contrast), np.inf)
        votes = (1 - np.asarray(room)) ** 3 * single
        spreads = np.maximum(np.array([spread(each) for each in self.ways]) - votes, 0)
        freedoms = np.array([df for _, df in self.parts])
        loss = (spreads**2 / freedoms[:, None]).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(loss > 0, variance**2 / loss, np.inf)
        # At most those of the larger part: how much the others add is itself uncertain.
        beyond = spreads.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            alike = np.where(votes > 0, votes / (votes + beyond), 0.0)
        highest = alike * freedoms.max() + (1 - alike) * freedoms[np.argmax(spreads, axis=0)]
        return np.sqrt(np.maximum(variance, 0)), np.clip(freedom, freedoms.min(), highest)


def ways_of(
    prompt: Indices, rater: Indices, cast: np.ndarray, weight: Array
) -> tuple[tuple[Clusters, ...], str, str | None]:
    """The ways in which ballots are clustered: raters, prompts, both at once; one alone where need be."""
    by_prompt = clusters_of(prompt, cast, weight)
    identified = bool((rater[cast] >= 0).all()) and bool(cast.any())
    by_rater = clusters_of(rater, cast, weight)
    judges = clusters_of(rater, cast, np.ones(rater.size)).effective if identified else 0.0
    asked = clusters_of(prompt, cast, np.ones(prompt.size)).effective
    if not identified:
        reason = "anonymous votes: how far raters differ is unknown, so this is about whoever voted"
    elif judges < FEWEST_CLUSTERS:
        count = np.unique(rater[cast]).size
        reason = f"{count} rater{'s' * (count > 1)} cannot speak for others: this is about them alone"
    elif asked < FEWEST_CLUSTERS:
        return (by_rater,), "raters", "too few prompts to speak for others: this is about them alone"
    else:
        both = clusters_of(by_rater.of * (int(by_prompt.of.max(initial=0)) + 1) + by_prompt.of, cast, weight)
        return (by_rater, by_prompt, both), "prompts and raters", None
    if asked < FEWEST_CLUSTERS:
        return (), "", f"{reason}; and too few prompts to say how far another would lie off"
    return (by_prompt,), "prompts", reason


def clusters_of(label: Indices, cast: np.ndarray, weight: Array) -> Clusters:
    number = np.unique(label, return_inverse=True)[1].reshape(-1).astype(np.int64)
    size = sum_by(number[cast], weight[cast])
    total = float(size.sum())
    return Clusters(number, total**2 / float((size**2).sum()) if total > 0 else 0.0)


def combined(sums: Sequence[tuple[Array, float]], least: Array, *, moderate: bool) -> ClusteredVariance:
    """V of one way, or V(first) + V(second) - V(both at once), from cluster sums (clusters x k)."""
    parts = []
    for values, effective in sums:
        clusters = max(effective, 1.5)
        matrix = values.T @ values * clusters / (clusters - 1)
        df = clusters - 1
        if moderate:
            inverse = np.linalg.pinv(least, hermitian=True)
            dimensions = max(1, round(float(np.trace(inverse @ least))))
            lent = min(SHARED_DF, dimensions - 1.0)
            shared = float(np.trace(inverse @ matrix)) / dimensions * least
            matrix, df = (df * matrix + lent * shared) / (df + lent), df + lent
        parts.append((matrix, df))
    if len(parts) == 1:
        return ClusteredVariance(parts, parts[0][0], least)
    (first, _), (second, _), (cells, _) = parts
    crowded, crossed = (each / max(sums[2][1], 1.0) for each in (sums[0][1], sums[1][1]))
    if crowded + crossed <= 0.5:
        # Cells vary with their raters and prompts as well, which must not be taken off: that part is known
        # from the other two.
        cells = (cells - crowded * first - crossed * second) / (1 - crowded - crossed)
    return ClusteredVariance(parts[:2], first + second - cells, least)


def variance_parts(
    ways: Sequence[Clusters], variance: ClusteredVariance
) -> tuple[float | None, float | None]:
    """Parts of the variance of strengths that are due to raters and to prompts, beyond single votes."""
    if len(ways) < 3:
        return None, None
    total = float(np.trace(variance.total))
    if total <= 0:
        return None, None
    (by_rater, _), (by_prompt, _) = variance.parts
    cells = by_rater + by_prompt - variance.total
    first, second = (float(np.clip(np.trace(part - cells) / total, 0, 1)) for part in (by_rater, by_prompt))
    return first, second
