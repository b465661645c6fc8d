"""Annotators screened by items with a known answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.estimate import Estimate
from sightline.extension import screening
from sightline.judging.screening._panel import ROUNDING, answered, by_annotator, is_trusted, refuse, trusted
from sightline.records import Controls, Exclusion, Votes
from sightline.statistics.agreement import cohen_kappa


@screening(needs_controls=True, source="Tang et al. 2024 (W1KP)", licence="Apache-2.0")
def attention(
    votes: Votes, controls: Controls | None, *, allowed: int = 0, least: int = 1
) -> Sequence[Exclusion]:
    """Excludes annotators who failed more attention checks than allowed.

    The answer to an attention check is obvious (an image compared with itself), so that one failure is
    evidence: none is `allowed` by default. Fewer than `least` checks are no ground.
    """
    found = answered(votes, controls, ("attention",))
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        n, failed = len(own), int((~found.right[own]).sum())
        if n >= least and failed > allowed:
            excluded.append(
                Exclusion(annotator, f"failed {failed} of {n} attention checks, {allowed} allowed")
            )
    return excluded


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


@screening(needs_controls=True, source="ConQA (2024)", licence="Apache-2.0")
def failed_controls(
    votes: Votes, controls: Controls | None, *, share: float = 0.7, least: int = 3
) -> Sequence[Exclusion]:
    """Excludes annotators who failed too many of their control tasks.

    A judgement passes if it lies within the tolerance of an answer that anybody vouches for; failing a
    proportion of `share` or more (70 %) means out, with all judgements. Fewer than `least` control tasks are
    no ground (ConQA itself set no such limit: `least=1`). Reference photos do not count here; they have a
    rule of their own. Control annotators themselves are never excluded.
    """
    found = answered(votes, controls, ("known", "attention", "annotator"))
    people = trusted(controls)
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        n = np.unique(found.vote[own]).size
        failed = n - np.unique(found.vote[own][found.right[own]]).size
        if n >= least and failed >= share * n - ROUNDING and failed and not is_trusted(annotator, people):
            excluded.append(
                Exclusion(
                    annotator, f"failed {failed} of {n} control tasks ({failed / n:.0%}), limit {share:.4g}"
                )
            )
    return excluded


@screening(needs_controls=True, source="Poesina et al. 2024 (PQPP)", licence="Apache-2.0")
def reference_photos(
    votes: Votes, controls: Controls | None, *, above: float = 0.95, least: int = 10
) -> Sequence[Exclusion]:
    """Excludes annotators who gave too few reference photos the top value.

    The photo that a prompt was written for is hidden among its images; the proportion that an annotator rates
    as expected (the top of the scale, within the tolerance) must be `above` 95 %. Fewer than `least` rated
    photos are no ground; below twenty a single slip is enough to fail.
    """
    found = answered(votes, controls, ("reference",))
    excluded = []
    for annotator, own in by_annotator(votes, found.vote):
        n, top = len(own), int(found.right[own].sum())
        if n >= least and top <= above * n + ROUNDING:
            excluded.append(
                Exclusion(
                    annotator,
                    f"{top} of {n} reference photos at the top value ({top / n:.1%}), not above {above:.4g}",
                )
            )
    return excluded
