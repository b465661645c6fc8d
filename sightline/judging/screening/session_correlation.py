"""Excludes viewers who do not go with the rest of their sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.judging.screening._panel import ROUNDING, by_annotator, cast
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.correlation import pearson
from sightline.statistics.others import mean_of_others


@screening(source="Li et al. 2023 (AGIQA-3K)", licence="Apache-2.0")
def session_correlation(
    votes: Votes, controls: Controls | None, *, below: float = 0.2, share: float = 0.5, least: int = 20
) -> Sequence[Exclusion]:
    """Excludes viewers whose judgements do not correlate with those of the others, session by session.

    Per viewer and session, Pearson's r between the viewer's judgements and the mean of everybody else's on
    the same items; a session fails `below` 0.2. Out are viewers who failed at least a proportion of `share`
    (half) of their sessions. Sessions with fewer than `least` items in common with others, or without any
    spread, are no ground.
    """
    rows = cast(votes)
    others = mean_of_others(
        votes.item[rows], votes.annotator[rows], votes.value[rows], votes.n[rows].astype(np.float64)
    )
    shared = ~np.isnan(others)
    rows, others = rows[shared], others[shared]
    excluded = []
    for annotator, own in by_annotator(votes, rows):
        session = votes.session[rows[own]]
        found = [
            pearson(votes.value[rows[part]], others[part])
            for part in (own[session == each] for each in np.unique(session))
            if len(part) >= least
        ]
        known = [r.value for r in found if r.value is not None]
        failed = [r for r in known if r < below]
        if failed and len(failed) >= share * len(known) - ROUNDING:
            excluded.append(
                Exclusion(
                    annotator,
                    f"correlation with the others below {below:g} in {len(failed)} of {len(known)} sessions, "
                    f"lowest {min(failed):.2f}",
                )
            )
    return excluded
