"""Excludes annotators who disagree with the control annotators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.estimate import Estimate
from sightline.extension import screening
from sightline.judging.screening._panel import answered, by_annotator, is_trusted, refuse, trusted
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.agreement import cohen_kappa

KNOWN = "the control answers"


@screening(needs_controls=True, source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0", version=2)
def control_kappa(
    votes: Votes, controls: Controls | None, *, above: float = 0.4, against: str = "each", least: int = 5
) -> Sequence[Exclusion]:
    """Excludes annotators whose Cohen's kappa with the control annotators is not above a limit.

    Kappa must be `above` 0.4 with each control annotator over the control items both judged; `against`
    "best" asks for one of them only, as the code released with PQPP does. Where nobody judged the controls
    beforehand, the known answers and attention checks take a control annotator's place. A
    judgement within a control's tolerance counts as the expected answer. Fewer than `least` judgements of a
    control annotator's items are no ground; control annotators themselves are never excluded.
    """
    refuse("control_kappa", "against", against, against in ("each", "best"), '"each" or "best"')
    people = trusted(controls)
    kinds = ("annotator",) if people else ("known", "attention")
    found = answered(votes, controls, kinds)
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        if controls is None or is_trusted(annotator, people):
            continue
        kappas = _kappas(controls, found.control[own], found.given[own], found.expected[own], least)
        failed = {
            by: kappa for by, kappa in kappas.items() if kappa.value is not None and kappa.value <= above
        }
        if not failed or (against == "best" and len(failed) < len(kappas)):
            continue
        pick = max if against == "best" else min
        by = pick(failed, key=lambda name: (failed[name].value or 0.0, name))
        of = "best kappa" if against == "best" and len(kappas) > 1 else "kappa"
        excluded.append(
            Exclusion(
                annotator,
                f"{of} with {by} {failed[by].value:.2f} over {failed[by].n} items, not above {above:g}",
            )
        )
    return excluded


def _kappas(
    controls: Controls, control: np.ndarray, given: np.ndarray, expected: np.ndarray, least: int
) -> dict[str, Estimate]:
    """Kappa with each voucher who has enough items in common.

    Kappa is undefined where both only ever used one value, which here means that all were right.
    """
    vouchers = np.array(
        [controls.by[row] if controls.kind[row] == "annotator" else KNOWN for row in control], dtype=str
    )
    kappas = {}
    for by in np.unique(vouchers):
        with_this = vouchers == by
        if with_this.sum() >= least:
            kappas[str(by)] = cohen_kappa(given[with_this], expected[with_this])
    return kappas
