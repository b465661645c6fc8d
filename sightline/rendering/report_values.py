"""Statistics as cells of tables."""

from __future__ import annotations

from sightline.estimate import Estimate, absent
from sightline.statistics.correlation import Correlation


def quantity(found: Estimate | Correlation, why: str = "not defined") -> Estimate:
    """A statistic as the report shows it."""
    if found.value is None:
        return absent(found.reason or why)
    if found.low is None or found.high is None:
        return Estimate(found.value, n=found.n)
    return Estimate(found.value, found.low, found.high, found.n)
