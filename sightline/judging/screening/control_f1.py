"""Excludes whoever does not find the relevant images of control queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import screening
from sightline.judging.screening._panel import answered, by_annotator, is_trusted, trusted
from sightline.records import Controls, Exclusion, Votes


@screening(needs_controls=True, source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0")
def control_f1(
    votes: Votes, controls: Controls | None, *, below: float = 0.4, min_rel: float = 1.0, least: int = 5
) -> Sequence[Exclusion]:
    """Excludes annotators whose F1 on the relevant images of control queries is below a limit.

    2 TP / (2 TP + FP + FN), relevant being a value of at least `min_rel`; an image is relevant if anybody who
    vouches for it says so. Annotators `below` 0.4 are out. Fewer than `least` relevant control images judged
    are no ground; control annotators themselves are never excluded.
    """
    found = answered(votes, controls, ("known", "attention", "annotator"))
    people = trusted(controls)
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        if is_trusted(annotator, people):
            continue
        # One row per judgement: the highest answer that is vouched for decides.
        own = own[np.lexsort((-found.expected[own], found.vote[own]))]
        own = own[np.unique(found.vote[own], return_index=True)[1]]
        relevant, said = found.expected[own] >= min_rel, found.given[own] >= min_rel
        hits, n = int((relevant & said).sum()), int(relevant.sum())
        f1 = 2 * hits / (n + int(said.sum())) if n else 1.0
        if n >= least and f1 < below:
            excluded.append(
                Exclusion(
                    annotator,
                    f"F1 {f1:.2f} on control images ({hits} of {n} relevant ones found, "
                    f"{int((said & ~relevant).sum())} wrongly called so), below {below:g}",
                )
            )
    return excluded
