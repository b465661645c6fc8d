"""sightline predict: how well will a prompt do, before anything is drawn or searched?"""

from __future__ import annotations

from typing import Annotated

import typer

from sightline.commands._app import command
from sightline.commands._options import AsCsv, AsJson, Seed, StudyAt
from sightline.commands._output import Output, figure, quoted
from sightline.commands._progress import waiting


@command("predict")
def predict(
    study: StudyAt,
    question: Annotated[
        str | None,
        typer.Option(
            "--question",
            metavar="QUESTION",
            help="The question whose truth is predicted.",
            show_default="the first with truth",
        ),
    ] = None,
    with_: Annotated[
        str,
        typer.Option("--with", metavar="PREDICTOR", help="What predicts: see sightline list predictor."),
    ] = "ridge",
    prompt: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="TEXT", help="A new prompt to predict; repeatable."),
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="In how many parts the prompts are cut to test it.")
    ] = 5,
    seed: Seed = 0,
    json: AsJson = False,
    csv: AsCsv = False,
) -> None:
    """Foretell how hard prompts are, and tell how well that works.

    Each prompt with truth is predicted by a model that never saw it. A new prompt's interval is as wide as
    held 90 % of those.
    """
    from sightline.reporting.quantities import Estimate
    from sightline.reporting.tables import Column, Table
    from sightline.stages.predict import predict as foretell
    from sightline.store.study import open_study

    output = Output(json=json, csv=csv)
    with open_study(study) as opened, waiting("learning to predict"):
        found = foretell(opened, question, predictor=with_, prompts=prompt or (), folds=folds, seed=seed)
    columns = [
        Column("predictor"),
        Column("question"),
        Column("prompts"),
        Column("pearson", "Pearson", "higher", estimate=True),
        Column("kendall", "Kendall", "higher", estimate=True),
        Column("error", "mean error", "lower"),
        Column("baseline_error", "error of always saying the mean", "lower"),
    ]
    row = (
        found.predictor,
        found.question,
        found.prompts,
        figure(found.pearson),
        figure(found.kendall),
        found.error,
        found.baseline_error,
    )
    caption = f"On prompts it had not seen ({found.folds} folds)"
    foretold = [
        (each.prompt, Estimate(each.value, each.low, each.high), _because(each.because))
        for each in found.foretold
    ]
    tables = {
        "quality": Table([*columns], [row], caption),
        "foretold": Table(
            [
                Column("prompt"),
                Column("value", f"{found.question}, 90 % interval", estimate=True),
                Column("because"),
            ],
            foretold,
            "New prompts",
        ),
    }
    if prompt and csv:
        # Whoever asks about prompts wants the answer about them, not about the predictor.
        tables = {"foretold": tables["foretold"], "quality": tables["quality"]}
    output.show(tables)
    output.next(f"sightline report {quoted(study)}")


def _because(parts: object) -> str:
    """The three features that moved a prediction most."""
    assert isinstance(parts, list | tuple)
    return ", ".join(f"{name} {part:+.2f}" for name, part in parts[:3])
