"""Statistics as cells of tables."""

from __future__ import annotations

from sightline.rendering.quantities import Estimate, Missing, Quantity
from sightline.statistics.correlation import Correlation
from sightline.statistics.intervals import Interval


def quantity(found: Interval | Correlation, why: str = "not defined") -> Quantity:
    """A statistic as the report shows it."""
    if found.value is None:
        return Missing(found.reason or why)
    if found.low is None or found.high is None:
        return Estimate(found.value, n=found.n)
    return Estimate(found.value, found.low, found.high, found.n)
