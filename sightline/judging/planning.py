"""How much work judging is before it begins: of the rounds declared, or of the design a goal needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import ceil
from typing import Annotated, Any

from sightline.errors import UsageError
from sightline.estimate import Cell, absent, plural
from sightline.judging.designs import (
    RATERS,
    Goal,
    Pilot,
    PlannedDesign,
    check_number,
    designs_for,
    floor_of,
    pilot_of,
)
from sightline.judging.items import build
from sightline.judging.rounds import RoundSettings, chosen_rounds, round_names
from sightline.judging.store import round_numbers
from sightline.judging.store.rounds import NewItem, rounds_of
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.study import Study
from sightline.verbs import option, verb

READING, ANSWERING = 4, 4
"""Seconds to read a task and to give one answer, until some were measured."""


def cents(money: Decimal) -> Decimal:
    """An amount in whole cents."""
    return money.quantize(Decimal("0.01"), ROUND_HALF_UP)


@dataclass(frozen=True)
class Workload:
    """The size of a round.

    `items` are judged by `per_item` people each, which makes `work` tasks; `control_tasks` and `repeats` come
    on top. `control_images` counts the images in tasks of work whose answer is known. `amount` is
    tasks x price x (1 + fee), not rounded.
    """

    items: int
    per_item: int
    work: int
    control_tasks: int
    control_images: int
    repeats: int
    amount: Decimal

    @property
    def tasks(self) -> int:
        """All tasks that are assigned."""
        return self.work + self.control_tasks + self.repeats

    @property
    def cost(self) -> Decimal:
        """What it costs, in whole cents."""
        return cents(self.amount)


@dataclass(frozen=True)
class RoundPlan:
    """A round of study.toml, its size, and what it asks of people.

    `people` are those invited, `seconds` what a task takes: the mean of the `timed` tasks, or an assumption
    where none were timed.
    """

    round: str
    mode: str
    load: Workload
    people: int = 0
    seconds: float = 0.0
    timed: int = 0

    @property
    def hours(self) -> float:
        """Hours of judging by all people together, without breaks."""
        return self.load.tasks * self.seconds / 3600

    @property
    def missing(self) -> int:
        """How many more people are needed, each item being judged by different ones."""
        return max(0, self.load.per_item - self.people)

    @property
    def hours_each(self) -> float:
        """Hours per person, once there are enough."""
        return self.hours / max(self.people, self.load.per_item)


@dataclass(frozen=True)
class Plan(Result):
    """How much work the rounds are and what they cost; or, for a goal, the designs that reach it.

    `raters` and `prompts` are the limits that were given, `seconds` what a judgement takes.
    """

    rounds: Sequence[RoundPlan] = ()
    pilot: Pilot | None = None
    goal: Goal | None = None
    designs: Sequence[PlannedDesign] = ()
    raters: int | None = None
    prompts: int | None = None
    seconds: float | None = None
    declared: bool = True
    """Whether study.toml has a round to judge in."""

    @property
    def sentence(self) -> str:
        if self.pilot is not None and self.goal is not None:
            return self._design(self.pilot, self.goal)
        tasks = sum(each.load.tasks for each in self.rounds)
        cost = cents(sum((each.load.amount for each in self.rounds), Decimal(0)))
        hours = sum(each.hours for each in self.rounds)
        paid = f", for {cost}" if cost else ""
        lacking = [_lacking(each) for each in self.rounds if each.missing]
        took = f", about {_hours(hours)} of judging" if tasks else ""
        return " ".join([f"{tasks:,} tasks in all{took}{paid}.", *lacking])

    @property
    def notes(self) -> Sequence[str]:
        if self.pilot is None:
            return [_timing(each) for each in self.rounds]
        pairs = self.pilot.systems * (self.pilot.systems - 1) // 2
        test = "Power is that of the test of compare, over prompts and raters"
        test += f", after Holm for {pairs} pairs of systems." if pairs > 1 else "."
        after = [test] if pairs and self.pilot.parts.raters is not None else []
        took = [] if self.seconds is None else [f"A judgement is counted as {self.seconds:.1f} seconds."]
        return [*self.pilot.notes, *after, *took]

    @property
    def next(self) -> Sequence[str]:
        mode = "" if self.declared else " --mode two_sliders"
        return (f"sightline annotate STUDY{mode}",)

    def facts(self) -> Mapping[str, Any]:
        return {} if self.pilot is None else super().facts()

    def tables(self) -> dict[str, Table]:
        return {"": self._rounds()} if self.pilot is None else self._designs(self.pilot)

    def _design(self, pilot: Pilot, goal: Goal) -> str:
        if not self.designs:
            count = self.raters or RATERS[-1]
            least = floor_of(pilot, goal, count, self.prompts)
            what = "the narrowest interval" if goal.width is not None else "the smallest difference found"
            return (
                f"No design with {count} raters reaches {goal.said} on {pilot.question}: {what} is about "
                f"{least:.2g}. Allow more raters or prompts, or a larger {_which(goal)}."
            )
        best = self.designs[0]
        who = f"{best.per_image} of {best.raters} raters"
        if pilot.parts.raters is None:
            who = f"{best.per_image} raters"
        images = "1 image" if best.images == 1 else f"{best.images} images"
        took = "" if best.hours is None else f", {best.hours:,.1f} hours"
        paid = "" if best.cost is None else f", {best.cost:,.2f}"
        return (
            f"For {goal.said} on {pilot.question}: {best.prompts:,} prompts with {images} from each of "
            f"{pilot.systems} systems, each image judged by {who}: {best.judgements:,} judgements"
            f"{took}{paid}.{self._cheaper(best)}"
        )

    def _cheaper(self, best: PlannedDesign) -> str:
        """Why the recommended design is not the cheapest, where it is not."""
        cheapest = min(self.designs, key=lambda each: each.judgements)
        if cheapest.judgements == best.judgements:
            return ""
        return (
            f" With {cheapest.raters} raters {cheapest.judgements:,} judgements would do; fewer raters are "
            "easier to find, and here cost at most half as much again."
        )

    def _designs(self, pilot: Pilot) -> dict[str, Table]:
        columns = [
            Column("prompts"),
            Column("images", "images per prompt"),
            Column("raters"),
            Column("per_image", "judgements per image"),
            Column("judgements"),
            Column("hours", format=",.1f"),
            Column("cost", format=",.2f"),
            Column("width", "width of a mean's interval"),
            Column("detectable", "detectable difference"),
        ]
        rows = [
            (
                each.prompts, each.images,
                absent("not known in the pilot") if pilot.parts.raters is None else each.raters,
                each.per_image, each.judgements, _or(each.hours, "give --seconds"),
                _or(each.cost, "give --price"), each.width, _or(each.detectable, "the pilot has one system"),
            )
            for each in self.designs
        ]  # fmt: skip
        of = f"{pilot.votes:,} votes on {pilot.question}, {pilot.prompts:,} prompts, {pilot.systems} systems"
        whole = pilot.parts.total
        named = pilot.parts.named()
        return {
            "designs": Table(columns, rows, "Designs that reach the goal, the recommended one first"),
            "components": Table(
                [
                    Column("source"),
                    Column("variance"),
                    Column("sd", "standard deviation"),
                    Column("proportion", "of one vote's variance", format="%"),
                ],
                [
                    (name, *((absent("not separable in this pilot"),) * 3 if part is None else (
                        part, part**0.5, part / whole
                    )))
                    for name, part in named.items()
                ],
                f"Where the variance comes from: {of}",
            ),
        }  # fmt: skip

    def _rounds(self) -> Table:
        columns = [
            *map(Column, ("round", "mode", "items")),
            Column("per_item", "judgements per item"),
            Column("work", "tasks of work"),
            Column("control_tasks", "control tasks"),
            Column("control_images", "control images"),
            Column("repeats", "repeated"),
            Column("tasks", "tasks in all"),
            Column("people", "people invited"),
            Column("missing", "more people needed"),
            Column("hours", format=".1f"),
            Column("hours_each", "hours each", format=".1f"),
            Column("cost"),
        ]
        rows = [
            (each.round, each.mode, each.load.items, each.load.per_item, each.load.work,
             each.load.control_tasks, each.load.control_images, each.load.repeats, each.load.tasks,
             each.people, each.missing, each.hours, each.hours_each, str(each.load.cost))
            for each in self.rounds
        ]  # fmt: skip
        return Table(columns, rows, "The plan")


def _hours(hours: float) -> str:
    if hours < 1:
        return plural(max(1, round(60 * hours)), "minute")
    return f"{hours:,.1f} hours"


def _lacking(plan: RoundPlan) -> str:
    more = "1 more person is" if plan.missing == 1 else f"{plan.missing} more people are"
    invited = f"{plan.people} invited" if plan.people else "nobody invited yet"
    each = plural(plan.load.per_item, "judgement")
    return f"{plan.round} needs {each} per item by different people: {more} needed ({invited})."


def _timing(plan: RoundPlan) -> str:
    people = max(plan.people, plan.load.per_item)
    whom = "one person" if people == 1 else f"each of {people} people"
    how = f"assumed until tasks are timed: {READING} to read it and {ANSWERING} per answer"
    if plan.timed:
        how = f"the mean of {plural(plan.timed, 'task')} so far"
    took = f"{plan.seconds:.1f} seconds per task, {how}"
    return f"{plan.round}: {_hours(plan.hours_each)} for {whom}, without breaks; {took}."


def _or(value: float | None, reason: str) -> Cell:
    return absent(reason) if value is None else value


def _which(goal: Goal) -> str:
    return "width" if goal.width is not None else "difference"


@verb("judge")
def plan(
    study: Study,
    rounds: Annotated[
        Sequence[str],
        option("Plan this round of study.toml; repeatable.", "--round", metavar="NAME", shown="all"),
    ] = (),
    *,
    width: Annotated[
        float | None, option("Find designs whose intervals of means are no wider, end to end.", metavar="W")
    ] = None,
    difference: Annotated[
        float | None,
        option("Find designs with 80 % power for this difference of two systems.", metavar="D"),
    ] = None,
    question: Annotated[
        str | None,
        option("Plan for this question.", metavar="QUESTION", shown="the first with votes"),
    ] = None,
    raters: Annotated[
        int | None, option("Plan with so many raters.", metavar="N", shown="as in the pilot", least=2)
    ] = None,
    prompts: Annotated[int | None, option("Use at most so many prompts.", metavar="N", least=2)] = None,
    seconds: Annotated[
        float | None,
        option("Count so many seconds per judgement.", metavar="S", shown="as measured in the pilot"),
    ] = None,
    price: Annotated[float | None, option("Pay this much per hour of judging.", metavar="MONEY")] = None,
) -> Plan:
    """Say how much work judging is: of the rounds declared, or of a design that reaches a goal.

    With --width or --difference the votes so far are a pilot: where their variance comes from (prompts,
    images, raters, sessions) says how many prompts, images and raters are needed, and the cheapest designs
    are listed. Each image is judged at least twice, since one judgement does not show how far raters differ.
    """
    limits = {"raters": raters, "prompts": prompts, "seconds": seconds, "price": price, "question": question}
    if width is None and difference is None:
        given = [f"--{name}" for name, value in limits.items() if value is not None]
        if given:
            raise UsageError(
                f"{', '.join(given)} belong to a goal", remedy="Add --width W or --difference D."
            )
        return plan_rounds(study, rounds)
    if rounds:
        raise UsageError("--round and a goal exclude each other", remedy="Leave --round out.")
    goal = Goal(width, difference)
    for name, value in (("width", width), ("difference", difference), ("seconds", seconds), ("price", price)):
        check_number(name, value)
    pilot = pilot_of(study, question)
    took = pilot.seconds if seconds is None else seconds
    if price is not None and took is None:
        raise UsageError(
            "what a judgement costs needs the time it takes, which was not measured here",
            remedy="Add --seconds S.",
        )
    designs = designs_for(pilot, goal, raters=raters, prompts=prompts, seconds=took, price=price)
    return Plan((), pilot, goal, designs, raters, prompts, took, bool(round_names(study)))


def plan_rounds(study: Study, rounds: Sequence[str] = (), people: Sequence[str] = ()) -> Plan:
    """How much work these rounds are, for those invited so far and for `people`; writes nothing."""
    opened = {each.name: each.id for each in rounds_of(study)}
    return Plan(
        [_planned(study, each, opened.get(each.name), people) for each in chosen_rounds(study, rounds)]
    )


def _planned(study: Study, settings: RoundSettings, opened: int | None, people: Sequence[str]) -> RoundPlan:
    known = set(people) | (set() if opened is None else round_numbers.invited(study, opened))
    measured, timed = (None, 0) if opened is None else round_numbers.seconds_per_task(study, opened)
    items = build(study, settings)
    answers = sum(len(item.slots) for item in items) / len(items) * len(settings.questions)
    seconds = READING + ANSWERING * answers if measured is None else measured
    load = workload_of(settings, items, len(known))
    return RoundPlan(settings.name, settings.mode, load, len(known), seconds, timed)


def workload_of(settings: RoundSettings, items: Sequence[NewItem], people: int = 0) -> Workload:
    """The size of a round of these items; of a pilot set everybody judges all, however few would do."""
    work = [item for item in items if item.kind == "work"]
    return workload(
        len(work),
        sum(bool(slot.control) for item in work for slot in item.slots),
        per_item=settings.per_item,
        controls=(settings.controls.pages, settings.controls.of),
        repeat=settings.repeat,
        price=settings.price,
        fee=settings.fee,
        pilot=min(settings.overlap, len(work)) * max(0, people - settings.per_item),
        # Nobody gets a control task twice; with the fewest people there are only so many to assign.
        most_controls=(len(items) - len(work)) * settings.per_item,
    )


def workload(
    items: int,
    control_images: int = 0,
    *,
    per_item: int = 3,
    controls: tuple[int, int] = (0, 5),
    repeat: float = 0.0,
    price: Decimal | float | str = 0,
    fee: Decimal | float | str = 0,
    pilot: int = 0,
    most_controls: int | None = None,
) -> Workload:
    """The size of so many items of work; of `controls` (m, n), m in every n tasks are control tasks.

    `pilot` are tasks of work beyond `per_item` of each.
    """
    some, of = controls
    work = items * per_item + pilot
    repeats = ceil(Fraction(str(repeat)) * work)
    # A block of n tasks has n - m places for everything else.
    control_tasks = ceil(Fraction(some, of - some) * (work + repeats))
    control_tasks = control_tasks if most_controls is None else min(control_tasks, most_controls)
    # By way of its digits: 0.1 as a binary fraction is a little more than ten cents.
    each = Decimal(str(price)) * (1 + Decimal(str(fee)))
    amount = (work + repeats + control_tasks) * each
    return Workload(items, per_item, work, control_tasks, control_images * per_item, repeats, amount)
