"""sightline demo: the whole flow once through, on the built-in sample study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import Seed, Workers, cores
from sightline.cli._output import Output, quoted

FOLDER = "sightline-demo"


@command("demo")
def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="Where to write it.", show_default=f"a new {FOLDER}"),
    ] = None,
    prompts: Annotated[int, typer.Option("--prompts", min=10, help="How many scenes are asked for.")] = 40,
    samples: Annotated[
        int, typer.Option("--samples", min=2, help="How many pictures a system draws of each.")
    ] = 4,
    seed: Seed = 0,
    workers: Workers = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """See the whole flow work on a sample study.

    Three systems of known skill draw scenes, simulated people of known care judge them, and every step from
    import to report runs on that. Since the truth is known, you can see what Sightline finds out.
    """
    from time import monotonic

    from sightline.errors import StudyError
    from sightline.samples.study import run_demo

    output = Output()
    place = folder or _free(FOLDER)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise StudyError(
            "there is something of that name already",
            where=str(place),
            remedy="Name a new folder: sightline demo FOLDER",
        )
    begin = last = monotonic()

    def say(verb: str, outcome: str) -> None:
        nonlocal last
        now = monotonic()
        output.say(f"{verb:12} {outcome}  ({now - last:.1f} s)")
        last = now

    report = run_demo(place, prompts=prompts, samples=samples, seed=seed, workers=cores(workers), say=say)
    output.say("", f"Done in {monotonic() - begin:.0f} s. The report: {report}")
    if open_:
        _open(report)
    output.next(f"sightline status {quoted(place / 'study')}", "look around in the study behind it")


def _free(name: str) -> Path:
    """A folder that is not there yet: an earlier demo is left as it is."""
    place, number = Path(name), 1
    while place.exists():
        number += 1
        place = Path(f"{name}-{number}")
    return place


def _open(report: Path) -> None:
    import webbrowser

    webbrowser.open(report.resolve().as_uri())
