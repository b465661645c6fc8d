"""sightline wording: what in the wording of prompts goes with how alike their images are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sightline.commands._app import command
from sightline.commands._options import AsCsv, AsJson, StudyAt
from sightline.commands._output import Output, figure
from sightline.commands._progress import waiting, watched
from sightline.commands._scale import scale_of

if TYPE_CHECKING:
    from sightline.reporting.tables import Table
    from sightline.stages.language_analysis import LanguageAnalysis, SettingAnalysis
    from sightline.stages.variability import Variability
    from sightline.statistics.mixed import MixedModel
    from sightline.store.study import Study

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
    from sightline.stages.language_analysis import language_analysis, setting_analysis
    from sightline.store.study import open_study

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
    output.show(_tables(found), most=SHOWN, measure=found.measure, notes=list(found.notes))
    if not any(each.is_significant() for each in found.associated):
        output.say("No feature goes with similarity by more than chance would (p after Holm below .05).")
    output.say(*found.notes)


def _on_scale(study: Study, distance: str | None, reference: str | None) -> Variability | None:
    from sightline.stages.variability import measured_by, variability

    if reference is None:
        return None
    chosen = distance or measured_by(study)
    scale = scale_of(study, reference, chosen)
    with watched() as listener:
        return variability(study, distance=chosen, reference=scale, listener=listener)


def _tables(found: LanguageAnalysis) -> dict[str, Table]:
    from sightline.reporting.quantities import Missing
    from sightline.reporting.tables import Column, Table
    from sightline.statistics.factors import loading_table

    unknown = Missing("not defined")
    tables = {
        "associated": Table(
            [
                Column("feature"),
                Column("rho", "Spearman's rho", estimate=True),
                Column("p", "p after Holm", format="p"),
                Column("significant", "more than chance"),
                Column("mean", "mean of the feature"),
            ],
            [
                (
                    each.name,
                    figure(each.correlation),
                    unknown if each.p_corrected is None else each.p_corrected,
                    each.is_significant(),
                    unknown if each.mean is None else each.mean,
                )
                for each in sorted(found.associated, key=lambda one: -abs(one.correlation.value or 0.0))
            ],
            f"What goes with similarity over {found.prompts.height:,} prompts, strongest first",
        )
    }
    if found.factors is not None:
        names = [f"factor {number + 1}" for number in range(found.factors.factors)]
        tables["factors"] = Table(
            [Column("feature"), *(Column(name) for name in names)],
            [
                (
                    row.name,
                    *(value if marked else "" for value, marked in zip(row.values, row.marked, strict=True)),
                )
                for row in loading_table(found.factors)
            ],
            f"Loadings of {len(names)} factors over {found.factors.n:,} prompts; blank below .3",
        )
    if found.mixed is not None:
        tables["model"] = _model(found.mixed, "An intercept for every system; errors over prompts")
    return tables


def _model(model: MixedModel, title: str) -> Table:
    from sightline.reporting.quantities import Estimate
    from sightline.reporting.tables import Column, Table

    columns = [Column("term"), Column("slope", estimate=True), Column("p", format="p")]
    rows = [(each.name, Estimate(each.value, each.low, each.high, model.n), each.p) for each in model.fixed]
    return Table(columns, rows, title)


def _setting_tables(along: SettingAnalysis) -> dict[str, Table]:
    from sightline.reporting.tables import Column, Table

    steps = Table(
        [Column("setting", along.setting), Column("similarity", estimate=True)],
        [(step.x, figure(step.y)) for step in along.trend.steps],
        f"Similarity along {along.setting} by {along.measure}",
    )
    slope = along.trend.slope
    return {"steps": steps, **({} if slope is None else {"slope": _model(slope, "Within prompts")})}
