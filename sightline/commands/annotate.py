"""sightline annotate: hand out images to people who judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.commands._app import command
from sightline.commands._options import AsCsv, AsJson, Seed, StudyAt, listed
from sightline.commands._output import Output, quoted


@command("annotate")
def annotate(
    study: StudyAt,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to put the sheets: an empty or new folder.")
    ],
    question: Annotated[
        str, typer.Option("--question", metavar="QUESTION", help="What is asked: a question of study.toml.")
    ],
    annotators: Annotated[
        str, typer.Option("--annotators", metavar="A,B,C", help="Who judges, separated by commas.")
    ],
    per_item: Annotated[
        int | None,
        typer.Option(
            "--per-item", min=1, help="How many people judge each image.", show_default="3, or all if fewer"
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Only prompts of this suite.", show_default="all"),
    ] = None,
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Hand out images to judge, as a sheet for each annotator.

    Sheets do not tell which system made an image. Filled in, they come back by sightline import.
    """
    from sightline.reporting.tables import Column, Table
    from sightline.stages.annotate import annotate as hand_out
    from sightline.store.study import open_study

    output = Output(json=json, csv=csv)
    names = listed(annotators)
    with open_study(study) as opened:
        done = hand_out(
            opened,
            folder,
            question=question,
            annotators=names,
            per_item=per_item or max(1, min(3, len(names))),
            seed=seed,
            suite=suite,
        )
    rows = [(sheet.annotator, sheet.items, sheet.folder) for sheet in done.sheets]
    output.show(
        Table(
            [Column("annotator"), Column("images"), Column("folder")],
            rows,
            f"{done.question}: {done.items} images",
        ),
        question=done.question,
        seed=done.seed,
        images=done.items,
    )
    # The stage knows the study by its name; a person needs the path that was typed.
    back = done.how_back.partition("SHEET.csv")[2]
    output.next(
        f"sightline import {quoted(study)} SHEET.csv{back}", "for each sheet that comes back filled in"
    )
