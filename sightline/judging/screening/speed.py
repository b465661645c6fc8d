"""Excludes whoever was too fast to have looked."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from sightline.extension import screening
from sightline.judging.screening._panel import by_annotator, cast
from sightline.records import Controls, Exclusion, Votes

# A panel of two has no usual pace.
LEAST_PEOPLE = 3


@screening(source="common practice", licence="Apache-2.0")
def speed(
    votes: Votes, controls: Controls | None, *, least_ms: float = 0.0, share: float = 0.25, least: int = 10
) -> Sequence[Exclusion]:
    """Excludes annotators whose median time per item is below a limit.

    The limit is the larger of `least_ms` milliseconds and `share` times the panel's pace, the median of its
    annotators' medians (0 turns either off); a panel of fewer than three has no pace. Fewer than `least`
    judgements with a time are no ground, and those without one are ignored.
    """
    rows = cast(votes)
    rows = rows[~np.isnan(votes.took_ms[rows])]
    times = {
        annotator: (float(np.median(votes.took_ms[rows[own]])), len(own))
        for annotator, own in by_annotator(votes, rows)
        if len(own) >= least
    }
    panels: dict[str, list[float]] = {}
    for annotator, (middle, _) in times.items():
        panels.setdefault(annotator.panel, []).append(middle)
    excluded = []
    for annotator, (middle, n) in times.items():
        panel = panels[annotator.panel]
        pace = median(panel) if len(panel) >= LEAST_PEOPLE else 0.0
        if middle < least_ms:
            limit = f"{least_ms:g} ms"
        elif middle < share * pace:
            limit = f"{share:g} of the panel's median {pace:.0f} ms"
        else:
            continue
        excluded.append(Exclusion(annotator, f"median {middle:.0f} ms over {n} judgements, below {limit}"))
    return excluded
