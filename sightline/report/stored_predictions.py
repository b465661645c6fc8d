"""The predictions that a study stores, with the true values, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import UsageError
from sightline.estimate import Cell, Direction, Estimate
from sightline.rendering import charts
from sightline.rendering.blocks import Figure
from sightline.rendering.shown import Scale
from sightline.rendering.tables import Column, Table
from sightline.report.prompt_cards import scale_of
from sightline.statistics import prediction_quality
from sightline.statistics.correlation import pearson
from sightline.statistics.intervals import mean_interval
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


@dataclass(frozen=True)
class StoredPredictions:
    """What one predictor gave the prompts of a question, each held out, and their true values.

    `low` and `high` are NaN where no interval was stored.
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
        """Whether the mean error is less than that of always predicting the mean of the truth."""
        error = np.abs(self.predicted - self.truth).mean()
        return bool(error < np.abs(self.truth - self.truth.mean()).mean())

    def estimate(self, row: int) -> Estimate:
        """The prediction of a prompt with its interval."""
        value, low, high = (float(column[row]) for column in (self.predicted, self.low, self.high))
        if not (np.isfinite(low) and np.isfinite(high)):
            return Estimate(value)
        return Estimate(value, min(low, value), max(high, value))


def read_predictions(study: Study, question: str) -> list[StoredPredictions]:
    """The newest predictions of each predictor for a question, where their truth is still the newest."""
    settlement = reading.newest_settlement(study, question)
    if settlement is None:
        return []
    rows = reading.predictions(study, settlement)
    if rows.is_empty():
        return []
    truths = rollup.by_prompt(study, question).select("prompt_id", pl.col("value").alias("truth"))
    both = rows.join(truths, on="prompt_id")
    of = scale_of(study, question)
    stored = []
    for (spec,), rows in both.group_by(["spec"], maintain_order=True):
        low, high = (rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("low", "high"))
        ids, predicted, truth = (rows[name].to_numpy() for name in ("prompt_id", "value", "truth"))
        stored.append(StoredPredictions(_short(str(spec)), of, ids, predicted, low, high, truth))
    return stored


def best(stored: Sequence[StoredPredictions]) -> StoredPredictions | None:
    """The predictor with the highest Pearson's r; one without any comes last."""
    if not stored:
        return None
    r = [pearson(each.predicted, each.truth).value for each in stored]
    return max(zip(r, stored, strict=True), key=lambda each: -2.0 if each[0] is None else each[0])[1]


def scatter_figure(shown: StoredPredictions) -> Figure:
    """Predicted against true values."""
    n, name = shown.ids.size, shown.scale.name
    points = list(zip(shown.predicted.tolist(), shown.truth.tolist(), strict=True))
    what = f"Each dot is one of {n:,} prompts,"
    if n > charts.MOST_POINTS:
        what = f"The stronger a square, the more of the {n:,} prompts lie in it; each was"
    return Figure.of(
        lambda width: charts.scatter(
            points, x_axis=f"predicted {name}", y_axis=f"true {name}", domain=shown.scale.domain, width=width
        ),
        f"{what} predicted by {shown.predictor} while held out (cross-validation); on the dashed line "
        "prediction and truth agree.",
    )


def quality_table(question: str, stored: Sequence[StoredPredictions]) -> Table:
    """Every predictor of a question with its quality and the intervals."""
    columns = [Column("predictor")]
    columns += [Column(name, title, direction, estimate=True) for name, title, direction in FIGURES]
    columns.append(Column("error", "mean error", "lower", estimate=True))
    rows: list[list[Cell]] = []
    for each in stored:
        quality = prediction_quality.quality(each.predicted, each.truth)
        error = mean_interval(np.abs(each.predicted - each.truth))
        rows.append([each.predictor, *(quality[name] for name, _, _ in FIGURES), error])
    return Table(columns, rows, f"How well {question} is predicted; 95 % intervals by the jackknife")


def _short(spec: str) -> str:
    try:
        return registry.configure("predictor", spec).short
    except UsageError:
        return spec
