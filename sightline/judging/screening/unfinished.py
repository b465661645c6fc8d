"""Excludes whoever did not finish."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.judging.screening._panel import ROUNDING, by_annotator, cast
from sightline.records import Controls, Exclusion, Votes


@screening(source="Göring et al. 2023 (AVT AI images)", licence="Apache-2.0")
def unfinished(
    votes: Votes, controls: Controls | None, *, share: float = 1.0, least: int = 10
) -> Sequence[Exclusion]:
    """Excludes annotators who did not judge enough of the items of their panel.

    The items of a panel are those that anybody of it judged, control items aside; each counts once, however
    often it was judged. Whoever judged less than a proportion of `share` of them (all) is out. For panels in
    which everybody is meant to judge everything. A panel that judged fewer than `least` items is no ground.
    """
    rows = cast(votes)
    rows = rows[~votes.control[rows]]
    judged = {annotator: np.unique(votes.item[rows[own]]) for annotator, own in by_annotator(votes, rows)}
    panels: dict[str, list[np.ndarray]] = {}
    for annotator, items in judged.items():
        panels.setdefault(annotator.panel, []).append(items)
    whole = {panel: np.unique(np.concatenate(parts)).size for panel, parts in panels.items()}
    return [
        Exclusion(annotator, f"judged {items.size} of {whole[annotator.panel]} items, fewer than {share:.0%}")
        for annotator, items in judged.items()
        if whole[annotator.panel] >= least and items.size < share * whole[annotator.panel] - ROUNDING
    ]
