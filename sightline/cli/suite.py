"""sightline suite: prompts that test one skill."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed
from sightline.cli._output import Output, quoted

SHOWN = 20


@command("suite")
def suite(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help='The task, such as counting or "counting(most=5)": see sightline list task.'
        ),
    ],
    n: Annotated[int, typer.Argument(metavar="[N]", min=1, help="How many prompts to make.")] = 20,
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
    """Make prompts that test one skill.

    Each comes with what must be seen in an image that obeys it, so that measures can tell.
    """
    from sightline.estimate import Cell
    from sightline.rendering.tables import Column, Table
    from sightline.systems.suite import suite as make
    from sightline.systems.suite import write_suite

    output = Output(json=json, csv=csv)
    made = make(task, n, seed=seed)
    written = write_suite(made, to) if to is not None else None
    names = list(dict.fromkeys(name for prompt in made.prompts for name in prompt.tags))
    columns = [Column("prompt_id"), Column("prompt"), *(Column(f"tags.{name}", name) for name in names)]
    rows: list[list[Cell]] = [
        [ref, prompt.text, *(prompt.tags.get(name, "") for name in names)]
        for ref, prompt in zip(made.refs, made.prompts, strict=True)
    ]
    caption = f"{len(rows)} prompts of {made.task}, seed {made.seed}"
    expects = [prompt.expects for prompt in made.prompts]
    output.show(Table(columns, rows, caption), most=SHOWN, task=made.task, seed=made.seed, expects=expects)
    if written is None:
        output.next(f"sightline suite {quoted(task)} {n} --to FILE.csv", "keep them, with what each expects")
    else:
        output.say(f"Written to {written}.")
        output.next(f"sightline import STUDY {quoted(written)}")
