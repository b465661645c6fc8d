"""sightline compare: which system is better, by how much, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sightline.commands._app import command
from sightline.commands._options import AsCsv, AsJson, Seed, StudyAt
from sightline.commands._output import Output, figure, quoted
from sightline.commands._progress import waiting

if TYPE_CHECKING:
    pass


@command("compare")
def compare(
    study: StudyAt,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="QUESTION|MEASURE",
            help="What decides: a question with truth, or a measure with scores.",
            show_default="the first question with truth",
        ),
    ] = None,
    where: Annotated[
        str, typer.Option("--where", metavar="TAG=VALUE", help="Only the prompts with this tag.")
    ] = "",
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Tell which system is better, and how sure that is.

    Means have 95 % intervals over prompts; pairs are tested by sign flips over the prompts both answered, and
    p is adjusted after Holm for all pairs.
    """
    from sightline.reporting.quantities import Missing
    from sightline.reporting.tables import Column, Table
    from sightline.stages.compare import compare as judge
    from sightline.store.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, waiting("comparing"):
        found = judge(opened, by, where=where, seed=seed)
    kept = f" where {found.where}" if found.where else ""
    direction = found.direction
    systems = [
        (
            f"{each.best_rank}"
            if each.best_rank == each.worst_rank
            else f"{each.best_rank}-{each.worst_rank}",
            each.system,
            figure(each.mean),
        )
        for each in found.systems
    ]
    pairs = [
        (
            each.first,
            each.second,
            figure(each.difference),
            Missing("not tested") if each.p is None else each.p,
            Missing("not tested") if each.p_adjusted is None else each.p_adjusted,
            each.significant,
        )
        for each in found.pairs
    ]
    tables = {
        "systems": Table(
            [
                Column("rank"),
                Column("system"),
                Column("mean", f"mean {found.by}", direction, estimate=True),  # type: ignore[arg-type]
            ],
            systems,
            f"Systems by {found.by} over {found.prompts:,} prompts{kept}",
        ),
        "pairs": Table(
            [
                Column("first"),
                Column("second"),
                Column("difference", "first minus second", format="+", estimate=True),
                Column("p", format="p"),
                Column("p_adjusted", "p after Holm", format="p"),
                Column("significant", "more than chance"),
            ],
            pairs,
            "Pairs",
        ),
    }
    output.show(tables, by=found.by, direction=direction, prompts=found.prompts, where=found.where)
    output.say(found.sentence)
    output.next(f"sightline report {quoted(study)}")
