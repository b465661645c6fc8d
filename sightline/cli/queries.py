"""sightline queries: what goes with a query being hard."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt, listed
from sightline.cli._output import Output, quoted
from sightline.cli._progress import waiting

SHOWN = 10


@command("queries")
def queries(
    study: StudyAt,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="MEASURE|QUESTION",
            help="What a query does well by: a measure with scores, or a question with truth.",
        ),
    ] = "ndcg@10",
    tags: Annotated[
        str,
        typer.Option(
            "--tags",
            metavar="TAGS",
            help="Split by these tags of prompts, names apart by commas.",
            show_default="the main ones",
        ),
    ] = "",
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Tell what goes with a query being hard.

    Length, depth of its words in WordNet, how much is relevant, how far votes agree: correlated with the
    values of every system, and split by tags such as descriptive against conceptual.

    \b
    sightline queries my-study --by ndcg@10 --tags kind
    """
    from sightline.comparison.queries import query_analysis
    from sightline.comparison.query_tables import query_tables
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, waiting("looking at the queries"):
        found = query_analysis(opened, by, listed(tags) or None)
    tables = {name: table for name, table in query_tables(found).items() if table.rows}
    output.show(tables, most=SHOWN, by=found.by, direction=found.direction, notes=list(found.notes))
    output.say(*found.notes)
    output.next(f"sightline report {quoted(study)}")
