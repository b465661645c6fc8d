"""How results reach the reader: a table for people, JSON or CSV for programs, and then nothing else."""

from __future__ import annotations

import json as json_module
import os
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import typer

from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.estimate import Cell
    from sightline.rendering.tables import Table

WIDE = 160
"""Columns of a table that is not shown on a terminal, and so has no edge to fit into."""


class Figure(Protocol):
    """A value with limits and n, or a reason: what statistics give."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def n(self) -> int: ...
    @property
    def reason(self) -> str | None: ...


class Output:
    """Where a command puts what it found; words for people never mix with data for programs."""

    def __init__(self, *, json: bool = False, csv: bool = False) -> None:
        if json and csv:
            raise UsageError("--json and --csv exclude each other", remedy="Give one of them.")
        self.json = json
        self.csv = csv

    @property
    def for_programs(self) -> bool:
        return self.json or self.csv

    def say(self, *lines: str) -> None:
        """Words for people: on standard error where standard output is for a program."""
        from sightline.estimate import clean

        for line in lines:
            typer.echo(clean(line), err=self.for_programs)

    def next(self, command: str, why: str = "") -> None:
        """What comes next."""
        self.say("", f"Next: {command}" + (f"  ({why})" if why else ""))

    def show(self, tables: Table | Mapping[str, Table], *, most: int | None = None, **facts: Any) -> None:
        """Show one table, or several by name, the first of which is what CSV gives.

        `facts` are told in JSON only. `most` limits the rows that people see.
        """
        from sightline.rendering.tables import Table

        several = {"": tables} if isinstance(tables, Table) else dict(tables)
        if self.json:
            document = dict(facts)
            for name, table in several.items():
                told = json_module.loads(table.to_json())
                document |= {name: told} if name else told
            _write(json_module.dumps(document, ensure_ascii=False, indent=2) + "\n")
        elif self.csv:
            first, *others = several
            _write(several[first].to_csv())
            if others:
                self.say(f"This is {first}; --json has {' and '.join(others)} as well.")
        else:
            filled = [table for table in several.values() if table.rows]
            for number, table in enumerate(filled):
                if number:
                    typer.echo()
                _print(table, most, "--csv or --json" if table is several[next(iter(several))] else "--json")


def quoted(study: object) -> str:
    """A path or address as it is typed into a shell."""
    return shlex.quote(str(study))


def figure(found: Figure) -> Cell:
    """A statistic as a cell of a table."""
    from sightline.estimate import Estimate, absent

    if found.value is None:
        return absent(found.reason or "no value")
    return Estimate(found.value, found.low, found.high, found.n)


def _write(text: str) -> None:
    """Data is UTF-8 whatever the terminal speaks."""
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(text)
    else:
        binary.write(text.encode("utf-8", "replace"))
        binary.flush()


def _print(table: Table, most: int | None, whole: str) -> None:
    from dataclasses import replace

    from rich.console import Console

    from sightline.estimate import clean
    from sightline.rendering.tables import reasons

    shown = replace(table, rows=table.rows[:most]) if most is not None else table
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE
    console = Console(file=sys.stdout, width=width, highlight=False)
    drawn = replace(shown, caption="").to_rich()
    drawn.show_edge = False
    # Captured, since rich ends the program with a code of its own when the reader has gone away.
    with console.capture() as captured:
        if table.caption:
            # As a title it would be folded to the width of the table, however narrow that is.
            console.print(clean(table.caption), style="bold", markup=False, soft_wrap=True)
        console.print(drawn)
    typer.echo(captured.get(), nl=False)
    if len(shown.rows) < len(table.rows):
        typer.echo(f"... and {len(table.rows) - len(shown.rows):,} more: {whole} gives them all.")
    for reason, n in reasons(shown).items():
        typer.echo(f"- : {reason}" + (f" ({n:,} times)" if n > 1 else ""))
