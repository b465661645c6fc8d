"""The people of a round: how far they are, how they agree, and which screening rules would leave them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sightline import registry
from sightline.errors import SightlineError
from sightline.estimate import Estimate
from sightline.extension import Configured
from sightline.judging import agreement
from sightline.judging.agreement import Coefficient
from sightline.judging.round_votes import OfQuestion
from sightline.judging.store import overseeing
from sightline.judging.store.overseeing import Link, Person
from sightline.judging.store.round_numbers import Counted, RoundVotes
from sightline.judging.store.rounds import Round
from sightline.records import AnnotatorKey, Controls, Votes
from sightline.statistics.agreement import cohen_kappa
from sightline.statistics.intervals import wilson
from sightline.statistics.others import majority_of_others
from sightline.study.study import Study


@dataclass(frozen=True)
class Risk:
    """A screening rule of study.toml that would leave somebody out, and on which numbers."""

    rule: str
    question: str
    reason: str


@dataclass(frozen=True)
class OfPerson:
    """One annotator of the round.

    `with_others` and `kappa` hold a coefficient a question; `kappa` is Cohen's with the majority of others,
    for questions with labels. `passed` and `failed` count control items; `reference` is the share of hidden
    reference photos that got the answer they should.
    """

    name: str
    panel: str
    role: str
    language: str | None
    link: Link | None
    done: int
    skipped: int
    open: int
    votes: int
    seconds: float | None
    with_others: Mapping[str, Coefficient]
    kappa: Mapping[str, Coefficient]
    passed: int
    failed: int
    reference: Estimate
    risks: Sequence[Risk]
    left_out: str | None


def people_of_round(
    study: Study,
    round_: Round,
    counted: Counted,
    everything: RoundVotes,
    people: Sequence[Person],
    asked: Sequence[OfQuestion],
    counting: Mapping[str, OfQuestion],
    controls: Mapping[str, Controls | None],
    at_risk: Mapping[AnnotatorKey, Sequence[Risk]],
) -> list[OfPerson]:
    """Everybody who has pages or a link, in the order they joined."""
    links = overseeing.links(study, round_.id)
    pages = Counter[tuple[int, str]]()
    for row in counted.pages:
        pages[row.annotator_id, row.state] += row.pages
    times = _times_by_person(everything)
    with_others = {
        name: {each.annotator: each.with_others for each in agreement.by_annotator(part.votes)}
        for name, part in counting.items()
    }
    kappas = {name: _kappas(part.votes, with_others[name]) for name, part in counting.items()}
    tried = [_tried(part.votes, controls[part.name]) for part in asked]
    named, votes = np.unique(everything.annotator[~np.isnan(everything.value)], return_counts=True)
    given = Counter(dict(zip(named.tolist(), votes.tolist(), strict=True)))
    found = []
    for number, person in enumerate(people):
        if person.role == "adjudicator" or not (
            person.id in links
            or any(pages[person.id, state] for state in ("open", "done", "skipped", "lapsed"))
        ):
            continue
        key = AnnotatorKey(person.panel, person.name)
        right, wrong, high, low = (int(sum(each[number, place] for each in tried)) for place in range(4))
        found.append(
            OfPerson(
                person.name,
                person.panel,
                person.role,
                person.language,
                links.get(person.id),
                pages[person.id, "done"],
                pages[person.id, "skipped"],
                pages[person.id, "open"],
                given[person.id],
                times.get(person.id),
                {name: told[key] for name, told in with_others.items() if key in told},
                {name: told[key] for name, told in kappas.items() if key in told},
                right,
                wrong,
                wilson(high, high + low),
                at_risk.get(key, ()),
                person.left_out,
            )
        )
    return found


def _times_by_person(everything: RoundVotes) -> dict[int, float]:
    """The median of seconds that each annotator's pages took."""
    order = np.argsort(everything.by, kind="stable")
    people, start = np.unique(everything.by[order], return_index=True)
    parts = np.split(everything.seconds[order], start[1:])
    return {int(who): float(np.median(own)) for who, own in zip(people, parts, strict=False)}


def _kappas(votes: Votes, with_others: Mapping[AnnotatorKey, Coefficient]) -> dict[AnnotatorKey, Coefficient]:
    """Cohen's kappa of each annotator with the majority of the others, where answers are labels."""
    if votes.question.scale == "nominal":
        return dict(with_others)
    if votes.question.scale == "interval":
        return {}
    kept = agreement.counted(votes)
    others = majority_of_others(kept.item, kept.value, kept.n.astype(np.float64))
    found = {}
    for number in np.unique(kept.annotator).tolist():
        own = kept.annotator == number
        told = cohen_kappa(kept.value[own], others[own])
        found[votes.annotators[number]] = Coefficient(
            "Cohen's kappa", told.value, told.low, told.high, told.n, told.reason
        )
    return found


def _tried(votes: Votes, controls: Controls | None) -> np.ndarray:
    """Of each annotator: control items passed and failed, reference photos judged as they should and not.

    A control item is passed by the answer of at least half of those who vouch for it, within its tolerance.
    """
    found = np.zeros((len(votes.annotators), 4), dtype=np.int64)
    if controls is None:
        return found
    kinds = np.asarray(controls.kind, dtype=str)
    trusted = set(controls.by) if "annotator" in kinds else set()
    for place, chosen in ((0, kinds != "reference"), (2, kinds == "reference")):
        vouchers: dict[int, list[int]] = {}
        for row in np.flatnonzero(chosen).tolist():
            vouchers.setdefault(int(controls.item[row]), []).append(row)
        for vote in np.flatnonzero(np.isin(votes.item, list(vouchers))).tolist():
            number = int(votes.annotator[vote])
            if votes.annotators[number].name in trusted:
                continue
            rows = vouchers[int(votes.item[vote])]
            apart = np.abs(votes.value[vote] - controls.expected[rows])
            met = int((apart <= controls.tolerance[rows]).sum())
            found[number, place + int(2 * met < len(rows))] += 1
    return found


def screens_of(study: Study, troubles: list[str]) -> list[Configured]:
    """The screening rules of study.toml; what is wrong with them is added to the troubles."""
    try:
        return [
            registry.configure("screening", str(told))
            for told in study.settings.get("screening", {}).get("rules", [])
        ]
    except SightlineError as error:
        troubles.append(f"The screening rules of study.toml: {error.what}. {error.remedy}".strip())
        return []


def risks(
    asked: Mapping[str, OfQuestion],
    controls: Mapping[str, Controls | None],
    screens: Sequence[Configured],
    troubles: list[str],
) -> dict[AnnotatorKey, list[Risk]]:
    """Who would be left out if truth were settled now."""
    found: dict[AnnotatorKey, list[Risk]] = {}
    for name, part in asked.items():
        for screen in screens:
            if screen.spec.details["needs_controls"] and controls[name] is None:
                troubles.append(
                    f"{screen.name} cannot be judged on {name!r}: no control item was answered yet."
                )
                continue
            try:
                told = screen.load()(part.votes, controls[name])
            except SightlineError as error:
                troubles.append(f"{screen.name} on {name!r}: {error.what}.")
                continue
            for exclusion in told:
                risk = Risk(screen.short, name, exclusion.reason)
                found.setdefault(exclusion.annotator, []).append(risk)
    return found
