"""sightline report: the study as one page to read and send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import Seed, StudyAt
from sightline.cli._output import Output
from sightline.cli._progress import waiting


@command("report")
def report(
    study: StudyAt,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="Where to write it.", show_default="report.html in the study"
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    seed: Seed = 0,
) -> None:
    """Write the findings as one self-contained HTML page."""
    from sightline.report.report import report as write
    from sightline.study.study import open_study

    with open_study(study) as opened, waiting("writing the report"):
        path = write(opened, to, seed=seed)
    output = Output()
    output.say(
        f"The report: {path} ({path.stat().st_size / 1e6:.1f} MB, one file, nothing loaded from elsewhere)"
    )
    if open_:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    else:
        output.say("", f"Next: open {path} in a browser.")
