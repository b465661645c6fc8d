"""Which system is better: compare, distributions, breakdown, human_scale, powered, trust, gate, queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.lazy import lazy

if TYPE_CHECKING:
    from sightline.comparison.breakdown import Breakdown as Breakdown
    from sightline.comparison.breakdown import breakdown as breakdown
    from sightline.comparison.compare import Comparison as Comparison
    from sightline.comparison.compare import SystemScores as SystemScores
    from sightline.comparison.compare import compare as compare
    from sightline.comparison.compare_sets import SetComparison as SetComparison
    from sightline.comparison.compare_sets import compare_sets as compare_sets
    from sightline.comparison.distributions import Distributions as Distributions
    from sightline.comparison.distributions import distributions as distributions
    from sightline.comparison.gate import GateResult as GateResult
    from sightline.comparison.gate import gate as gate
    from sightline.comparison.human_scale import HumanScaleResult as HumanScaleResult
    from sightline.comparison.human_scale import human_scale as human_scale
    from sightline.comparison.powered import PoweredComparison as PoweredComparison
    from sightline.comparison.powered import powered as powered
    from sightline.comparison.queries import QueryAnalysis as QueryAnalysis
    from sightline.comparison.queries import queries as queries
    from sightline.comparison.trust import Trust as Trust
    from sightline.comparison.trust import trust as trust

__all__ = lazy(__name__, __file__)
