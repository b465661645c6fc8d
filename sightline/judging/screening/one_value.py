"""Excludes whoever always gives the same answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.records import Controls, Exclusion, Votes


@screening(source="common practice", licence="Apache-2.0")
def one_value(votes: Votes, controls: Controls | None, *, least: int = 10) -> Sequence[Exclusion]:
    """Excludes annotators who gave one and the same value to everything, over at least `least` judgements."""
    excluded = []
    for number, annotator in enumerate(votes.annotators):
        given = votes.value[(votes.annotator == number) & ~np.isnan(votes.value)]
        if len(given) >= least and (given == given[0]).all():
            excluded.append(Exclusion(annotator, f"gave {given[0]:g} in all of {len(given)} judgements"))
    return excluded
