"""sightline variability: how alike the images are that one system gives one prompt."""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.commands._app import command
from sightline.commands._options import AsCsv, AsJson, StudyAt, Workers, cores
from sightline.commands._output import Output, figure, quoted
from sightline.commands._progress import watched

SHOWN = 10


@command("variability")
def variability(
    study: StudyAt,
    distance: Annotated[
        str,
        typer.Option("--distance", metavar="DISTANCE", help="What is compared: see sightline list distance."),
    ] = "colour_histogram",
    workers: Workers = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Tell how alike a system's images of one prompt are.

    Similarity is 1 minus the mean distance over all pairs of a prompt's images; a system's is the mean over
    its prompts with its 95 % interval.
    """
    from sightline import registry
    from sightline.reporting.tables import Column, Table
    from sightline.stages.variability import variability as measure
    from sightline.store import reading
    from sightline.store.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, watched() as listener:
        found = measure(opened, distance=distance, workers=cores(workers), listener=listener)
        texts = dict(reading.prompts(opened).select("prompt_id", "text").iter_rows())
    direction = registry.find_measure(found.measure).spec.direction
    similarity = Column("similarity", direction=direction, estimate=True)  # type: ignore[arg-type]
    systems = [(each.system, figure(each.similarity)) for each in found.systems]
    prompts = [
        (texts[prompt], system, value)
        for prompt, system, value in found.prompts.select("prompt_id", "system", "value").iter_rows()
    ]
    tables = {
        "systems": Table([Column("system"), similarity], systems, f"Similarity by {found.measure}"),
        "prompts": Table(
            [Column("prompt"), Column("system"), Column("similarity")], prompts, "Prompts, most varied first"
        ),
    }
    output.show(tables, most=SHOWN, measure=found.measure, without=found.without)
    for reason, n in found.without.items():
        output.say(f"Without a value: {n:,} ({reason})")
    output.next(f"sightline report {quoted(study)}")
