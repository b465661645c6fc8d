"""sightline retrieve: let a search engine answer the prompts of a study."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.commands._app import command
from sightline.commands._options import AsCsv, AsJson, StudyAt
from sightline.commands._output import Output, quoted
from sightline.commands._progress import watched


@command("retrieve")
def retrieve(
    study: StudyAt,
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="The name its answers are kept under.")],
    with_: Annotated[
        str, typer.Option("--with", metavar="RETRIEVER", help="What searches: see sightline list retriever.")
    ],
    collection: Annotated[
        str, typer.Option("--collection", metavar="NAME", help="The collection of images it searches.")
    ],
    k: Annotated[int, typer.Option("--k", min=1, help="How many images it answers a prompt with.")] = 100,
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Only prompts of this suite.", show_default="all"),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take back this system's earlier answers first.")
    ] = False,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Let a search engine answer the prompts of a study."""
    from sightline.reporting.tables import Column, Table
    from sightline.stages.retrieve import retrieve as search
    from sightline.store.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        done = search(
            opened, system, with_, collection=collection, k=k, suite=suite, replace=replace, listener=listener
        )
    columns = [
        Column("system"),
        Column("prompts"),
        Column("candidates", "images searched"),
        Column("answers"),
        Column("without", "prompts without an answer"),
    ]
    row = (done.system, done.prompts, done.candidates, done.answers, done.without)
    output.show(
        Table(columns, [row], done.retriever),
        retriever=done.retriever,
        number=done.source_id,
        already=done.already,
    )
    if done.already:
        output.say("The study held exactly these answers already. Nothing was changed.")
    output.say(f"To take it back: sightline import {quoted(study)} --undo {done.source_id}")
    output.next(
        f"sightline score {quoted(study)} precision@10 ndcg@10", "against the relevance that is known"
    )
