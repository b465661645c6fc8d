"""Bill: what calls to endpoints were made for a study, what they cost, and what a run would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightline.estimate import Cell, absent, plural
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.ledger import BillLine, bill_lines
from sightline.study.running.calling import Forecast
from sightline.study.study import Study
from sightline.verbs import verb

COLUMNS = [
    Column("endpoint"),
    Column("model"),
    Column("purpose"),
    Column("sent", "calls"),
    Column("replies"),
    Column("refused"),
    Column("failed"),
    Column("lost", "without a reply"),
    Column("repeats", detail=True),
    Column("tokens_in", "tokens read"),
    Column("tokens_out", "tokens written"),
    Column("images", detail=True),
    Column("cost"),
]


@dataclass(frozen=True)
class Bill(Result):
    """What calls were made over all runs, by endpoint, model and purpose."""

    lines: Sequence[BillLine]

    @property
    def sentence(self) -> str:
        if not self.lines:
            return "No endpoint was called for this study."
        sent = sum(line.sent for line in self.lines)
        lost = sum(line.lost for line in self.lines)
        known = [line.cost for line in self.lines if line.cost is not None]
        cost = f" They cost {sum(known):,.4g}." if known else ""
        made = f"{plural(sent, 'call')} {'was' if sent == 1 else 'were'} made for this study.{cost}"
        ended = f" {plural(lost, 'call')} got no reply before a process ended, and may be charged."
        return made + (ended if lost else "")

    @property
    def notes(self) -> Sequence[str]:
        without = sum(line.unpriced for line in self.lines)
        if not without:
            return ()
        what = "1 reply is" if without == 1 else f"{without:,} replies are"
        return (f"{what} of a model without a price: [endpoint.NAME.prices] in study.toml gives it.",)

    def facts(self) -> Mapping[str, Any]:
        known = [line.cost for line in self.lines if line.cost is not None]
        return {"calls": sum(line.sent for line in self.lines), "cost": sum(known) if known else None}

    def tables(self) -> dict[str, Table]:
        return bill_table(self.lines) or {"bill": Table(COLUMNS, [], "Calls to endpoints, over all runs")}


def bill_table(lines: Sequence[BillLine]) -> dict[str, Table]:
    """The bill as a table; nothing where nothing was called."""
    rows: list[tuple[Cell, ...]] = [
        (
            line.endpoint, line.model, line.purpose, line.sent, line.replies, line.refused, line.failed,
            line.lost, line.repeats, line.tokens_in, line.tokens_out, line.images,
            absent("no price is given") if line.cost is None else line.cost,
        )
        for line in lines
    ]  # fmt: skip
    return {"bill": Table(COLUMNS, rows, "Calls to endpoints, over all runs")} if rows else {}


@dataclass(frozen=True)
class CallPlan(Result):
    """What a run would call, and what that costs at most; nothing was called."""

    plans: Sequence[Forecast]

    @property
    def sentence(self) -> str:
        calls = sum(plan.calls for plan in self.plans)
        if not calls:
            return "Nothing would be called: every reply is stored already."
        known = [plan.cost for plan in self.plans if plan.cost is not None]
        priced = f", for at most {sum(known):,.4g}" if known and len(known) == len(self.plans) else ""
        about = "About " if any(plan.sampled for plan in self.plans) else ""
        return f"{about}{plural(calls, 'call')} would be made{priced}. Nothing was called."

    @property
    def notes(self) -> Sequence[str]:
        made = [
            "Tokens are estimated: one for 4 letters of text, 170 for each 512 x 512 pixels of an image; "
            "tokens written are the most that max_tokens allows."
        ]
        if any(plan.cost is None for plan in self.plans):
            made.append("A cost needs prices: [endpoint.NAME.prices] in study.toml.")
        return made

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("purpose"), Column("endpoint"), Column("model"), Column("inputs"), Column("calls"),
            Column("tokens_in", "tokens read"), Column("tokens_out", "tokens written at most"),
            Column("images", detail=True), Column("cost", "cost at most"),
        ]  # fmt: skip
        rows: list[tuple[Cell, ...]] = [
            (
                plan.purpose, plan.endpoint, ", ".join(plan.models), plan.inputs, plan.calls, plan.tokens_in,
                plan.tokens_out, plan.images,
                absent("no price is given") if plan.cost is None else plan.cost,
            )
            for plan in self.plans
        ]  # fmt: skip
        return {"plan": Table(columns, rows, "What would be called")}


@verb("measure")
def bill(study: Study) -> Bill:
    """Show what calls to endpoints were made for a study, and what they cost.

    Calls of judges, generators and machine votes, over all runs, interrupted ones included. Costs are those
    of the price table in study.toml at the time of a call.

    \b
    sightline bill my-study
    """
    return Bill(bill_lines(study))
