"""Is one set of queries harder than another? The values of engines on two sets, as in ConQA's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate
from sightline.statistics.intervals import mean_interval
from sightline.statistics.significance import Test, mann_whitney

SHOWN_BELOW = 0.05
BOLD_BELOW = 0.01


@dataclass(frozen=True)
class Improvement:
    """The means over two sets of queries, and the test that the first tends to be lower."""

    first: Estimate
    second: Estimate
    test: Test

    @property
    def relative(self) -> float | None:
        """(m2 - m1) / m1; infinite where only m1 is 0, None where a set is empty or both means are 0."""
        a, b = self.first.value, self.second.value
        if a is None or b is None or (a == 0 and b == 0):
            return None
        return float(np.inf) if a == 0 else (b - a) / a

    @property
    def significant(self) -> bool:
        """Whether p is below .05."""
        return self.test.p is not None and self.test.p < SHOWN_BELOW

    @property
    def shown(self) -> str:
        """The cell of the table: blank from p = .05 on, between ** below .01, "inf" where m1 is 0."""
        if not self.significant or self.relative is None:
            return ""
        text = "inf" if np.isinf(self.relative) else f"{self.relative:+.1%}"
        return f"**{text}**" if self.test.p is not None and self.test.p < BOLD_BELOW else text


def improvement(first: ArrayLike, second: ArrayLike) -> Improvement:
    """Whether values on the second set of queries tend to be higher: Mann-Whitney U, one-sided "less".

    The sets hold different queries, so values are unpaired. NaN values are ignored.
    Source: Rodriguez et al. 2024 (ConQA), section on significance.
    """
    return Improvement(
        mean_interval(first), mean_interval(second), mann_whitney(first, second, alternative="less")
    )


def improvements(
    row: Sequence[str], column: Sequence[str], second: ArrayLike, value: ArrayLike
) -> dict[tuple[str, str], Improvement]:
    """ConQA's table from columns with one row per value: engine, measure, whether of the second set, value.

    Cells are in the order in which their row and column first occur.
    """
    later, values = np.asarray(second, dtype=bool), np.asarray(value, dtype=np.float64)
    if not len(row) == len(column) == later.size == values.size:
        raise ValueError("row, column, second and value must be columns of equal length")
    lines: dict[tuple[str, str], list[int]] = {}
    for number, key in enumerate(zip(row, column, strict=True)):
        lines.setdefault(key, []).append(number)
    cells = {}
    for key, numbers in lines.items():
        own, of_second = values[numbers], later[numbers]
        cells[key] = improvement(own[~of_second], own[of_second])
    return cells
