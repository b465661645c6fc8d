"""What a measure's values mean: the score that people would give, with a band, and a percentile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.conformal import Intervals, calibrated, held_across
from sightline.statistics.correlation import midranks
from sightline.statistics.folds import grouped_k_fold
from sightline.statistics.grouping import Array
from sightline.statistics.logistic import Logistic, fit_logistic

Method = Literal["logistic", "isotonic"]
METHODS: tuple[Method, ...] = ("logistic", "isotonic")
FOLDS = 5
COVERAGE = 0.9
QUANTILES = 1001
"""The reference of percentiles is kept in so many steps."""


@dataclass(frozen=True)
class Steps:
    """A monotone mapping by its corners, straight in between and level beyond them."""

    x: Array
    y: Array

    def __call__(self, x: ArrayLike) -> Array:
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), self.x, self.y))


@dataclass(frozen=True)
class HumanScale:
    """A mapping onto people's scale, the band that held `coverage` of held-out items, and a reference.

    `covered` is the proportion of items within bands that the other folds set; `reference` are quantiles of
    the measure's values.
    """

    method: Method
    mapping: Logistic | Steps
    intervals: Intervals
    covered: float
    reference: Array
    n: int

    def __call__(self, x: ArrayLike) -> Array:
        """The score that people are expected to give."""
        return self.mapping(x)

    def band(self, x: ArrayLike) -> tuple[Array, Array]:
        """Between which scores the judgement of an item with this value is expected."""
        return self.intervals.around(self(x))

    def percentile(self, x: ArrayLike) -> Array:
        """The percentage of the reference below each value, ties counting half."""
        values = np.asarray(x, dtype=np.float64)
        below, above = (np.searchsorted(self.reference, values, side) for side in ("left", "right"))
        return np.asarray(50.0 * (below + above) / len(self.reference))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Plain values and arrays."""
        plain: dict[str, Any] = {
            "method": self.method, "intervals": self.intervals.state(), "covered": self.covered, "n": self.n,
        }  # fmt: skip
        arrays = {"reference": self.reference}
        if isinstance(self.mapping, Logistic):
            plain["logistic"] = vars(self.mapping)
        else:
            arrays |= {"x": self.mapping.x, "y": self.mapping.y}
        return plain, arrays

    @classmethod
    def restored(cls, plain: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The scale that gave this state."""
        logistic = "logistic" in plain
        mapping = Logistic(**plain["logistic"]) if logistic else Steps(arrays["x"], arrays["y"])
        intervals = Intervals.restored(plain["intervals"])
        return cls(plain["method"], mapping, intervals, plain["covered"], arrays["reference"], plain["n"])


def fit_human_scale(
    x: ArrayLike, people: ArrayLike, unit: ArrayLike, *, method: Method = "logistic", seed: int = 0
) -> HumanScale:
    """Map a measure onto people's scores.

    `logistic` is the five-parameter logistic from several starts; `isotonic` the monotone mapping of least
    squares, in the direction of the rank correlation. The band comes from items whose `unit` (prompt) was
    held out of the mapping in one of five folds (cross-conformal).
    Source: Sheikh et al. 2006; Barlow et al. 1972; Vovk 2015.
    """
    a, b, owner = (np.asarray(each) for each in (x, people, unit))
    fold = grouped_k_fold(owner, min(FOLDS, np.unique(owner).size), seed=seed)
    held = np.full(len(a), np.nan)
    for number in np.unique(fold):
        learn, guess = fold != number, fold == number
        held[guess] = _mapping(a[learn], b[learn], method)(a[guess])
    intervals = calibrated(held, b, coverage=COVERAGE)
    covered = float(np.mean(held_across(held, b, fold, coverage=COVERAGE)))
    reference = np.quantile(a, np.linspace(0, 1, min(QUANTILES, len(a))))
    return HumanScale(method, _mapping(a, b, method), intervals, covered, reference, len(a))


def _mapping(x: Array, people: Array, method: Method) -> Logistic | Steps:
    if method == "logistic":
        return fit_logistic(x, people)
    from sklearn.isotonic import IsotonicRegression

    up = float(np.corrcoef(midranks(x), midranks(people))[0, 1]) >= 0
    model = IsotonicRegression(increasing=up, out_of_bounds="clip").fit(x, people)
    return Steps(np.asarray(model.X_thresholds_), np.asarray(model.y_thresholds_))
