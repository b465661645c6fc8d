"""A page as data: its answer, facts, sections of blocks, what comes next and how it was made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sightline.rendering.blocks import Block, Figure, Grid, Note, Section
from sightline.rendering.shown import Renderable
from sightline.rendering.tables import Table


@dataclass(frozen=True)
class Fact:
    """One thing the study holds: "24 prompts"; the note says more in a few words."""

    name: str
    count: int
    note: str = ""


@dataclass(frozen=True)
class NextStep:
    """What would add to the study, and the command that does it."""

    what: str
    command: str


@dataclass(frozen=True)
class Document:
    """The whole page. `commands` and `provenance` say how it was made: enough to make it again.

    `more` follows the answer in smaller type; `stale` is what is out of date, each with its command.
    """

    title: str
    answer: str
    made_at: datetime
    sections: Sequence[Section] = ()
    facts: Sequence[Fact] = ()
    next_steps: Sequence[NextStep] = ()
    commands: Sequence[str] = ()
    provenance: Sequence[Table] = ()
    more: str = ""
    stale: Sequence[NextStep] = ()

    def section(self, anchor: str) -> Section | None:
        """The section with this anchor, if there is one."""
        return next((each for each in self.sections if each.anchor == anchor), None)


def section_of(
    result: Renderable,
    anchor: str,
    title: str,
    lead: str | None = None,
    *,
    figures: Mapping[str, Figure] | None = None,
    notes: Sequence[str] | None = None,
    without: Collection[str] = (),
) -> Section:
    """A verb's result as a section: its finding (or another `lead`), charts, tables and notes.

    `figures` and `notes` replace those of the result; `without` names the tables to omit.
    """
    drawn = result.figures() if figures is None else figures
    tables = {name: table for name, table in result.tables().items() if table.rows and name not in without}
    blocks: list[Block] = [*drawn.values()]
    blocks += [Grid.of(table) for table in tables.values()]
    blocks += [Note(note) for note in (result.notes if notes is None else notes)]
    return Section(anchor, title, result.sentence if lead is None else lead, blocks)
