"""sightline reproduce: do a paper's figures come out of its data?"""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli import _reproduced_tables as shown
from sightline.cli._app import command
from sightline.cli._options import AsJson, Seed
from sightline.cli._output import Output
from sightline.cli._progress import waiting
from sightline.errors import DataError

if TYPE_CHECKING:
    from sightline.reproductions import Card, Figure

FIELDS = ("id", "printed", "obtained", "tolerance", "ok", "note")
# Obtained values are shown with more digits than were printed: rounding and cutting can be told apart.
MORE_DIGITS = 2
UNPRINTED_DIGITS = 4
VERDICTS = {True: "yes", False: "NO", None: "-"}


@command("reproduce")
def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="The paper: agiqa3k, conqa, gimbrr, pqpp or w1kp.")
    ],
    data: Annotated[
        str,
        typer.Option("--data", metavar="DIR", help="The folder of the paper's data, or one that holds it."),
    ],
    tier: Annotated[
        str | None,
        typer.Option(
            "--tier",
            metavar="NAMES",
            help="Of a paper with tables, the tiers of our predictor to fit beside it: "
            "some of light, offline and full, separated by commas; or all, or none.",
            show_default="light",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="Of a paper with tables, write them to a .tex or .csv file."
        ),
    ] = None,
    seed: Seed = 0,
    json: AsJson = False,
) -> int:
    """Obtain a paper's figures anew, and hold them against print.

    Ends with exit code 1 if a figure does not come out. A figure whose data is not here, or that the paper
    does not print, is marked - and has not passed. Of pqpp, Tables 2 to 7 follow with our rows beside the
    printed ones: on test.csv if it is there, else on validation.csv.
    """
    from sightline.reproductions import reproduce as obtain

    output = Output(json=json)
    tabled = shown.tables_of(paper)
    tiers = shown.check(paper, tabled, tier, to)
    with waiting("computing"):
        card = obtain(paper, data)
    if not json:
        _show(output, card)
    made = None
    if tabled is not None and card.folder is not None:
        with shown.steps() as step:
            made = tabled.tables(card.folder, tiers, seed=seed, step=step)
    if json:
        figures = [{name: getattr(figure, name) for name in FIELDS} for figure in card.figures]
        document: dict[str, Any] = {"paper": card.paper, "figures": figures}
        if made is not None:
            document["tables"] = [tabled.as_data(each) for each in made]
        typer.echo(json_module.dumps(document, indent=2, allow_nan=False))
    elif made is not None:
        shown.show(output, tabled, made, tiers)
    if made and to is not None:
        shown.write(output, tabled, made, to)
    if card.failed:
        return 1
    if card.folder is None:
        raise DataError(
            f"none of the files of {paper} is here",
            where=data,
            remedy="Name the folder published with the paper; docs/reproductions.md lists its files.",
        )
    return 0


def _show(output: Output, card: Card) -> None:
    from sightline.rendering.tables import Column, Table

    columns = [
        Column("id", "figure"),
        Column("printed"),
        Column("obtained"),
        Column("tolerance"),
        Column("ok", "match"),
        Column("note"),
    ]
    rows = [
        (
            each.id,
            _digits(each.printed, each.places),
            _digits(each.obtained, _shown_places(each)),
            "" if each.tolerance is None else f"{each.tolerance:g}",
            VERDICTS[each.ok],
            each.note,
        )
        for each in card.figures
    ]
    output.show(Table(columns, rows, card.title))
    counts = {ok: sum(each.ok is ok for each in card.figures) for ok in VERDICTS}
    output.say(
        "", f"{counts[True]} match, {counts[False]} do not, {counts[None]} could not be held against print."
    )


def _shown_places(figure: Figure) -> int:
    if figure.printed is None:
        return UNPRINTED_DIGITS
    return figure.places + MORE_DIGITS if figure.places else 0


def _digits(value: float | None, places: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{places}f}" if places and isinstance(value, float) else f"{value:.10g}"
