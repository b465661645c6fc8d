"""sightline export: the tables of a study as files, or the whole study as a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, quoted
from sightline.cli._progress import waiting


@command("export")
def export(
    study: StudyAt,
    to: Annotated[Path, typer.Argument(metavar="TO", help="The folder to write to.")],
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="FORM",
            help="csv, jsonl or parquet: one file a table; trec: rankings and relevance; "
            "study: a copy of it all.",
        ),
    ] = "csv",
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="prompts, tags, links, systems, answers, images, captions, scenes, references, questions, "
            "judgements, truths, scores or predictions; repeatable.",
            show_default="every table",
        ),
    ] = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Write tables of a study to files, or copy it whole.

    What was exported comes back in one step: sightline import STUDY TO. Scores and predictions do not, since
    they can be computed anew. A copy is safe to make while others work on the study.
    """
    from sightline.data.export import STUDY
    from sightline.data.export import export as write
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, waiting("exporting"):
        done = write(opened, to, form=form, tables=table or None)
    rows = [(name.replace("_", " "), n) for name, n in done.rows.items()]
    output.show(
        Table([Column("table"), Column("rows")], rows, f"Written to {done.folder}"),
        form=done.form,
        folder=done.folder,
        files=list(done.files),
        notes=list(done.notes),
    )
    if done.form == STUDY:
        output.next(f"sightline status {quoted(to)}")
    else:
        for note in done.notes:
            output.say(note)
        output.say(f"{len(done.files)} files in {done.folder}.")
