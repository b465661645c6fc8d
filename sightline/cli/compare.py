"""sightline compare: which system is better, by how much, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, Seed, StudyAt
from sightline.cli._output import Output, figure, quoted
from sightline.cli._progress import waiting
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.comparison.between import Sets
    from sightline.comparison.compare import Compared
    from sightline.rendering.tables import Table


@command("compare")
def compare(
    study: StudyAt,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="QUESTION|MEASURE",
            help="What decides: a question with truth, or a measure with scores; several with --between.",
            show_default="the first question with truth",
        ),
    ] = None,
    where: Annotated[
        str, typer.Option("--where", metavar="TAG=VALUE", help="Only the prompts with this tag.")
    ] = "",
    between: Annotated[
        str,
        typer.Option(
            "--between",
            metavar="TAG=FIRST,SECOND",
            help="Compare two sets of prompts instead of systems; TAG=FIRST is against all others.",
        ),
    ] = "",
    test: Annotated[
        str, typer.Option("--test", metavar="sign_flip|bootstrap", help="The paired test of two systems.")
    ] = "sign_flip",
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Tell which system is better, and how sure that is.

    Means have 95 % intervals over prompts; pairs are tested by sign flips over the prompts both answered, and
    p is adjusted after Holm (and after Benjamini and Hochberg) for all pairs. The least detectable difference
    is what so many prompts would find with a chance of 80 %. With --between every system is compared with
    itself on two sets of prompts by a one-sided Mann-Whitney test.
    """
    from sightline.comparison.between import between as two_sets
    from sightline.comparison.compare import compare as judge
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    names = list(by or ())
    if between:
        if where:
            raise UsageError("--between and --where exclude each other", remedy="Give one of them.")
        if not names:
            raise UsageError("--between needs --by", remedy="Name measures: --by ndcg --by r_precision")
        with open_study(study) as opened, waiting("comparing"):
            sets = two_sets(opened, names, between)
        output.show(_set_table(sets), first=sets.first, second=sets.second, untagged=sets.untagged)
        output.say(f"Blank: p is .05 or more that {sets.second} is better by chance; between **: below .01.")
        if sets.untagged:
            tag = between.partition("=")[0]
            output.say(f"{sets.untagged:,} prompts without the tag {tag} are in neither set.")
        return
    if len(names) > 1:
        raise UsageError("several --by go with --between only", remedy="Compare by one at a time.")
    with open_study(study) as opened, waiting("comparing"):
        found = judge(opened, names[0] if names else None, where=where, seed=seed, test=test)
    output.show(
        _tables(found),
        by=found.by,
        direction=found.direction,
        prompts=found.prompts,
        where=found.where,
        test=found.test,
        notes=list(found.notes),
    )
    output.say(*found.notes)
    output.say(found.sentence)
    output.next(f"sightline report {quoted(study)}")


def _tables(found: Compared) -> dict[str, Table]:
    from sightline.rendering.quantities import Missing
    from sightline.rendering.tables import Column, Table

    kept = f" where {found.where}" if found.where else ""
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
    untold = Missing("not tested")
    pairs = [
        (
            each.first,
            each.second,
            figure(each.difference),
            *(untold if p is None else p for p in (each.p, each.p_adjusted, each.p_bh)),
            each.significant,
            Missing(each.undetectable or "not known") if each.detectable is None else each.detectable,
        )
        for each in found.pairs
    ]
    tables = {
        "systems": Table(
            [
                Column("rank"),
                Column("system"),
                Column("mean", f"mean {found.by}", found.direction, estimate=True),  # type: ignore[arg-type]
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
                Column("p_bh", "p after BH", format="p"),
                Column("significant", "more than chance"),
                Column("detectable", "least detectable difference"),
            ],
            pairs,
            "Pairs",
        ),
    }
    if found.overlaps:
        k = found.overlaps[0].k
        tables["overlap"] = Table(
            [Column("first"), Column("second"), Column("share", "images in common", estimate=True)],
            [(each.first, each.second, figure(each.share)) for each in found.overlaps],
            f"What the engines' first {k} have in common: images of both by images of either",
        )
    return tables


def _set_table(sets: Sets) -> Table:
    from sightline.rendering.quantities import Missing
    from sightline.rendering.tables import Column, Table

    rows = [
        (
            each.system,
            each.by,
            figure(each.improvement.first),
            figure(each.improvement.second),
            each.improvement.shown,
            *(
                Missing(each.improvement.test.reason or "not tested") if p is None else p
                for p in (each.improvement.test.p, each.p_holm, each.p_bh)
            ),
        )
        for each in sets.rows
    ]
    columns = [
        Column("system"),
        Column("by", "measure"),
        Column("first", f"mean on {sets.first}", estimate=True),
        Column("second", f"mean on {sets.second}", estimate=True),
        Column("improvement", "relative improvement"),
        Column("p", format="p"),
        Column("p_holm", "p after Holm", format="p"),
        Column("p_bh", "p after BH", format="p"),
    ]
    return Table(columns, rows, f"From {sets.first} to {sets.second}")
