"""Annotators screened by their habits: one value throughout, haste, unfinished work, sessions out of step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.judging.screening._panel import ROUNDING, by_annotator, cast
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.correlation import pearson
from sightline.statistics.others import mean_of_others
from sightline.statistics.pace import Timed, too_fast


@screening(source="common practice", licence="Apache-2.0")
def one_value(votes: Votes, controls: Controls | None, *, least: int = 10) -> Sequence[Exclusion]:
    """Excludes annotators who gave one and the same value to everything, over at least `least` judgements."""
    excluded = []
    for number, annotator in enumerate(votes.annotators):
        given = votes.given[(votes.annotator == number) & ~np.isnan(votes.value)]
        if len(given) >= least and (given == given[0]).all():
            excluded.append(Exclusion(annotator, f"gave {given[0]:g} in all of {len(given)} judgements"))
    return excluded


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
    timed = [
        (annotator, Timed(annotator.panel, float(np.median(votes.took_ms[rows[own]])), len(own)))
        for annotator, own in by_annotator(votes, rows)
        if len(own) >= least
    ]
    hasty = too_fast([each for _, each in timed], least_ms=least_ms, share=share)
    return [Exclusion(timed[index][0], reason) for index, reason in hasty]


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
        correlations = [
            pearson(votes.value[rows[part]], others[part])
            for part in (own[session == each] for each in np.unique(session))
            if len(part) >= least
        ]
        known = [r.value for r in correlations if r.value is not None]
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
