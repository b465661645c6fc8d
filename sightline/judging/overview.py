"""How a round of judging stands while people judge: progress, people, agreement, disputes, time and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np

from sightline.estimate import Estimate, absent
from sightline.judging import agreement
from sightline.judging.agreement import Coefficient
from sightline.judging.assignment import STAMP, stamp
from sightline.judging.controls import controls_of
from sightline.judging.enrolled import Enrolled, enrolled, enrolled_table
from sightline.judging.planning import cents
from sightline.judging.round_alerts import Alert, alerts, paces
from sightline.judging.round_people import RoundAnnotator, people_of_round, risks, screens_of
from sightline.judging.round_votes import QuestionVotes, by_question, excluded
from sightline.judging.store import overseeing, round_numbers
from sightline.judging.store.overseeing import Person
from sightline.judging.store.remarks import RoundRemark, remarks_of_round
from sightline.judging.store.round_numbers import WORK, Counted, RoundVotes
from sightline.judging.store.rounds import Round, get_round
from sightline.records import Votes
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.intervals import wilson
from sightline.study.study import Study

DISPUTES = 20
REMARKS = 60
RESAMPLES = 200
"""Behind the interval of alpha: fewer than in a report, since the page asks every few seconds."""
NOT_YET = "too few tasks were finished in the last hour"


@dataclass(frozen=True)
class Progress:
    """Tasks and valid judgements, wanted and done; the end as the last hour's pace predicts it.

    What excluded annotators judged is not done: their items are given to others.

    `wanted` and `done` count tasks of work; `assigned` counts all tasks by state, controls included. `rate`
    is tasks of work per hour; the end is expected between `earliest` and `latest`.
    """

    items: int
    wanted: int
    done: int
    judgements_wanted: int
    judgements: int
    assigned: Mapping[str, int]
    again: int
    again_done: int
    rate: Estimate
    expected: str | None
    earliest: str | None
    latest: str | None
    people_missing: int = 0
    """How many more annotators are needed so that every item can reach the judgements wanted."""


@dataclass(frozen=True)
class Cost:
    """Money for finished tasks, and what it will be in the end if nothing changes."""

    price: Decimal
    fee: Decimal
    tasks: int
    so_far: Decimal
    tasks_at_end: int
    at_end: Decimal


@dataclass(frozen=True)
class Vote:
    """Who said what."""

    annotator: str
    value: float


@dataclass(frozen=True)
class Dispute:
    """An item people disagree on: who says what, how far apart, and what the owner decided, if anything.

    `images` is how many it has. `spread` is the standard deviation of the judgements; of a nominal question
    the entropy of their proportions in bits.
    """

    question: str
    item: int
    prompt: str | None
    images: int
    votes: Sequence[Vote]
    spread: float
    decided: float | None


@dataclass(frozen=True)
class Rejudged:
    """Work judged again, by others or by the same people, compared with the first judgements.

    `same` is the proportion of equal answers.
    """

    by: str
    question: str
    agreement: Coefficient
    same: Estimate


@dataclass(frozen=True)
class Overview(Result):
    """How a round stands; `times` are seconds per task: the median, and the quartiles as its interval."""

    round: str
    mode: str
    state: str
    at: str
    progress: Progress
    people: Sequence[RoundAnnotator]
    agreement: Mapping[str, Coefficient]
    agreement_everyone: Mapping[str, Coefficient]
    enrolled: Mapping[str, Enrolled]
    times: Estimate
    cost: Cost | None
    disputes: Mapping[str, Sequence[Dispute]]
    rejudged: Sequence[Rejudged]
    alerts: Sequence[Alert] = ()
    notes: Sequence[str] = ()
    remarks: Sequence[RoundRemark] = ()
    remark_counts: Mapping[str, int] = field(default_factory=dict)
    """The newest flags, comments and regions, and how many there are of each."""

    @property
    def sentence(self) -> str:
        done, wanted = self.progress.done, self.progress.wanted
        return f"{done:,} of {wanted:,} tasks of {self.round} are done."

    @property
    def next(self) -> Sequence[str]:
        return ("sightline truth STUDY",)

    def tables(self) -> dict[str, Table]:
        people = [
            (each.key, each.role, each.done, each.skipped, each.open, each.judgements,
             absent("not timed") if each.seconds is None else each.seconds,
             each.passed, each.failed, each.reference, _why_excluded(each))
            for each in self.people
        ]  # fmt: skip
        columns = [
            *map(Column, ("annotator", "role", "done", "skipped", "open", "judgements")),
            Column("seconds", "seconds per task"),
            Column("passed", "controls passed"),
            Column("failed", "controls failed"),
            Column("reference", "reference photos", format="%", estimate=True),
            Column("excluded"),
        ]
        disputes = [
            (each.question, each.item, each.prompt or "", each.spread, len(each.votes),
             absent("undecided") if each.decided is None else each.decided)
            for several in self.disputes.values()
            for each in several
        ]  # fmt: skip
        return {
            "annotators": Table(columns, people, "Annotators"),
            "agreement": Table(
                [
                    Column("question"),
                    Column("coefficient"),
                    Column("agreement_everyone", "agreement, everyone", estimate=True),
                    Column("agreement", "agreement, after exclusion", estimate=True),
                ],
                [
                    (name, each.name, self.agreement_everyone[name], each)
                    for name, each in self.agreement.items()
                ],
                "Agreement",
            ),
            "enrolled": enrolled_table(self.enrolled),
            "alerts": Table(
                [*map(Column, ("annotator", "question", "kind", "alert"))],
                [(each.annotator, each.question, each.kind, each.text) for each in self.alerts],
                "Worth a look",
            ),
            "disputes": Table(
                [*map(Column, ("question", "item", "prompt", "spread", "n", "decided"))],
                disputes,
                "Disputed items",
            ),
        }


def overview(study: Study, round: str, at: datetime | None = None) -> Overview:
    """A round's numbers as they are now."""
    moment = at or datetime.now(UTC)
    round_ = get_round(study, round)
    counted = round_numbers.counted(study, round_, stamp(moment - timedelta(hours=1)))
    everything = round_numbers.votes(study, round_.id)
    people = overseeing.people(study)
    shapes = round_numbers.images_at_once(study, round_.id)
    asked = by_question(round_, everything, people, paired=shapes == {2})
    gone = excluded(people)
    counting = {each.name: each.where(~np.isin(each.votes.annotator, gone)) for each in asked}
    notes: list[str] = []
    screens = screens_of(study, notes)
    controls = {each.name: controls_of(study, each.votes, each.items) for each in asked}
    at_risk = risks(counting, controls, screens, notes)
    out = round_numbers.screened(study, round_.id)
    rows = people_of_round(
        study, round_, counted, everything, people, asked, counting, controls, at_risk, out
    )
    valid = ~np.isin(everything.annotator, [*out, *(people[number].id for number in gone)])
    together = {name: _agreement(part) for name, part in counting.items()}
    remarks, counts = remarks_of_round(study, round_.id, REMARKS)
    return Overview(
        round=round_.name,
        mode=round_.mode,
        state=round_.state,
        at=stamp(moment),
        progress=replace(
            _progress(round_, counted, everything, valid, moment),
            people_missing=round_numbers.people_missing(study, round_.id),
        ),
        people=rows,
        agreement=together,
        agreement_everyone={each.name: _agreement(each) for each in asked},
        enrolled=_enrolled(counting, [number for number, each in enumerate(people) if each.id in out]),
        alerts=alerts(rows, counting, together, paces(everything, [person.id for person in people])),
        times=_times(everything),
        cost=_cost(round_, counted, people),
        disputes=_disputes(study, round_, counting),
        rejudged=[each for name, part in counting.items() for each in _rejudged(name, part)],
        notes=notes,
        remarks=remarks,
        remark_counts=counts,
    )


def _enrolled(counting: Mapping[str, QuestionVotes], screened: Sequence[int]) -> dict[str, Enrolled]:
    found = {
        name: enrolled(part.votes.where(~np.isin(part.votes.annotator, screened)))
        for name, part in counting.items()
    }
    return {name: each for name, each in found.items() if each is not None}


def _why_excluded(person: RoundAnnotator) -> str:
    if person.excluded is None and person.screened:
        return "; ".join(f"{risk.rule}: {risk.reason}" for risk in person.risks) or "by a screening rule"
    return person.excluded or ""


def _agreement(part: QuestionVotes) -> Coefficient:
    return agreement.alpha(part.votes, part.sides, RESAMPLES)


# -- progress, time and money -------------------------------------------------------------------------------


def _progress(
    round_: Round, counted: Counted, everything: RoundVotes, valid: np.ndarray, at: datetime
) -> Progress:
    states = Counter[str]()
    for (_, state), n in counted.tasks.items():
        states[state] += n
    rate = _rate(counted, at)
    left = counted.wanted - counted.done
    ends: list[str | None] = [None, None, None]
    if round_.state == "open" and left > 0 and rate.value:
        ends = [_end(at, left, pace) for pace in (rate.value, rate.high, rate.low)]
    work = (everything.kind == WORK) & (everything.control == 0) & ~np.isnan(everything.value)
    return Progress(
        counted.items,
        counted.wanted,
        counted.done,
        counted.judgements,
        int((work & valid & (everything.repetition == 0)).sum()),
        dict(states),
        counted.again,
        counted.again_done,
        rate,
        ends[0],
        ends[1],
        ends[2],
    )


def _rate(counted: Counted, at: datetime) -> Estimate:
    """Tasks of work per hour, over the last hour or since the first task if that is later.

    Limits are exact for a Poisson count: chi-square quantiles with 2k and 2k+2 degrees of freedom, halved.
    Source: F. Garwood, Fiducial limits for the Poisson distribution, Biometrika 28 (1936).
    """
    from scipy.special import chdtri

    tasks, hours = counted.recent, 1.0
    if counted.first is not None and not counted.older:
        began = datetime.strptime(counted.first, STAMP).replace(tzinfo=UTC)
        # The first task only starts the clock.
        tasks, hours = tasks - 1, min(1.0, max(0.0, (at - began).total_seconds() / 3600))
    if tasks < 2 or hours * 60 < 1:
        return Estimate(None, n=max(0, tasks), method="Poisson", reason=NOT_YET)
    low, high = float(chdtri(2 * tasks, 0.975)) / 2, float(chdtri(2 * tasks + 2, 0.025)) / 2
    return Estimate(tasks / hours, low / hours, high / hours, tasks, "Poisson")


def _end(at: datetime, left: int, pace: float | None) -> str | None:
    if not pace or left / pace > 24 * 365 * 10:
        return None
    return stamp(at + timedelta(hours=left / pace))


def _times(everything: RoundVotes) -> Estimate:
    seconds = everything.seconds
    if not seconds.size:
        return absent("no task was timed yet")
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
    return Estimate(middle, low, high, len(seconds), "quartiles", unit="s")


def _cost(round_: Round, counted: Counted, people: Sequence[Person]) -> Cost | None:
    """Finished tasks x price x (1 + fee); in the end also the missing work, with the controls it brings."""
    price, fee = (Decimal(str(round_.settings.get(name) or 0)) for name in ("price", "fee"))
    if not price:
        return None
    # Control annotators are the owner's own people.
    own = {person.id for person in people if person.role == "control"}
    paid = sum(n for (who, state), n in counted.tasks.items() if state == "done" and who not in own)
    missing = counted.wanted - counted.done + counted.again - counted.again_done
    controls = round_.settings.get("controls") or {}
    tasks, of = int(controls.get("pages") or 0), int(controls.get("of") or 1)
    more = missing * (1 + float(round_.settings.get("repeat") or 0))
    more *= of / (of - tasks) if 0 < tasks < of else 1
    whole = paid + round_up(more)
    each = price * (1 + fee)
    return Cost(price, fee, paid, cents(paid * each), whole, cents(whole * each))


def round_up(number: float) -> int:
    """The next whole number, a hair above one taken for it."""
    return int(np.ceil(round(number, 9)))


# -- disputes and quality checks ----------------------------------------------------------------------------


def _disputes(study: Study, round_: Round, asked: Mapping[str, QuestionVotes]) -> dict[str, list[Dispute]]:
    """What people disagree on most, undecided first."""
    decided = overseeing.decisions(study, [key for key, _ in round_.questions])
    keys = {question.name: key for key, question in round_.questions}
    disputes: dict[str, list[Dispute]] = {}
    for name, part in asked.items():
        ranked = agreement.by_item(part.votes)
        spread = ranked.entropy if part.votes.question.scale == "nominal" else ranked.spread
        with np.errstate(invalid="ignore"):
            places = np.flatnonzero(spread > 0)
        items = [part.items[item] for item in ranked.item[places].tolist()]
        order = np.argsort([(keys[name], item) in decided for item in items], kind="stable")
        first = order[:DISPUTES].tolist()
        shown = round_numbers.shown(study, [items[place] for place in first])
        kept = agreement.counted(part.votes)
        disputes[name] = []
        for place in first:
            item = items[place]
            rows = np.flatnonzero(kept.item == ranked.item[places[place]])
            votes = [
                Vote(kept.annotators[int(kept.annotator[row])].name, float(kept.value[row])) for row in rows
            ]
            disputes[name].append(
                Dispute(
                    question=name,
                    item=item,
                    prompt=shown[item].prompt,
                    images=len(shown[item].images),
                    votes=sorted(votes, key=lambda vote: (vote.value, vote.annotator)),
                    spread=float(spread[places[place]]),
                    decided=decided.get((keys[name], item)),
                )
            )
    return disputes


def _rejudged(name: str, part: QuestionVotes) -> list[Rejudged]:
    """Agreement of later judgements with the first, by others and by the same people."""
    work = part.where(~part.votes.control)
    rows = []
    for by, votes in (("other", _first_and_again(work)), ("same", work.where(~work.again).votes)):
        repeats = agreement.repeats(votes)
        n = repeats.coefficient.n
        if n:
            rows.append(Rejudged(by, name, repeats.coefficient, wilson(round((repeats.same or 0) * n), n)))
    return rows


def _first_and_again(part: QuestionVotes) -> Votes:
    """The first judgement of each item that another judged again, and those judgements, as of one person."""
    votes = part.votes
    later = np.flatnonzero(part.again)
    first = np.flatnonzero(~part.again & (votes.repetition == 0) & np.isin(votes.item, votes.item[later]))
    # Judgements are in the order given: the earliest of each item is the first that `unique` meets.
    first = first[np.unique(votes.item[first], return_index=True)[1]]
    later = later[np.isin(votes.item[later], votes.item[first])]
    rows = np.concatenate([first, later])
    keep = votes.where(rows)
    repetition = np.concatenate([np.zeros(len(first)), np.arange(1, len(later) + 1)]).astype(np.int64)
    return replace(keep, annotator=np.zeros(len(rows), dtype=np.int64), repetition=repetition)
