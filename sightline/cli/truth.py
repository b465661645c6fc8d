"""sightline truth: votes become settled values."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, quoted
from sightline.cli._progress import waiting
from sightline.errors import UsageError


@command("truth")
def truth(
    study: StudyAt,
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="The question to settle.", show_default="every question"),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            help="How votes come together: see sightline list consensus.",
            show_default="as study.toml says",
        ),
    ] = None,
    screen: Annotated[
        list[str] | None,
        typer.Option(
            "--screen",
            metavar="RULE",
            help="Whose votes count: see sightline list screening; repeatable.",
            show_default="as study.toml says",
        ),
    ] = None,
    no_screen: Annotated[bool, typer.Option("--no-screen", help="Let everybody's votes count.")] = False,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Settle votes into truth, and tell how far people agree.

    Agreement is Krippendorff's alpha: 1 is perfect, 0 is chance.
    """
    from sightline.estimate import Estimate, absent
    from sightline.judging.truth import truth as settle
    from sightline.rendering.tables import Column, Table
    from sightline.study import reading
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    if screen and no_screen:
        raise UsageError("--screen and --no-screen exclude each other", remedy="Give one of them.")
    with open_study(study) as opened, waiting("settling votes"):
        found = settle(opened, question, rule=rule, screening=[] if no_screen else screen or None)
        compared = reading.about_systems(opened)
    columns = [
        Column("question"),
        Column("rule"),
        Column("settled"),
        Column("without", "undecided"),
        Column("votes"),
        Column("annotators"),
        Column("left_out"),
        Column("agreement", direction="higher", estimate=True),
    ]
    rows = [
        (
            each.question,
            each.rule,
            each.settled,
            each.without,
            each.votes,
            each.annotators,
            len(each.left_out),
            absent(each.agreement.reason or "no value")
            if each.agreement.value is None
            else Estimate(each.agreement.value, each.agreement.low, each.agreement.high, n=each.agreement.n),
        )
        for each in found
    ]
    left_out = [
        (out.annotator, each.question, out.rule, out.reason) for each in found for out in each.left_out
    ]
    tables = {
        "settlements": Table(columns, rows, "Truth"),
        "left_out": Table(
            [Column("annotator"), Column("question"), Column("rule"), Column("reason")],
            left_out,
            "Whose votes do not count",
        ),
    }
    output.show(tables)
    for each in found:
        if each.superseded:
            output.say(
                f"{each.question}: {each.superseded} verdicts were given again later; the latest counts."
            )
        if each.controls:
            output.say(f"{each.question}: {each.controls} votes on control items do not count.")
        for rule in each.skipped_rules:
            output.say(f"{each.question}: {rule} was not applied, nobody has judged control items.")
        if each.adjudicated:
            output.say(f"{each.question}: {each.adjudicated} items were decided by the owner.")
    if compared:
        output.next(f"sightline compare {quoted(study)}", "which system is better, and how sure that is")
    else:
        output.next(f"sightline status {quoted(study)}")
