"""What `sightline predict STUDY` says: how well the truth of its prompts can be predicted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.cli._output import Output, figure, quoted
from sightline.cli._progress import waiting, watched
from sightline.errors import DataError, UsageError

if TYPE_CHECKING:
    from sightline.estimate import Cell
    from sightline.prediction.fitted import Fitted
    from sightline.prediction.results import FitResult, Predicted, Result
    from sightline.rendering.tables import Column, Table
    from sightline.statistics.prediction_quality import Figure

FIGURES = {
    "pearson": "Pearson",
    "kendall": "Kendall",
    "spearman": "Spearman",
    "smare": "sMARE",
    "rmse": "RMSE",
}
LESS_IS_BETTER = ("smare", "rmse")
TABLES = (".tex", ".csv")


@dataclass(frozen=True)
class Asked:
    """What was asked of a study."""

    study: str
    questions: Sequence[str]
    predictors: Sequence[str]
    features: Sequence[str]
    rankings: bool
    split: str
    folds: int
    seed: int
    prompts: Sequence[str]
    to: Path | None
    save: Path | None
    pictures: Path | None = None


def of_study(output: Output, asked: Asked) -> None:
    """Try predictors on the study's truth, show how well they do, and write the paper's table if asked."""
    from sightline.prediction.bench import question_of
    from sightline.prediction.fit import fit as predict
    from sightline.prediction.saving import check_model, save_best
    from sightline.study.study import open_study

    if asked.to is not None:
        _check_table(asked.to)
    if asked.save is not None:
        check_model(asked.save)
    with open_study(asked.study) as opened, watched() as listener:
        found = predict(
            opened,
            questions=asked.questions,
            predictors=asked.predictors,
            features=asked.features,
            rankings=asked.rankings,
            split=asked.split,
            prompts=asked.prompts,
            folds=asked.folds,
            seed=asked.seed,
            listener=listener,
        )
        questions = {name: question_of(opened, name) for name in found.questions}
    tables = _for_programs(found) if output.for_programs else _for_people(found)
    if asked.prompts and output.csv:
        # Whoever asks about prompts wants the answer about them, not about the predictor.
        tables = {"predicted": tables["predicted"], **tables}
    output.show(tables, split=found.split.said, best=dict(found.best), notes=list(found.notes))
    output.say(
        "\N{DAGGER} p < .01, \N{DOUBLE DAGGER} p < .001 that there is no relation at all.", *found.notes
    )
    output.say("", *(_sentence(found, question) for question in found.questions))
    if asked.to is not None:
        _write_table(found, asked.to)
        output.say(f"The table: {asked.to}")
    if asked.save is not None:
        with waiting("fitting it to all prompts"):
            kept = save_best(found, asked.save, questions)
        _say_kept(output, kept, asked.save)
    if asked.pictures is not None:
        # Whoever names none sees all questions. A target may be QUESTION.SYSTEM; pictures are of questions.
        named = dict.fromkeys(each.name for each in questions.values()) if asked.questions else ()
        _draw(output, asked, asked.pictures, list(named))
    if asked.save is not None:
        output.next(f"sightline predict 'a prompt' --model {quoted(asked.save)}")
    else:
        output.next(f"sightline report {quoted(asked.study)}")


def _say_kept(output: Output, kept: Fitted, path: Path) -> None:
    """Where the predictor is, and how good: it is not quite the one that was tried."""
    told = ", ".join(
        f"{name} {'undefined' if r is None else f'{r:.2f}'}" for name, r in kept.about["pearson"].items()
    )
    output.say(
        f"The predictor: {path} ({kept.about['predictor']}, of {kept.about['prompts']:,} prompts)",
        "Fitted anew to what a prompt alone tells anywhere, without --feature and captions. "
        f"Its own Pearson on prompts held out: {told}.",
    )


def _draw(output: Output, asked: Asked, to: Path, questions: Sequence[str]) -> None:
    from sightline.report import figures
    from sightline.study.study import open_study

    with open_study(asked.study) as opened, watched() as listener:
        drawn = figures(opened, to, questions=questions, seed=asked.seed, listener=listener)
    output.say(*drawn.notes, f"{len(drawn.files)} pictures: {to}")


def _for_people(found: FitResult) -> dict[str, Table]:
    from sightline.rendering.tables import Column, Table

    several = len(found.questions) > 1
    columns = [Column("predictor"), *([Column("question")] if several else [])]
    columns += [
        Column(name, title, "lower" if name in LESS_IS_BETTER else "higher")
        for name, title in FIGURES.items()
    ]
    columns += [Column("error", "mean error", "lower"), Column("baseline_error", "of the mean", "lower")]
    rows: list[list[Cell]] = []
    for each in found.results:
        cells: list[Cell] = [each.predictor, *([each.question] if several else [])]
        rows.append(
            [*cells, *(_marked(each.figures[name]) for name in FIGURES), each.error, each.baseline_error]
        )
    what = f" of {found.question}" if not several else ""
    title = f"Predictions{what} for {found.prompts:,} prompts not seen before ({found.split.said})"
    return {
        "quality": Table(columns, rows, title),
        "differences": _differences(found),
        "quarters": _quarters(
            [each for each in found.results if each.predictor == found.best[each.question]]
        ),
        "predicted": _predicted(found.predicted, several),
    }


def _for_programs(found: FitResult) -> dict[str, Table]:
    from sightline.rendering.tables import Column, Table

    columns = [Column("predictor"), Column("question"), Column("prompts")]
    for name, title in FIGURES.items():
        columns.append(Column(name, title, "lower" if name in LESS_IS_BETTER else "higher", estimate=True))
    columns += [Column(f"{name}_p", format="p") for name in FIGURES]
    columns += [Column(name) for name in ("error", "baseline_error", "half_width", "covered")]
    rows: list[list[Cell]] = []
    for each in found.results:
        ps = [each.figures[name].p for name in FIGURES]
        cells: list[Cell] = [each.predictor, each.question, each.figures["pearson"].n]
        cells += [figure(each.figures[name]) for name in FIGURES]
        rows.append([*cells, *ps, each.error, each.baseline_error, each.half_width, each.covered])
    return {
        "quality": Table(columns, rows, "On prompts not seen before"),
        "differences": _differences(found),
        "quarters": _quarters(found.results),
        "features": _features(found),
        "predicted": _predicted(found.predicted, True),
    }


def _marked(found: Figure) -> Cell:
    """A figure with its mark and interval, as text: 0.61‡ [0.55, 0.66]."""
    from sightline.estimate import Estimate, absent, format_interval, format_number

    if found.value is None:
        return absent(found.reason or "no value")
    told = f"{format_number(found.value, '', 2)}{found.mark}"
    if found.low is None or found.high is None:
        return told
    return f"{told} {format_interval(Estimate(found.value, found.low, found.high), '', 2)}"


def _differences(found: FitResult) -> Table:
    from sightline.estimate import absent
    from sightline.rendering.tables import Column, Table

    rows: list[list[Cell]] = []
    for question, told in found.differences.items():
        for each in told:
            untold = absent(each.reason or "not tested")
            adjusted: Cell = untold if each.adjusted is None else each.adjusted
            sure: Cell = untold if each.adjusted is None else each.adjusted < 0.05
            rows.append([question, each.first, each.second, figure(each), adjusted, sure])
    columns = [
        Column("question"),
        Column("first"),
        Column("second"),
        Column("difference", "Pearson, first minus second", format="+", estimate=True),
        Column("p_adjusted", "p after Holm", format="p"),
        Column("significant", "significant"),
    ]
    return Table(columns, rows, "Predictors on the same prompts")


def _quarters(results: Sequence[Result]) -> Table:
    from sightline.rendering.tables import Column, Table

    rows: list[list[Cell]] = [
        [
            each.predictor,
            each.question,
            part.name,
            part.from_truth,
            part.to_truth,
            part.n,
            part.bias,
            part.rmse,
        ]
        for each in results
        for part in each.quarters
    ]
    columns = [
        Column("predictor"),
        Column("question"),
        Column("quarter"),
        Column("from", "truth from"),
        Column("to"),
        Column("prompts"),
        Column("bias", "off by", format="+.2f"),
        Column("rmse", "RMSE", "lower", format=".2f"),
    ]
    return Table(columns, rows, "By quarter of difficulty")


def _features(found: FitResult) -> Table:
    from sightline.rendering.tables import Column, Table

    table, _ = found.paper_table()
    rows = [
        [name, question, figure(figures["pearson"]), figure(figures["kendall"])]
        for name in found.features
        for question, figures in table[name].items()
    ]
    columns: list[Column] = [Column("feature"), Column("question")]
    columns += [Column("pearson", "Pearson", estimate=True), Column("kendall", "Kendall", estimate=True)]
    return Table(columns, rows, "Every feature alone")


def _predicted(told: Sequence[Predicted], several: bool) -> Table:
    from sightline.estimate import Estimate
    from sightline.rendering.tables import Column, Table

    rows: list[list[Cell]] = []
    for each in told:
        cells: list[Cell] = [each.prompt, *([each.question] if several else [])]
        rows.append([*cells, Estimate(each.value, each.low, each.high), _because(each.because)])
    columns = [Column("prompt"), *([Column("question")] if several else [])]
    columns += [Column("value", "expected, 90 % interval", estimate=True), Column("because")]
    by = " and ".join(dict.fromkeys(each.predictor for each in told))
    return Table(columns, rows, f"New prompts by {by}")


def _because(parts: Sequence[tuple[str, float]]) -> str:
    """The three reasons that moved a prediction most."""
    return ", ".join(f"{name} {part:+.2f}" for name, part in parts[:3])


def _sentence(found: FitResult, question: str) -> str:
    """What it comes to, in words."""
    best = found.best[question]
    each = next(e for e in found.results if e.question == question and e.predictor == best)
    r = each.figures["pearson"]
    if r.value is None or r.low is None or r.low <= 0 or each.error >= each.baseline_error:
        return (
            f"{question}: {best} is no better than always saying the mean, so that what it says of new "
            "prompts is worth nothing."
        )
    less = 1 - each.error / each.baseline_error
    return f"{question}: {best} errs {less * 100:.0f} % less than always saying the mean."


def _check_table(to: Path) -> None:
    if to.suffix.lower() not in TABLES:
        raise UsageError(f"a table cannot be written to {to.name}", remedy=f"{' or '.join(TABLES)}.")
    if to.is_dir() or not to.absolute().parent.is_dir():
        what = "this is a folder" if to.is_dir() else "there is no such folder"
        raise DataError(what, where=str(to if to.is_dir() else to.parent), remedy="Name a file.")


def _write_table(found: FitResult, to: Path) -> None:
    from sightline.statistics.prediction_quality import as_csv, as_latex

    table, headings = found.paper_table()
    text = as_csv(table) if to.suffix.lower() == ".csv" else as_latex(table, headings=headings)
    _write(text, to)


def _write(text: str, to: Path) -> None:
    """The file is there when all of it is, and no draft stays behind."""
    draft = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(to)
    finally:
        draft.unlink(missing_ok=True)
