"""sightline check: is the data what it should be?"""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt, Workers, cores
from sightline.cli._output import Output, quoted
from sightline.cli._progress import watched


@command("check")
def check(
    study: StudyAt,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let warnings fail the check too, not only errors.")
    ] = False,
    workers: Workers = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> int:
    """Check the data: duplicates, gaps, blank images and more.

    Ends with exit code 1 if an error is found. Rules can be switched off, with a reason, in study.toml; see
    sightline list check.
    """
    from sightline.data.check import check as look
    from sightline.rendering.tables import Column, Table
    from sightline.report.status import status as tell
    from sightline.study.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        found = look(opened, workers=cores(workers), listener=listener)
        told = tell(opened)
        then = (told.next_command, told.next_why)
    columns = [
        Column("severity"),
        Column("rule"),
        Column("n"),
        Column("what"),
        Column("examples", "for example"),
        Column("remedy", "what to do"),
    ]
    rows = [
        (
            each.finding.severity,
            each.rule,
            each.finding.n,
            each.finding.what,
            "; ".join(each.finding.examples),
            each.finding.remedy,
        )
        for each in found.findings
    ]
    counted = {each.finding.severity for each in found.findings}
    failed = found.failed or (strict and "warning" in counted)
    output.say(f"Checked {found.checked}")
    output.show(
        Table(columns, rows, "Findings"),
        failed=failed,
        checked=found.checked,
        off=[{"rule": rule, "reason": reason} for rule, reason in found.off],
    )
    for rule, reason in found.off:
        output.say(f"Not checked: {rule} ({reason})")
    if not rows:
        output.say("Nothing was found.")
    if failed:
        output.say("The check failed.")
    if failed:
        output.next(
            f"sightline import {quoted(study)} --list", "put the errors right first: which import is it?"
        )
    else:
        output.next(*then)
    return int(failed)
