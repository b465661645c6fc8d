"""What goes with a score: correlations of many columns with it, and its means along each of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate
from sightline.statistics.correlation import Correlation, spearman
from sightline.statistics.grouping import Array, Indices
from sightline.statistics.intervals import cluster_bootstrap, mean_interval
from sightline.statistics.mixed import MixedModel, mixed_model
from sightline.statistics.significance import benjamini_hochberg, holm

Correction = Literal["holm", "bh"]
ALPHA = 0.05


@dataclass(frozen=True)
class Associated:
    """Spearman's rho of a column with a score, its p corrected for the number of columns, and its mean."""

    name: str
    correlation: Correlation
    p_corrected: float | None
    mean: float | None

    def is_significant(self) -> bool:
        """Whether the corrected p lies below .05."""
        return self.p_corrected is not None and self.p_corrected < ALPHA


@dataclass(frozen=True)
class Trend:
    """A score along a setting: its mean at each value (or bin), and its slope with an intercept a unit."""

    steps: tuple[Bin, ...]
    slope: MixedModel | None
    reason: str | None = None


@dataclass(frozen=True)
class Bin:
    """The rows whose x lies from `low` to `high`: the mean of x, and the mean of y with its interval."""

    low: float
    high: float
    x: float
    y: Estimate


def associations(
    columns: Mapping[str, ArrayLike], y: ArrayLike, *, correction: Correction = "holm"
) -> list[Associated]:
    """Spearman's rho of every column with y, with p-values corrected for their number.

    Holm's correction bounds the chance of any false alarm, Benjamini and Hochberg's ("bh") their share. A
    column without a correlation (constant, too few values) tells why and is not counted.
    """
    if correction not in ("holm", "bh"):
        raise ValueError(f"correction {correction!r} is neither holm nor bh")
    correlations = {name: spearman(values, y) for name, values in columns.items()}
    raw = [np.nan if each.p is None else each.p for each in correlations.values()]
    adjusted = (holm if correction == "holm" else benjamini_hochberg)(raw)
    return [
        Associated(name, each, None if np.isnan(p) else float(p), mean_interval(columns[name]).value)
        for (name, each), p in zip(correlations.items(), adjusted, strict=True)
    ]


def significant(associated: Sequence[Associated]) -> list[Associated]:
    """Those with a corrected p below .05, from the strongest down, as the paper's table has them."""
    kept = [each for each in associated if each.is_significant()]
    return sorted(kept, key=lambda each: -abs(each.correlation.value or 0.0))


def trend(setting: ArrayLike, y: ArrayLike, units: Sequence[Hashable], *, bins: int = 10) -> Trend:
    """A score along a setting of the generator, such as the guidance scale, on the same units (prompts).

    Units have levels of their own, which a mixed model with an intercept a unit takes out of the slope. In
    each step the interval is over whole units.
    """
    steps = tuple(binned(setting, y, bins=bins, clusters=units))
    try:
        return Trend(steps, mixed_model(y, {"setting": setting}, units))
    except ValueError as error:
        return Trend(steps, None, str(error))


def binned(
    x: ArrayLike, y: ArrayLike, *, bins: int = 10, clusters: Sequence[Hashable] | None = None
) -> list[Bin]:
    """Mean of y in bins of x that hold about equally many rows; equal x never part.

    Where x has no more distinct values than there are bins, each value is a bin, as for flags, counts and
    settings of a generator. Rows with a gap are left out. The interval is Student's; with `clusters`, such as
    the prompts whose values come several to a bin, whole clusters are resampled.
    """
    if bins < 1:
        raise ValueError(f"{bins} bins")
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or (clusters is not None and len(clusters) != a.size):
        raise ValueError("columns of equal length are needed")
    if np.isinf(a).any() or np.isinf(b).any():
        raise ValueError("an infinite value has no place in a bin")
    known = np.flatnonzero(~(np.isnan(a) | np.isnan(b)))
    labels = None if clusters is None else np.array([str(clusters[row]) for row in known.tolist()])
    a, b = a[known], b[known]
    made = []
    for rows in _parts(a, bins):
        if labels is None or len(set(labels[rows])) == len(rows):
            mean = mean_interval(b[rows])
        else:
            mean = cluster_bootstrap(b[rows], labels[rows])
        made.append(Bin(float(a[rows].min()), float(a[rows].max()), float(a[rows].mean()), mean))
    return made


def _parts(x: Array, bins: int) -> list[Indices]:
    """The rows of each bin, from the lowest up."""
    values, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    if len(values) <= bins:
        step = np.arange(len(values))
    else:
        # A value goes where the middle of its rows lies among all rows.
        middle = (np.cumsum(counts) - counts / 2) / len(x)
        step = np.minimum((middle * bins).astype(np.int64), bins - 1)
    of_row = step[place]
    return [np.flatnonzero(of_row == each) for each in np.unique(step)]
