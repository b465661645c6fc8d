"""The annotators of a round: how far they are, how they agree, and which rules would exclude them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sightline import registry
from sightline.errors import SightlineError
from sightline.estimate import Estimate, absent
from sightline.extension import Configured
from sightline.judging import agreement
from sightline.judging.agreement import Coefficient
from sightline.judging.round_votes import QuestionVotes
from sightline.judging.store import overseeing
from sightline.judging.store.overseeing import Person
from sightline.judging.store.round_numbers import Counted, RoundVotes
from sightline.judging.store.rounds import Round
from sightline.judging.store.tokens import PANEL
from sightline.records import AnnotatorKey, Controls, Votes
from sightline.statistics.intervals import wilson
from sightline.study.study import Study

NO_PHOTO = absent("no reference photo was judged")


@dataclass(frozen=True)
class Risk:
    """A screening rule of study.toml that would exclude somebody, and on which numbers."""

    rule: str
    question: str
    reason: str


@dataclass(frozen=True)
class RoundAnnotator:
    """One annotator of the round; `key` is the name by which actions know them.

    The key has the panel where they were not invited here, and are not `invitable` therefore. `done`,
    `skipped` and `open` count tasks, `seconds` is the median time per task. `agreement` is that with the
    others, one coefficient per question, the same as that of all together. `passed` and `failed` count
    control items; `reference` is the proportion of hidden reference photos that got the answer they should;
    `link_expires` is when the last valid link does; `excluded` is the owner's reason; `screened` says
    that the rules at `risks` exclude them, and others get their items.
    """

    name: str
    key: str = ""
    invitable: bool = True
    role: str = "annotator"
    language: str | None = None
    link_expires: str | None = None
    done: int = 0
    skipped: int = 0
    open: int = 0
    judgements: int = 0
    seconds: float | None = None
    agreement: Mapping[str, Coefficient] = field(default_factory=dict)
    passed: int = 0
    failed: int = 0
    reference: Estimate = NO_PHOTO
    risks: Sequence[Risk] = ()
    excluded: str | None = None
    screened: bool = False


def key_of(panel: str, name: str) -> str:
    """The name by which actions know somebody: with the panel where they were not invited here."""
    return name if panel == PANEL else f"{panel}/{name}"


def people_of_round(
    study: Study,
    round_: Round,
    counted: Counted,
    everything: RoundVotes,
    people: Sequence[Person],
    asked: Sequence[QuestionVotes],
    counting: Mapping[str, QuestionVotes],
    controls: Mapping[str, Controls | None],
    at_risk: Mapping[AnnotatorKey, Sequence[Risk]],
    screened: Collection[int] = (),
) -> list[RoundAnnotator]:
    """Everybody who has tasks or a link, in the order they joined."""
    links = overseeing.links(study, round_.id)
    tasks = counted.tasks
    busy = {who for (who, _), n in tasks.items() if n}
    times = _times_by_person(everything)
    with_others = {name: agreement.alpha_of_each(part.votes, part.sides) for name, part in counting.items()}
    tried = [control_results(part.votes, controls[part.name]) for part in asked]
    numbers, given = np.unique(everything.annotator[~np.isnan(everything.value)], return_counts=True)
    judgements = dict(zip(numbers.tolist(), given.tolist(), strict=True))
    rows = []
    for number, person in enumerate(people):
        if person.role == "adjudicator" or person.id not in links.keys() | busy:
            continue
        key = AnnotatorKey(person.panel, person.name)
        own = person.panel == PANEL
        passed, failed, high, low = (int(sum(each[number, place] for each in tried)) for place in range(4))
        rows.append(
            RoundAnnotator(
                name=person.name,
                key=key_of(person.panel, person.name),
                invitable=own,
                role=person.role,
                language=person.language,
                link_expires=links.get(person.id),
                done=tasks[person.id, "done"],
                skipped=tasks[person.id, "skipped"],
                open=tasks[person.id, "open"],
                judgements=judgements.get(person.id, 0),
                seconds=times.get(person.id),
                agreement={name: known[number] for name, known in with_others.items() if number in known},
                passed=passed,
                failed=failed,
                reference=wilson(high, high + low),
                risks=at_risk.get(key, ()),
                excluded=person.left_out,
                screened=person.id in screened,
            )
        )
    return rows


def _times_by_person(everything: RoundVotes) -> dict[int, float]:
    """Each annotator's median time per task."""
    order = np.argsort(everything.by, kind="stable")
    people, start = np.unique(everything.by[order], return_index=True)
    parts = np.split(everything.seconds[order], start[1:])
    return {int(who): float(np.median(own)) for who, own in zip(people, parts, strict=False)}


def control_results(votes: Votes, controls: Controls | None) -> np.ndarray:
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
            # Anonymous votes are nobody's.
            if number < 0 or votes.annotators[number].name in trusted:
                continue
            rows = vouchers[int(votes.item[vote])]
            apart = np.abs(votes.value[vote] - controls.expected[rows])
            met = int((apart <= controls.tolerance[rows]).sum())
            found[number, place + int(2 * met < len(rows))] += 1
    return found


def screens_of(study: Study, notes: list[str]) -> list[Configured]:
    """The screening rules of study.toml; what is wrong with them is added to the notes."""
    try:
        return [
            registry.configure("screening", str(rule))
            for rule in study.settings.get("screening", {}).get("rules", [])
        ]
    except SightlineError as error:
        notes.append(f"The screening rules of study.toml: {error.what}. {error.remedy}".strip())
        return []


def risks(
    asked: Mapping[str, QuestionVotes],
    controls: Mapping[str, Controls | None],
    screens: Sequence[Configured],
    notes: list[str],
) -> dict[AnnotatorKey, list[Risk]]:
    """Who would be excluded if the truth were computed now."""
    found: dict[AnnotatorKey, list[Risk]] = {}
    for name, part in asked.items():
        for screen in screens:
            if screen.spec.details["needs_controls"] and controls[name] is None:
                notes.append(f"{screen.name} cannot be judged on {name!r}: no control item was answered yet.")
                continue
            try:
                exclusions = screen.load()(part.votes, controls[name])
            except SightlineError as error:
                notes.append(f"{screen.name} on {name!r}: {error.what}.")
                continue
            for exclusion in exclusions:
                risk = Risk(screen.short, name, exclusion.reason)
                found.setdefault(exclusion.annotator, []).append(risk)
    return found
