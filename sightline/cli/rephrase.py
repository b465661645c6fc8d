"""sightline rephrase: other wordings of the prompts."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched


@command("rephrase")
def rephrase(
    study: StudyAt,
    by: Annotated[str, typer.Argument(metavar="BY", help="The name of who rephrases, kept as a tag.")],
    with_: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="LINE",
            help="A program, with {prompt} for the text; it prints one wording a line.",
        ),
    ],
    most: Annotated[int, typer.Option("--most", min=1, help="So many wordings a prompt at most.")] = 10,
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Only prompts of this suite.", show_default="all"),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.0, help="Seconds the program may take for a prompt.")
    ] = 600.0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Word prompts anew; what is relevant stays the same.

    Each wording is a prompt linked to its original, and kept as it comes; the same command again goes on
    where it was.

    \b
    sightline rephrase my-study mine --with 'python rephrase.py --prompt={prompt}'
    """
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study
    from sightline.systems.rephrase import rephrase as word_anew

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        done = word_anew(opened, by, with_, most=most, suite=suite, timeout=timeout, listener=listener)
    columns = [
        Column("by"),
        Column("prompts"),
        Column("made", "wordings made"),
        Column("known", "prompts done before"),
        Column("without", "prompts without a wording"),
    ]
    row = (done.by, done.prompts, done.made, done.known, done.without)
    output.show(Table(columns, [row], with_), number=done.source_id)
    if done.source_id is not None:
        output.say(f"To take it back: sightline import {quoted(study)} --undo {done.source_id}")
    output.next(f"sightline retrieve {quoted(study)} ENGINE --with caption_words --collection NAME")
