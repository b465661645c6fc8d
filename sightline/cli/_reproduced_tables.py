"""The tables of a paper with our rows beside the printed ones, as the terminal shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sightline.cli._output import WIDE, Output
from sightline.errors import DataError, UsageError

if TYPE_CHECKING:
    from sightline.reproductions.tables.pqpp import Line, Made

MEASURES = {"pearson": "Pearson", "kendall": "Kendall"}
BEST = "*"


def tables_of(paper: str) -> Any:
    """The module that makes a paper's tables, or None: the card x has them in tables/x."""
    name = f"sightline.reproductions.tables.{paper}"
    return import_module(name) if paper.isidentifier() and find_spec(name) else None


def check(paper: str, tabled: Any, tier: str | None, to: Path | None) -> list[str]:
    """The tiers asked for; raises before anything is computed where options and paper do not fit."""
    if tabled is None:
        if tier is not None or to is not None:
            raise UsageError(
                f"{paper} has no tables for {'--tier' if tier is not None else '--to'}",
                remedy="Leave it out.",
            )
        return []
    if to is not None:
        if to.suffix.lower() not in tabled.WRITERS:
            raise UsageError(
                f"tables cannot be written to {to.name}",
                remedy=f"Name a file in {' or '.join(tabled.WRITERS)}.",
            )
        if to.is_dir() or not to.parent.is_dir():
            what = "this is a folder" if to.is_dir() else "there is no such folder"
            raise DataError(what, where=str(to if to.is_dir() else to.parent), remedy="Name another file.")
    return list(tabled.chosen_tiers(tabled.DEFAULT if tier is None else tier))


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """What is being done now, on standard error: a sign of life on a terminal, else a line a step."""
    if not sys.stderr.isatty():
        yield lambda what: typer.echo(what, err=True)
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text("computing")) as status:
        yield lambda what: status.update(Text(what))


def show(output: Output, tabled: Any, made: Sequence[Made], tiers: Sequence[str]) -> None:
    """Every table, then what its signs mean, why cells are empty, and what would take longer."""
    for each in made:
        output.say("")
        _print(each)
    if not made:
        output.say("", f"No tables: none of {', '.join(tabled.FILES.values())} is here.")
        return
    output.say(
        "",
        f"{BEST} (bold): the highest of its column apart from the sign, of the paper's rows and of ours.",
        "† p < 0.01, ‡ p < 0.001. Networks around words (edge count to Page Rank): absolute values.",
        *([tabled.HOW_FAIR[made[0].split]] if tiers else []),
        *_reasons(made),
    )
    others = [name for name in tabled.TIERS if name not in tiers]
    if others:
        told = "; ".join(f"--tier {name}: {tabled.TAKES[name]}" for name in others)
        output.say(f"More of our rows, and how long on two cores: {told}.")


def write(output: Output, tabled: Any, made: Sequence[Made], to: Path) -> None:
    """The tables as one file of the kind that its name says."""
    to.write_text(tabled.WRITERS[to.suffix.lower()](made), encoding="utf-8")
    output.say(f"{len(made)} tables written to {to}.")


def _reasons(made: Sequence[Made]) -> list[str]:
    """Why cells are empty: each reason once, with the rows it holds for."""
    rows: dict[str, list[str]] = {}
    for line in (line for each in made for line in each.lines):
        for figure in (figure for figures in line.cells.values() for figure in figures.values()):
            if figure.value is None:
                named = rows.setdefault(figure.reason or "no value", [])
                named += [] if line.predictor in named else [line.predictor]
    return [f"- : {', '.join(names)}: {reason.rstrip('.')}." for reason, names in rows.items()]


def _print(made: Made) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("type", "predictor", "rows") if made.typed else ("metric", "rows"):
        drawn.add_column(Text(heading))
    keys = [(target, measure) for target in made.headings for measure in MEASURES]
    for target, measure in keys:
        drawn.add_column(Text(f"{made.headings[target]}\n{MEASURES[measure]}"), justify="right", no_wrap=True)
    last: Line | None = None
    for line in made.lines:
        fresh = last is None or last.predictor != line.predictor
        kind = ("Post-" if line.after else "Pre-") if last is None or last.after != line.after else ""
        names = [Text(line.predictor if fresh else ""), Text(line.whose)]
        cells = [_cell(made, line, *key) for key in keys]
        drawn.add_row(*([Text(kind)] if made.typed else []), *names, *cells)
        last = line
    # As wide as it needs, even on a narrow terminal: a figure cut short is worse than a broken line.
    console = Console(file=sys.stdout, width=WIDE, highlight=False)
    # Captured, since rich ends the program with a code of its own when the reader has gone away.
    with console.capture() as captured:
        console.print(made.title, style="bold", markup=False, soft_wrap=True)
        console.print(drawn)
    typer.echo(captured.get(), nl=False)


def _cell(made: Made, line: Line, target: str, measure: str) -> Any:
    from rich.text import Text

    figure = line.cells[target][measure]
    if figure.value is None:
        return Text("- ")
    best = made.best(line, target, measure)
    # The blank stands where other numbers have their mark, so that the digits line up.
    shown = f"{BEST if best else ''}{figure.value:.3f}{figure.mark or ' '}"
    return Text(shown, style="bold" if best else "")
