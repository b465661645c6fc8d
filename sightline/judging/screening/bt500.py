"""Excludes viewers by the screening of ITU-R BT.500."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.judging.screening._panel import ROUNDING, by_annotator, cast
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.grouping import sum_by


@screening(source="ITU-R BT.500, screening of observers", licence="Apache-2.0")
def bt500(
    votes: Votes,
    controls: Controls | None,
    *,
    outlying: float = 0.05,
    asymmetry: float = 0.3,
    least: int = 20,
) -> Sequence[Exclusion]:
    """Excludes viewers whose judgements lie far from the mean too often, now above it and now below.

    Of each presentation: mean, standard deviation s (n-1) and kurtosis m4 / m2^2. A judgement is far above
    (P) or below (Q) if 2 s or more from the mean where the kurtosis is 2 to 4, as in a normal distribution,
    and sqrt(20) s elsewhere. Out are viewers with (P + Q) / presentations more than `outlying` and |P - Q| /
    (P + Q) less than `asymmetry`: who is merely strict or lenient stays. Applied once, as the recommendation
    says. An item judged on two repetitions is two presentations. Fewer than `least` presentations are no
    ground; with five viewers or fewer nobody can be 2 s away, so nobody is excluded.
    """
    rows = cast(votes)
    above, below = _far(votes, rows)
    excluded = []
    for annotator, own in by_annotator(votes, rows):
        n, p, q = len(own), int(above[own].sum()), int(below[own].sum())
        outlies = p + q > outlying * n + ROUNDING
        if n >= least and outlies and abs(p - q) < asymmetry * (p + q) - ROUNDING:
            excluded.append(
                Exclusion(
                    annotator,
                    f"{p} judgements far above and {q} far below the mean of {n} presentations: "
                    f"{(p + q) / n:.1%} above {outlying:.4g}, asymmetry {abs(p - q) / (p + q):.2f} "
                    f"below {asymmetry:g}",
                )
            )
    return excluded


def _far(votes: Votes, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of these votes lie far above, and which far below, the mean of their presentation."""
    if rows.size == 0:
        nobody = np.zeros(0, dtype=np.bool_)
        return nobody, nobody
    value, weight = votes.value[rows], votes.n[rows].astype(np.float64)
    repetitions = int(votes.repetition[rows].max()) + 1
    _, shown = np.unique(votes.item[rows] * repetitions + votes.repetition[rows], return_inverse=True)
    n = sum_by(shown, weight)
    mean = sum_by(shown, weight * value) / n
    away = value - mean[shown]
    second, fourth = sum_by(shown, weight * away**2), sum_by(shown, weight * away**4)
    # Equal votes differ by rounding only: they have no spread, and nobody is far from them.
    spread = second > n * (1e-9 * (1 + np.abs(mean))) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(second / (n - 1))
        kurtosis = n * fourth / second**2
    # Kurtosis is often 2 exactly (two halves of three values), and must not be decided by rounding.
    normal = (kurtosis >= 2 - 1e-9) & (kurtosis <= 4 + 1e-9)
    limit = np.where(normal, 2.0, np.sqrt(20)) * deviation
    usable = (spread & (n > 1))[shown]
    reach = limit[shown] * (1 - 1e-12)
    return usable & (away >= reach), usable & (away <= -reach)
