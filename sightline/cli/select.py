"""sightline select: a few prompts that stand for many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed, StudyAt
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.estimate import Cell
    from sightline.prediction.predict import Expected

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
            help="spread: far apart in what they say; random; captions: spread over those of images; "
            "difficulty: hard prompts, or others as --prefer says.",
        ),
    ] = "spread",
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="BACKBONE",
            help="What texts are compared by: see sightline list encoder.",
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
    prefer: Annotated[
        str,
        typer.Option(
            "--prefer",
            metavar="hard|unsure|easy",
            help="For difficulty: prompts of which little or much is expected, or nothing sure.",
        ),
    ] = "hard",
    question: Annotated[
        str | None,
        typer.Option(
            "--question",
            metavar="QUESTION",
            help="For difficulty: prompts with truth of this question are left out.",
            show_default="the first with truth",
        ),
    ] = None,
    judged: Annotated[
        bool, typer.Option("--judged", help="For difficulty: choose among prompts with truth as well.")
    ] = False,
    tier: Annotated[
        str | None,
        typer.Option(
            "--tier",
            metavar="small|medium|large",
            help="For difficulty: this tier of the shipped predictor, whatever is kept in the study.",
            show_default="predictions kept in the study, else the best tier that runs here",
        ),
    ] = None,
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
    from sightline.rendering.tables import Column, Table
    from sightline.selection.select import select as choose
    from sightline.selection.select import write_selected
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    if by != "difficulty":
        told = {"--prefer": prefer != "hard", "--judged": judged, "--tier": tier, "--question": question}
        wrong = [name for name, given in told.items() if given]
        if wrong:
            raise UsageError(
                f"{' and '.join(wrong)}: only for --by difficulty", remedy="Add it, or leave it out."
            )
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
            prefer=prefer,
            question=question,
            judged=judged,
            tier=tier,
            listener=listener,
        )
    written = write_selected(found, to) if to is not None else None
    for note in found.notes:
        output.say(note)
    rows: list[tuple[Cell, ...]] = list(zip(found.suites, found.refs, found.texts, strict=True))
    columns = [Column("suite"), Column("prompt_id"), Column("prompt")]
    if by == "difficulty":
        columns.append(Column("expected", estimate=True))
        rows = [(*row, _cell(each)) for row, each in zip(rows, found.expected, strict=True)]
    output.show(Table(columns, rows, f"{len(rows)} prompts by {found.how}"), most=SHOWN, how=found.how)
    if written is None:
        way = "" if by == "spread" else f" --by {quoted(by)}"
        if by == "difficulty":
            way += f" --prefer {quoted(prefer)}" + (" --judged" if judged else "")
        given = {"question": question, "tier": tier, "suite": suite, "encoder": encoder, "tag": tag}
        given |= {"collection": collection, "joint": joint if joint != "clip" else None}
        given["seed"] = str(seed) if seed else None
        way += "".join(f" --{name} {quoted(value)}" for name, value in given.items() if value is not None)
        output.next(f"sightline select {quoted(study)} {n}{way} --to FILE.csv", "keep the choice")
    else:
        output.say(f"Written to {written}.")
        output.next(f"sightline import NEW-STUDY {quoted(written)}", "a study of these prompts alone")


def _cell(expected: Expected) -> Cell:
    from math import isnan

    from sightline.estimate import Estimate

    # A prediction that came from elsewhere may have no interval.
    if isnan(expected.low) or isnan(expected.high):
        return expected.value
    return Estimate(expected.value, expected.low, expected.high)
