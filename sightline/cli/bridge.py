"""sightline bridge: fit a joint space of texts and images on one's own captioned images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched

if TYPE_CHECKING:
    from sightline.encoders.fit_bridge import Fitted
    from sightline.rendering.tables import Table
    from sightline.systems.bridge_answers import CrossFitted


@command("bridge")
def bridge(
    study: StudyAt,
    collection: Annotated[
        str,
        typer.Argument(metavar="COLLECTION", help="The collection whose captioned images it learns from."),
    ],
    image: Annotated[
        str | None,
        typer.Option(
            "--image",
            metavar="BACKBONE",
            help="What sees the images: see sightline list encoder.",
            show_default="the best that is here",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="BACKBONE",
            help="What reads the captions.",
            show_default="the best that is here",
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Parts that are held back in turn to measure it.")
    ] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Which images come into which part.")] = 0,
    answers: Annotated[
        str,
        typer.Option(
            "--answers",
            metavar="SYSTEM",
            help="Also answer the prompts under this name, captions by bridges that did not see their image.",
            show_default=False,
        ),
    ] = "",
    k: Annotated[int, typer.Option("--k", min=1, help="For --answers: images a prompt.")] = 100,
    replace: Annotated[
        bool, typer.Option("--replace", help="For --answers: take back its earlier answers first.")
    ] = False,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Fit a search engine's eye on your own captioned images.

    The bridge is an encoder like any other: search with it, or score how well images fit their prompts.
    Its hit rates are measured on images held back, and told beside those of chance.

    \b
    sightline bridge my-study photos
    sightline bridge my-study photos --image efficientnet_lite0 --text sentence
    sightline bridge my-study photos --answers bridge
    """
    from sightline.encoders.fit_bridge import fit_bridge
    from sightline.study.study import open_study
    from sightline.systems.bridge_answers import cross_fitted

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        done = fit_bridge(
            opened, collection, image=image, text=text, folds=folds, seed=seed, listener=listener
        )
        answered = (
            cross_fitted(
                opened,
                answers,
                collection,
                image=image,
                text=text,
                folds=folds,
                seed=seed,
                k=k,
                replace=replace,
                fitted=done,
                listener=listener,
            )
            if answers
            else None
        )
    output.show(
        {
            "hits": _hits(done),
            "curve": _curve(done),
            **({"answers": _answers(answered)} if answered is not None else {}),
        },
        encoder=done.encoder,
        images=done.images,
        captions=done.captions,
        left_out=done.left_out,
        settings=str(done.settings),
        path=str(done.path),
    )
    if done.left_out:
        output.say(f"{done.left_out:,} images could not be read and were left out.")
    output.say(f"Fitted on {done.images:,} images with {done.captions:,} captions, kept as {done.path}")
    output.say(
        f"As an alignment measure: sightline score {quoted(study)} "
        f"{quoted(f'embedding_similarity(encoder={done.encoder})')}"
    )
    if answered is not None:
        output.say(f"To take the answers back: sightline import {quoted(study)} --undo {answered.source_id}")
        output.next(f"sightline score {quoted(study)} ndcg@10", "against the relevance that is known")
        return
    output.next(
        f"sightline retrieve {quoted(study)} bridge --with {quoted(f'exact(encoder={done.encoder})')} "
        f"--collection {quoted(collection)}"
    )


def _hits(done: Fitted) -> Table:
    from sightline.estimate import Estimate
    from sightline.rendering.tables import Column, Table

    columns = [Column("k", "among the first"), Column("hit_rate", "found", estimate=True), Column("chance")]
    rows = [
        (each.k, Estimate(each.value, each.low, each.high, done.images), each.chance) for each in done.hits
    ]
    title = f"Captions that find their image among {done.among:.0f} held back"
    return Table(columns, rows, title)


def _curve(done: Fitted) -> Table:
    from sightline.rendering.tables import Column, Table

    columns = [Column("images", "fitted on")]
    columns += [Column(f"hit_rate@{each.k}", f"found @{each.k}") for each in done.curve[0].hits]
    rows = [(step.images, *(each.value for each in step.hits)) for step in done.curve]
    return Table(columns, rows, "How it grows with the images it learns from")


def _answers(answered: CrossFitted) -> Table:
    from sightline.rendering.tables import Column, Table

    columns = [
        Column("system"),
        Column("images", "images searched"),
        Column("unseen", "captions it did not see"),
        Column("others", "other prompts"),
        Column("torn", "captions of several images"),
    ]
    row = (answered.system, answered.images, answered.unseen, answered.others, answered.torn)
    return Table(columns, [row], "Answered by bridges fitted without the prompt's image")
