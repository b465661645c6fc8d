"""How much work a round is before it begins: tasks, judgements and money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import ceil

from sightline.judging.items import build
from sightline.judging.rounds import RoundSettings, chosen_rounds
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.study import Study


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
    """A round of study.toml and its size."""

    round: str
    mode: str
    load: Workload


@dataclass(frozen=True)
class Plan(Result):
    """How much work the rounds are and what they cost."""

    rounds: Sequence[RoundPlan]

    @property
    def sentence(self) -> str:
        tasks = sum(each.load.tasks for each in self.rounds)
        cost = cents(sum((each.load.amount for each in self.rounds), Decimal(0)))
        return f"{tasks:,} tasks in all" + (f", for {cost}." if cost else ".")

    @property
    def next(self) -> Sequence[str]:
        return ("sightline annotate STUDY",)

    def tables(self) -> dict[str, Table]:
        columns = [
            *map(Column, ("round", "mode", "items")),
            Column("per_item", "judgements per item"),
            Column("work", "tasks of work"),
            Column("control_tasks", "control tasks"),
            Column("control_images", "control images"),
            Column("repeats", "repeated"),
            Column("tasks", "tasks in all"),
            Column("cost"),
        ]
        rows = [
            (each.round, each.mode, each.load.items, each.load.per_item, each.load.work,
             each.load.control_tasks, each.load.control_images, each.load.repeats, each.load.tasks,
             str(each.load.cost))
            for each in self.rounds
        ]  # fmt: skip
        return {"": Table(columns, rows, "The plan")}


def plan(study: Study, rounds: Sequence[str] = ()) -> Plan:
    """Say how much work rounds of study.toml are, by default all, and what they cost."""
    settings = chosen_rounds(study, rounds)
    return Plan([RoundPlan(each.name, each.mode, workload_of(study, each)) for each in settings])


def workload_of(study: Study, settings: RoundSettings) -> Workload:
    """The size of a round as its items would be built now."""
    items = build(study, settings)
    work = [item for item in items if item.kind == "work"]
    return workload(
        len(work),
        sum(bool(slot.control) for item in work for slot in item.slots),
        per_item=settings.per_item,
        controls=(settings.controls.pages, settings.controls.of),
        repeat=settings.repeat,
        price=settings.price,
        fee=settings.fee,
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
    most_controls: int | None = None,
) -> Workload:
    """The size of so many items of work; of `controls` (m, n), m in every n tasks are control tasks."""
    some, of = controls
    work = items * per_item
    repeats = ceil(Fraction(str(repeat)) * work)
    # A block of n tasks has n - m places for everything else.
    control_tasks = ceil(Fraction(some, of - some) * (work + repeats))
    control_tasks = control_tasks if most_controls is None else min(control_tasks, most_controls)
    # By way of its digits: 0.1 as a binary fraction is a little more than ten cents.
    each = Decimal(str(price)) * (1 + Decimal(str(fee)))
    amount = (work + repeats + control_tasks) * each
    return Workload(items, per_item, work, control_tasks, control_images * per_item, repeats, amount)
