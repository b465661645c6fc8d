"""How a round of judging stands while people judge: progress, people, agreement, disputes, time and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from sightline.estimate import Estimate
from sightline.judging import agreement
from sightline.judging.agreement import Coefficient
from sightline.judging.controls import controls_of
from sightline.judging.round_people import OfPerson, people_of_round, risks, screens_of
from sightline.judging.round_votes import OfQuestion, of_question
from sightline.judging.store import overseeing, round_numbers
from sightline.judging.store.overseeing import Person
from sightline.judging.store.round_numbers import WORK, Counted, RoundVotes
from sightline.judging.store.rounds import Round, get_round
from sightline.records import Votes
from sightline.statistics.agreement import krippendorff_alpha
from sightline.statistics.intervals import wilson
from sightline.study.study import Study

DISPUTES = 20
RESAMPLES = 200
"""Behind the limits of alpha: fewer than in a report, since the page asks every few seconds."""
STAMP = "%Y-%m-%dT%H:%M:%SZ"
CENT = Decimal("0.01")
NOT_YET = "too few pages were finished in the last hour"


@dataclass(frozen=True)
class Progress:
    """Pages of work and judgements, wanted and in; the end as the last hour's pace predicts it.

    `pages` counts all that were handed out by state. `rate` is pages of work an hour with its limits and the
    pages behind it; the end is expected between `earliest` and `latest`.
    """

    items: int
    wanted: int
    done: int
    judgements_wanted: int
    judgements_in: int
    pages: Mapping[str, int]
    again: int
    again_done: int
    rate: Estimate
    expected: str | None
    earliest: str | None
    latest: str | None

    @property
    def share(self) -> float:
        """Pages of work done, of those wanted."""
        return self.done / self.wanted if self.wanted else 0.0


@dataclass(frozen=True)
class Times:
    """Seconds a page takes: the median and the middle half."""

    median: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Cost:
    """Money for finished pages, and what it will be in the end if nothing changes."""

    price: Decimal
    fee: Decimal
    pages: int
    so_far: Decimal
    pages_at_end: int
    at_end: Decimal


@dataclass(frozen=True)
class Dispute:
    """Something people disagree on: who says what, how far apart, and what the owner decided, if anything.

    `spread` is the standard deviation of the votes; of a nominal question the entropy of its shares in bits.
    """

    question: str
    item: int
    prompt: str | None
    images: int
    values: Sequence[tuple[str, float]]
    spread: float
    decided: float | None

    @property
    def n(self) -> int:
        """How many judged it."""
        return len(self.values)


@dataclass(frozen=True)
class Checked:
    """Work judged again, by others or by the same people, against the first judgements of it."""

    by: str
    question: str
    coefficient: Coefficient
    same: Estimate


@dataclass(frozen=True)
class Overview:
    """Everything at once; `troubles` say what could not be worked out."""

    round: str
    mode: str
    state: str
    at: str
    progress: Progress
    people: Sequence[OfPerson]
    agreement: Mapping[str, Sequence[Coefficient]]
    times: Times
    cost: Cost | None
    disputes: Mapping[str, Sequence[Dispute]]
    checked: Sequence[Checked]
    troubles: Sequence[str]


def overview(study: Study, round: str, at: datetime | None = None) -> Overview:
    """A round's numbers as they are now."""
    moment = at or datetime.now(UTC)
    found = get_round(study, round)
    counted = round_numbers.counted(study, found, _stamp(moment - timedelta(hours=1)))
    everything = round_numbers.votes(study, found.id)
    people = overseeing.people(study)
    asked = [of_question(found, everything, people, key) for key, _ in found.questions]
    gone = [number for number, person in enumerate(people) if person.left_out is not None]
    counting = {each.name: each.where(~np.isin(each.votes.annotator, gone)) for each in asked}
    troubles: list[str] = []
    screens = screens_of(study, troubles)
    controls = {each.name: controls_of(study, each.votes, each.subjects) for each in asked}
    at_risk = risks(counting, controls, screens, troubles)
    times = _times(everything)
    return Overview(
        found.name,
        found.mode,
        found.state,
        _stamp(moment),
        _progress(found, counted, everything, moment),
        people_of_round(study, found, counted, everything, people, asked, counting, controls, at_risk),
        {name: _agreement(each.votes) for name, each in counting.items()},
        times,
        _cost(found, counted, people),
        _disputes(study, found, counting),
        [each for name, part in counting.items() for each in _checked(name, part)],
        troubles,
    )


def _agreement(votes: Votes) -> list[Coefficient]:
    kept = agreement.counted(votes)
    scale = votes.question.scale
    alpha = krippendorff_alpha(kept.item, kept.value, scale=scale, resamples=RESAMPLES)  # type: ignore[arg-type]
    told = (alpha.value, alpha.low, alpha.high, alpha.n, alpha.reason)
    return [Coefficient(f"Krippendorff's alpha ({scale})", *told)]


# -- progress, time and money -------------------------------------------------------------------------------


def _progress(round_: Round, counted: Counted, everything: RoundVotes, at: datetime) -> Progress:
    states = Counter[str]()
    for row in counted.pages:
        states[row.state] += row.pages
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
        int((work & (everything.repetition == 0)).sum()),
        dict(states),
        counted.again,
        counted.again_done,
        rate,
        *ends,
    )


def _rate(counted: Counted, at: datetime) -> Estimate:
    """Pages of work an hour, over the last hour or since the first page if that is later.

    Limits are exact for a Poisson count: chi-square quantiles with 2k and 2k+2 degrees of freedom, halved.
    Source: F. Garwood, Fiducial limits for the Poisson distribution, Biometrika 28 (1936).
    """
    from scipy.special import chdtri

    pages, hours = counted.recent, 1.0
    if counted.first is not None and not counted.older:
        began = datetime.strptime(counted.first, STAMP).replace(tzinfo=UTC)
        # The first page only starts the clock.
        pages, hours = pages - 1, min(1.0, max(0.0, (at - began).total_seconds() / 3600))
    if pages < 2 or hours * 60 < 1:
        return Estimate(None, None, None, max(0, pages), "Poisson", NOT_YET)
    low, high = float(chdtri(2 * pages, 0.975)) / 2, float(chdtri(2 * pages + 2, 0.025)) / 2
    return Estimate(pages / hours, low / hours, high / hours, pages, "Poisson")


def _end(at: datetime, left: int, pace: float | None) -> str | None:
    if not pace or left / pace > 24 * 365 * 10:
        return None
    return _stamp(at + timedelta(hours=left / pace))


def _times(everything: RoundVotes) -> Times:
    seconds = everything.seconds
    if not seconds.size:
        return Times(None, None, None, 0)
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    return Times(float(middle), float(low), float(high), len(seconds))


def _cost(round_: Round, counted: Counted, people: Sequence[Person]) -> Cost | None:
    """Finished pages x price x (1 + fee); in the end also the missing work, with the controls it brings."""
    price, fee = (Decimal(str(round_.settings.get(name) or 0)) for name in ("price", "fee"))
    if not price:
        return None
    # Those who judge the controls beforehand are of the owner's own house.
    own = {person.id for person in people if person.role == "control"}
    paid = sum(row.pages for row in counted.pages if row.state == "done" and row.annotator_id not in own)
    missing = counted.wanted - counted.done + counted.again - counted.again_done
    controls = round_.settings.get("controls") or {}
    pages, of = int(controls.get("pages") or 0), int(controls.get("of") or 1)
    more = missing * (1 + float(round_.settings.get("repeat") or 0))
    more *= of / (of - pages) if 0 < pages < of else 1
    whole = paid + round_up(more)
    each = price * (1 + fee)
    return Cost(price, fee, paid, _cents(paid * each), whole, _cents(whole * each))


def round_up(number: float) -> int:
    """The next whole number, a hair above one taken for it."""
    return int(np.ceil(round(number, 9)))


def _cents(money: Decimal) -> Decimal:
    return money.quantize(CENT, ROUND_HALF_UP)


# -- disputes and quality checks ----------------------------------------------------------------------------


def _disputes(study: Study, round_: Round, asked: Mapping[str, OfQuestion]) -> dict[str, list[Dispute]]:
    """What people disagree on most, undecided first."""
    decided = overseeing.decisions(study, [key for key, _ in round_.questions])
    keys = {question.name: key for key, question in round_.questions}
    found: dict[str, list[Dispute]] = {}
    for name, part in asked.items():
        ranked = agreement.by_item(part.votes)
        spread = ranked.entropy if part.votes.question.scale == "nominal" else ranked.spread
        with np.errstate(invalid="ignore"):
            places = np.flatnonzero(spread > 0)
        subjects = [part.subjects[item] for item in ranked.item[places].tolist()]
        settled = [(keys[name], subject) in decided for subject in subjects]
        order = np.argsort(settled, kind="stable")[:DISPUTES].tolist()
        shown = round_numbers.shown(study, [subjects[place] for place in order])
        kept = agreement.counted(part.votes)
        found[name] = []
        for place in order:
            subject = subjects[place]
            rows = np.flatnonzero(kept.item == ranked.item[places[place]])
            said = [(kept.annotators[int(kept.annotator[row])].name, float(kept.value[row])) for row in rows]
            found[name].append(
                Dispute(
                    name,
                    subject,
                    shown[subject].prompt,
                    len(shown[subject].images),
                    sorted(said, key=lambda vote: (vote[1], vote[0])),
                    float(spread[places[place]]),
                    decided.get((keys[name], subject)),
                )
            )
    return found


def _checked(name: str, part: OfQuestion) -> list[Checked]:
    """Agreement of later judgements with the first, by others and by the same people."""
    work = part.where(~part.votes.control)
    found = []
    for by, votes in (("other", _first_and_again(work)), ("same", work.where(~work.again).votes)):
        told = agreement.repeats(votes)
        n = told.coefficient.n
        if n:
            found.append(Checked(by, name, told.coefficient, wilson(round((told.same or 0) * n), n)))
    return found


def _first_and_again(part: OfQuestion) -> Votes:
    """The first vote on each item that was judged again by another, and those votes, as of one person."""
    votes = part.votes
    later = np.flatnonzero(part.again)
    first = np.flatnonzero(~part.again & (votes.repetition == 0) & np.isin(votes.item, votes.item[later]))
    # Votes are in the order given: the earliest of each item is the first that `unique` meets.
    first = first[np.unique(votes.item[first], return_index=True)[1]]
    later = later[np.isin(votes.item[later], votes.item[first])]
    rows = np.concatenate([first, later])
    keep = votes.where(rows)
    repetition = np.concatenate([np.zeros(len(first)), np.arange(1, len(later) + 1)]).astype(np.int64)
    return replace(keep, annotator=np.zeros(len(rows), dtype=np.int64), repetition=repetition)


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime(STAMP)
