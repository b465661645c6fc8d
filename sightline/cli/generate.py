"""sightline generate: let a system draw the prompts of a study."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed, StudyAt
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched


@command("generate")
def generate(
    study: StudyAt,
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="The name its answers are kept under.")],
    with_: Annotated[
        str, typer.Option("--with", metavar="GENERATOR", help="What draws: see sightline list generator.")
    ],
    samples: Annotated[int, typer.Option("--samples", min=1, help="How many images a prompt.")] = 1,
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Only prompts of this suite.", show_default="all"),
    ] = None,
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Let a generator draw the prompts of a study.

    Images are kept as they are made; the same command again goes on where it was.

    \b
    sightline generate my-study mine --with 'command(line="python draw.py {prompt} {seed} {output}")'
    """
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study
    from sightline.systems.generate import generate as draw

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        done = draw(opened, system, with_, samples=samples, seed=seed, suite=suite, listener=listener)
    columns = [Column("system"), Column("made"), Column("known", "made before"), Column("failed")]
    failed = sum(done.failures.values())
    tables = {
        "systems": Table(columns, [(done.system, done.made, done.known, failed)], done.generator),
        "failures": Table(
            [Column("reason"), Column("n")], list(done.failures.items()), "Why there is no image"
        ),
    }
    output.show(tables, generator=done.generator, number=done.source_id, seed=seed)
    if done.source_id is not None:
        output.say(f"To take it back: sightline import {quoted(study)} --undo {done.source_id}")
    output.next(f"sightline check {quoted(study)}")
