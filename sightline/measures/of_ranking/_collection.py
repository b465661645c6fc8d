"""What a ranking's scores are held against: the rest of the ranking, or the collection that was searched."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sightline.errors import UsageError, near
from sightline.measures.of_ranking._scores import Scored
from sightline.records import NoValue, Rankings

AGAINST = ("ranking", "collection")


def need_against(measure: str, against: str) -> None:
    """Refuse what scores cannot be held against."""
    if against not in AGAINST:
        raise UsageError(f"{measure}: against {against!r}", remedy=near(against, AGAINST))


def collection(
    run: Rankings, told: Scored, against: str, compute: Callable[[np.ndarray], np.ndarray]
) -> list[float | NoValue]:
    """What `compute` makes of each ranking's collection score, or why that is not known."""
    if against == "ranking":
        # No ranking here is empty, and reduceat adds up between the offsets.
        whole = np.add.reduceat(told.scores, told.offsets[:-1]) / np.diff(told.offsets)
        return list(compute(whole))
    if run.beyond is None:
        return [NoValue("the collection is not at hand")] * len(told.number)
    scores = run.beyond.collection_scores()
    mine = [scores[n] for n in told.number.tolist()]
    known = np.array([0.0 if isinstance(each, NoValue) else each for each in mine])
    return [
        each if isinstance(each, NoValue) else float(value)
        for each, value in zip(mine, compute(known), strict=True)
    ]
