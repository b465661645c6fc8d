"""sightline cache: what is kept so that it need not be computed again."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, quoted


@command("cache")
def cache(
    study: StudyAt,
    clear: Annotated[
        str | None,
        typer.Option(
            "--clear", metavar="MEASURE", help="Forget the scores of a measure.", show_default=False
        ),
    ] = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove image files that nothing refers to any more.")
    ] = False,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Show what is kept of computed things, or let go of it."""
    from sightline.rendering.tables import Column, Table
    from sightline.study.cache import cache as look
    from sightline.study.cache import clear as let_go
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened:
        gone = let_go(opened, clear, files=clean) if clear is not None or clean else None
        found = look(opened)
    columns = [
        Column("measure"),
        Column("kind", "of what"),
        Column("version"),
        Column("values"),
        Column("without", "without a value"),
        Column("current"),
    ]
    measures = [
        (
            each.measure,
            each.kind.replace("_", " "),
            str(each.version),
            each.values,
            each.without,
            each.current,
        )
        for each in found.measures
        if each.values or each.without
    ]
    files = [(name.replace("_", " "), each.files, each.bytes / 1e6) for name, each in found.files.items()]
    tables = {
        "measures": Table(columns, measures, "Scores"),
        "files": Table([Column("what"), Column("files"), Column("megabytes", "MB")], files, "On the disk"),
    }
    told = (
        None
        if gone is None
        else {"scores": gone.scores, "files": gone.files.files, "bytes": gone.files.bytes}
    )
    output.show(tables, removed=told)
    if gone is not None:
        output.say(
            f"Removed {gone.scores:,} scores and {gone.files.files:,} files "
            f"({gone.files.bytes / 1e6:,.1f} MB)."
        )
        output.next(f"sightline score {quoted(study)}", "compute anew")
    elif any(not each.current for each in found.measures):
        output.say(
            "What is not current was computed by an earlier version, or by an extension not installed here."
        )
        output.next(f"sightline cache {quoted(study)} --clear MEASURE")
    else:
        output.next(f"sightline cache {quoted(study)} --clear MEASURE", "to compute one anew")
