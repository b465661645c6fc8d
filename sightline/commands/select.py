"""sightline select: a few prompts that stand for many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.commands._app import command
from sightline.commands._options import AsCsv, AsJson, Seed, StudyAt
from sightline.commands._output import Output, quoted
from sightline.commands._progress import watched

SHOWN = 20


@command("select")
def select(
    study: StudyAt,
    n: Annotated[int, typer.Argument(metavar="N", min=1, help="How many prompts to choose.")],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WAY",
            help="spread: far apart in what they say; random; captions: spread over those of images.",
        ),
    ] = "spread",
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="BACKBONE",
            help="What spread and captions compare texts by: see sightline list backbone.",
            show_default="hashed_words; for captions sentence, where it can be loaded",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection", metavar="NAME", help="For captions: the images they are of.", show_default="all"
        ),
    ] = None,
    joint: Annotated[
        str,
        typer.Option(
            "--joint",
            metavar="BACKBONE",
            help="For captions: what tells which of an image's captions is nearest to it.",
        ),
    ] = "clip",
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Only prompts of this suite.", show_default="all"),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag", metavar="NAME", help="Mark the prompts in the file by this tag.", show_default=False
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="Write them to a .csv, .jsonl or .parquet file.", show_default=False
        ),
    ] = None,
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Choose a few prompts that stand for many."""
    from sightline.reporting.tables import Column, Table
    from sightline.stages.select import select as choose
    from sightline.stages.select import write_selected
    from sightline.store.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        found = choose(
            opened,
            n,
            by=by,
            encoder=encoder,
            seed=seed,
            suite=suite,
            tag=tag,
            collection=collection,
            joint=joint,
            listener=listener,
        )
    written = write_selected(found, to) if to is not None else None
    for note in found.notes:
        output.say(note)
    rows = list(zip(found.suites, found.refs, found.texts, strict=True))
    columns = [Column("suite"), Column("prompt_id"), Column("prompt")]
    output.show(Table(columns, rows, f"{len(rows)} prompts by {found.how}"), most=SHOWN, how=found.how)
    if written is None:
        output.next(f"sightline select {quoted(study)} {n} --to FILE.csv", "keep the choice")
    else:
        output.say(f"Written to {written}.")
        output.next(f"sightline import NEW-STUDY {quoted(written)}", "a study of these prompts alone")
