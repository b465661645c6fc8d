"""Leaves out who fails the control items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.agreement import cohen_kappa


@screening(needs_controls=True, source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0")
def control_kappa(
    votes: Votes, controls: Controls | None, *, above: float = 0.4, least: int = 5
) -> Sequence[Exclusion]:
    """Excludes annotators whose kappa with the expected answers of control items is not above a limit.

    A vote within a control's tolerance counts as the expected answer. Annotators with fewer than `least`
    votes on control items are not judged by them.
    """
    if controls is None or len(controls.item) == 0:
        return []
    expected = np.full(votes.items, np.nan)
    expected[controls.item] = controls.expected
    tolerance = np.zeros(votes.items)
    tolerance[controls.item] = controls.tolerance
    asked = ~np.isnan(votes.value) & ~np.isnan(expected[votes.item])
    excluded = []
    for number, annotator in enumerate(votes.annotators):
        own = asked & (votes.annotator == number)
        right = expected[votes.item[own]]
        given = votes.value[own]
        given = np.where(np.abs(given - right) <= tolerance[votes.item[own]], right, given)
        if len(given) < least:
            continue
        # Kappa is undefined where both only ever used one value, which here means that all were right.
        kappa = cohen_kappa(given, right)
        if kappa.value is not None and kappa.value <= above:
            excluded.append(
                Exclusion(
                    annotator,
                    f"kappa with the control answers {kappa.value:.2f} over {kappa.n} items, "
                    f"not above {above:g}",
                )
            )
    return excluded
