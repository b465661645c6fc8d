"""sightline trust: how well automatic measures agree with people."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, figure, quoted
from sightline.cli._progress import waiting


@command("trust")
def trust(
    study: StudyAt,
    question: Annotated[
        str | None,
        typer.Option("--question", metavar="QUESTION", help="The question.", show_default="every question"),
    ] = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Tell how well each measure agrees with people.

    Spearman's rank correlation of scores with truth. A measure of which lower is better agrees with people if
    it is negative. Where a prompt has several images, the interval comes from whole prompts drawn again.
    """
    from sightline.comparison.trust import trust as correlate
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, waiting("correlating"):
        found = correlate(opened, question)
    columns = [
        Column("question"),
        Column("measure"),
        Column("kind", "of what"),
        Column("direction", "which is better"),
        Column("spearman", "Spearman, 95 % interval", estimate=True),
    ]
    rows = [
        (
            each.question,
            each.measure,
            each.kind.replace("_", " "),
            each.direction,
            figure(each.correlation),
        )
        for each in found
    ]
    output.show(Table(columns, rows, "Measures against people"))
    output.next(f"sightline report {quoted(study)}")
