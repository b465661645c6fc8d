"""A result as a terminal shows it: tables, what to know besides them, the finding, and what to run next."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

from sightline.estimate import clean
from sightline.rendering.shown import Renderable
from sightline.rendering.tables import Table, reasons

WIDE = 160
"""Columns of a table that is not shown on a terminal, and so has no edge to fit into."""


def text(result: Renderable, *, width: int | None = None, study: str = "STUDY") -> str:
    """The whole result; `study` is what stands for the study in the commands that come next."""
    parts = ["\n".join(lines(table, width)) for table in result.tables().values() if table.rows]
    words = [*result.notes, *([result.sentence] if result.sentence else [])]
    if words:
        parts.append("\n".join(words))
    if result.next:
        parts.append("Next: " + "\n      ".join(each.replace("STUDY", study) for each in result.next))
    return clean("\n\n".join(parts)) + "\n"


def lines(table: Table, width: int | None = None) -> Iterator[str]:
    """A table line by line: its caption, its first rows, and why cells are empty or have no interval."""
    from rich.console import Console

    shown = (
        table.for_people if table.most is None else replace(table, rows=table.rows[: table.most]).for_people
    )
    drawn = replace(shown, caption="").to_rich()
    drawn.show_edge = False
    console = Console(file=StringIO(), width=width or _width(), highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(drawn)
    if table.caption:
        yield clean(table.caption)
    yield from captured.get().rstrip("\n").split("\n")
    if len(shown.rows) < len(table.rows):
        yield f"... and {len(table.rows) - len(shown.rows):,} more: --csv or --json gives them all."
    for reason, n in reasons(shown).items():
        yield reason + (f" ({n:,} times)" if n > 1 else "")


def _width() -> int | None:
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE
