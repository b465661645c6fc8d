"""sightline pool: gather the images that people are to judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt, listed
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched
from sightline.errors import UsageError


@command("pool")
def pool(
    study: StudyAt,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name the pool is kept under.")] = "pool",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WAY",
            help="depth: the first answers of engines; captions: like the prompt; neighbours: of seeds.",
        ),
    ] = "depth",
    systems: Annotated[
        str,
        typer.Option(
            "--systems",
            metavar="ENGINES",
            help="For depth: these engines, names apart by commas.",
            show_default="all",
        ),
    ] = "",
    depth: Annotated[int, typer.Option("--depth", min=1, help="How many answers of each engine.")] = 100,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            metavar="NAME",
            help="For captions and neighbours: the images to gather from.",
            show_default="the only one",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="BACKBONE",
            help="What captions or images are compared by: see sightline list encoder.",
            show_default="sentence for captions, efficientnet_lite0 for neighbours, else colour_layout",
        ),
    ] = None,
    above: Annotated[
        float, typer.Option("--above", help="For captions: the cosine a caption must be above.")
    ] = 0.7,
    contained_after: Annotated[
        int,
        typer.Option(
            "--contained-after",
            min=0,
            help="For captions: from here on all words of the prompt must be in the captions.",
        ),
    ] = 1_000,
    most: Annotated[
        int, typer.Option("--most", min=1, help="For captions: so many images a prompt at most.")
    ] = 2_000,
    seeds: Annotated[
        str,
        typer.Option("--seeds", metavar="QUESTION", help="For neighbours: the truth that names the seeds."),
    ] = "seed",
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=1, help="For neighbours: so many images a prompt.")
    ] = 100,
    relations: Annotated[
        bool,
        typer.Option(
            "--relations",
            help="For captions and neighbours: only images with a scene graph of actions and places.",
        ),
    ] = False,
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Only prompts of this suite.", show_default="all"),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the earlier pool of this name back first.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="Write the pairs to a .csv, .jsonl or .parquet file as well.",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Gather the images that people are to judge for each prompt.

    \b
    sightline pool my-study --depth 20
    sightline pool my-study wide --by captions --collection photos --above 0.7
    sightline pool my-study grown --by neighbours --collection photos --seeds seed
    """
    from sightline.rendering.tables import Column, Table
    from sightline.study.study import open_study
    from sightline.systems.eligible import eligible
    from sightline.systems.pool import pool as gather
    from sightline.systems.pool import write_pool

    output = Output(json=json, csv=csv)
    if relations and (by == "depth" or collection is None):
        raise UsageError(
            "--relations chooses among the images of a collection",
            remedy="Give --collection NAME, and --by captions or neighbours.",
        )
    with open_study(study) as opened, watched() as listener:
        only = eligible(opened, collection).images if relations and collection else None
        done = gather(
            opened,
            name,
            by=by,
            systems=listed(systems),
            depth=depth,
            collection=collection,
            encoder=encoder,
            above=above,
            contained_after=contained_after,
            most=most,
            seeds=seeds,
            neighbours=neighbours,
            only=only,
            only_by="relations",
            suite=suite,
            replace=replace,
            listener=listener,
        )
        written = write_pool(opened, name, to) if to is not None else None
    columns = [
        Column("pool"),
        Column("prompts"),
        Column("pairs"),
        Column("fewest", "fewest a prompt"),
        Column("most", "most a prompt"),
        Column("unseen", "without a file"),
    ]
    row = (done.name, done.prompts, done.pairs, done.fewest, done.most, done.unseen)
    tables = {"pools": Table(columns, [row], done.how)}
    if done.left_out:
        reasons = [Column("reason"), Column("n")]
        tables["left_out"] = Table(reasons, list(done.left_out.items()), "What could not be looked at")
    output.show(tables, how=done.how, number=done.source_id, already=done.already)
    if done.already:
        output.say("The study held exactly this pool already. Nothing was changed.")
    if written is not None:
        output.say(f"Written to {written}.")
    output.say(f"To take it back: sightline import {quoted(study)} --undo {done.source_id}")
    output.say(
        f'To judge it: a round of study.toml with systems = ["{done.name}"] and mode = "binary_relevance".'
    )
    output.next(f"sightline annotate {quoted(study)}")
