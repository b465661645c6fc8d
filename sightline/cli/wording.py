"""sightline wording: what in the wording of prompts goes with how alike their images are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sightline.cli._app import command
from sightline.cli._options import AsCsv, AsJson, StudyAt
from sightline.cli._output import Output, figure
from sightline.cli._progress import waiting, watched
from sightline.cli._scale import scale_of

if TYPE_CHECKING:
    from sightline.rendering.tables import Table
    from sightline.study.study import Study
    from sightline.variability.variability import Variability
    from sightline.variability.wording import SettingAnalysis

SHOWN = 20


@command("wording")
def wording(
    study: StudyAt,
    distance: Annotated[
        str | None,
        typer.Option(
            "--distance",
            metavar="DISTANCE",
            help="By which distance images were compared.",
            show_default="the best that was measured",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", metavar="FILE", help="Read distances on this scale: see variability."),
    ] = None,
    concreteness: Annotated[
        Path | None,
        typer.Option(
            "--concreteness",
            metavar="FILE",
            help="Your copy of the concreteness ratings of Brysbaert et al.",
            show_default="SIGHTLINE_CONCRETENESS",
        ),
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option("--clip", metavar="BACKBONE", help="Whose text embeddings are measured, such as clip."),
    ] = None,
    factors: Annotated[
        int | None,
        typer.Option(
            "--factors", min=1, help="How many factors to find.", show_default="by Kaiser's criterion"
        ),
    ] = None,
    setting: Annotated[
        str,
        typer.Option(
            "--setting",
            metavar="NAME",
            help="Instead: similarity along this setting of the generators, such as guidance_scale.",
            show_default=False,
        ),
    ] = "",
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="Write an HTML page as well, with a plot for every feature.",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Tell what in the wording goes with variability.

    The 56 features of W1KP and the share of keywords, set against how alike a prompt's images are: rank
    correlations with Holm's correction, factors, and a model with an intercept for every system. Measure
    variability first.

    \b
    sightline wording my-study --concreteness Concreteness_ratings.txt
    sightline wording my-study --setting guidance_scale
    """
    from sightline.study.study import open_study
    from sightline.variability.wording import language_analysis, setting_analysis
    from sightline.variability.wording_tables import sentence, wording_tables, write_wording

    output = Output(json=json, csv=csv)
    with open_study(study) as opened:
        similarity = _on_scale(opened, distance, reference)
        if setting:
            with waiting("looking at the setting"):
                along = setting_analysis(opened, setting, distance=distance, similarity=similarity)
            output.show(_setting_tables(along), measure=along.measure, without=along.without)
            for reason, n in along.without.items():
                output.say(f"Without a value: {n:,} ({reason})")
            if along.trend.reason:
                output.say(f"No slope: {along.trend.reason}.")
            return
        with waiting("reading the prompts"):
            found = language_analysis(
                opened,
                distance=distance,
                similarity=similarity,
                concreteness=concreteness,
                clip=clip,
                factors=factors,
            )
            written = write_wording(opened, found, to) if to is not None else None
    output.show(wording_tables(found), most=SHOWN, measure=found.measure, notes=list(found.notes))
    output.say(sentence(found))
    output.say(*found.notes)
    if written is not None:
        output.say(f"The page: {written}")


def _on_scale(study: Study, distance: str | None, reference: str | None) -> Variability | None:
    from sightline.variability.variability import measured_by, variability

    if reference is None:
        return None
    chosen = distance or measured_by(study)
    scale = scale_of(study, reference, chosen)
    with watched() as listener:
        return variability(study, distance=chosen, reference=scale, listener=listener)


def _setting_tables(along: SettingAnalysis) -> dict[str, Table]:
    from sightline.rendering.tables import Column, Table
    from sightline.variability.wording_tables import model_table

    steps = Table(
        [Column("setting", along.setting), Column("similarity", estimate=True)],
        [(step.x, figure(step.y)) for step in along.trend.steps],
        f"Similarity along {along.setting} by {along.measure}",
    )
    slope = along.trend.slope
    return {"steps": steps, **({} if slope is None else {"slope": model_table(slope, "Within prompts")})}
