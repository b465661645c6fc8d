"""The predictions that a study keeps, beside what came true, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import UsageError
from sightline.estimate import Cell, Direction, Estimate
from sightline.records import Question
from sightline.rendering import document as doc
from sightline.rendering.report_values import quantity
from sightline.rendering.shown import Scale
from sightline.rendering.tables import Column, Table
from sightline.report.sections import scale
from sightline.statistics.correlation import pearson
from sightline.statistics.intervals import mean_interval
from sightline.statistics.prediction_quality import quality
from sightline.study import reading, rollup
from sightline.study.study import Study

Array = NDArray[np.float64]

FIGURES: Sequence[tuple[str, str, Direction]] = (
    ("pearson", "Pearson", "higher"),
    ("kendall", "Kendall", "higher"),
    ("spearman", "Spearman", "higher"),
    ("smare", "sMARE", "lower"),
    ("rmse", "RMSE", "lower"),
)
HELD_OUT = "Each prompt was predicted by a model that had not seen it (cross-validation)."


@dataclass(frozen=True)
class Kept:
    """What one predictor said of the prompts of a question, each held out, and what came true of them.

    `low` and `high` are NaN where no interval was kept.
    """

    predictor: str
    scale: Scale
    ids: NDArray[np.int64]
    predicted: Array
    low: Array
    high: Array
    truth: Array

    @property
    def better_than_the_mean(self) -> bool:
        """Whether the mean error is less than that of always saying the mean of the truth."""
        error = np.abs(self.predicted - self.truth).mean()
        return bool(error < np.abs(self.truth - self.truth.mean()).mean())

    def estimate(self, row: int) -> Estimate:
        """The prediction of a prompt with its interval."""
        value, low, high = (float(column[row]) for column in (self.predicted, self.low, self.high))
        if not (np.isfinite(low) and np.isfinite(high)):
            return Estimate(value)
        return Estimate(value, min(low, value), max(high, value))


def read_kept(study: Study, question: str) -> list[Kept]:
    """The newest predictions of each predictor for a question, where the truth they are of still stands."""
    settlement = reading.newest_settlement(study, question)
    if settlement is None:
        return []
    kept = reading.predictions(study, settlement)
    if kept.is_empty():
        return []
    truths = rollup.by_prompt(study, question).select("prompt_id", pl.col("value").alias("truth"))
    both = kept.join(truths, on="prompt_id")
    of = scale_of(study, question)
    found = []
    for (spec,), rows in both.group_by(["spec"], maintain_order=True):
        columns = {name: rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("low", "high")}
        found.append(
            Kept(
                _short(str(spec)),
                of,
                rows["prompt_id"].to_numpy(),
                rows["value"].to_numpy(),
                columns["low"],
                columns["high"],
                rows["truth"].to_numpy(),
            )
        )
    return found


def best(kept: Sequence[Kept]) -> Kept | None:
    """The predictor with the highest Pearson's r; one without any comes last."""
    if not kept:
        return None
    found = [pearson(each.predicted, each.truth).value for each in kept]
    return max(zip(found, kept, strict=True), key=lambda each: -2.0 if each[0] is None else each[0])[1]


def prediction(study: Study, asked: Sequence[Question]) -> doc.Prediction | None:
    """How well the truth of a prompt could be predicted, for the first question with predictions kept."""
    for question in asked:
        kept = read_kept(study, question.name)
        shown = best(kept)
        if shown is None:
            continue
        results = [
            doc.PredictorResult(
                each.predictor,
                quantity(pearson(each.predicted, each.truth)),
                quantity(mean_interval(np.abs(each.predicted - each.truth))),
                _figures(each),
            )
            for each in kept
        ]
        points = list(zip(shown.predicted.tolist(), shown.truth.tolist(), strict=True))
        return doc.Prediction(shown.scale, results, shown.predictor, points, validation=HELD_OUT)
    return None


def quality_table(question: str, kept: Sequence[Kept]) -> Table:
    """Every predictor of a question with the five figures and their intervals."""
    columns = [Column("predictor")]
    columns += [Column(name, title, direction, estimate=True) for name, title, direction in FIGURES]
    rows: list[list[Cell]] = [[each.predictor, *(share.value for share in _figures(each))] for each in kept]
    return Table(columns, rows, f"How well {question} is predicted; 95 % intervals by the jackknife")


def scale_of(study: Study, question: str) -> Scale:
    """What a question's numbers mean."""
    _, asked = reading.question(study, question)
    return scale(asked, question)


def _figures(kept: Kept) -> list[doc.Share]:
    found = quality(kept.predicted, kept.truth)
    return [doc.Share(title, quantity(found[name]), direction, "") for name, title, direction in FIGURES]


def _short(spec: str) -> str:
    try:
        return registry.configure("predictor", spec).short
    except UsageError:
        return spec
