"""The predictions that a study stores, with the true values, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import UsageError
from sightline.estimate import Cell, Direction, Estimate
from sightline.prediction.targets import settlement_of, target_of
from sightline.prediction.verdict import Worth, verdict, worth
from sightline.rendering import charts
from sightline.rendering.blocks import Figure
from sightline.rendering.shown import Scale
from sightline.rendering.tables import Column, Table
from sightline.report.prompt_cards import scale_of
from sightline.statistics import prediction_quality
from sightline.statistics.correlation import EstimateWithTest
from sightline.statistics.intervals import mean_interval
from sightline.study import predicted, reading, rollup
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
    fold: NDArray[np.int64]

    @cached_property
    def quality(self) -> dict[str, EstimateWithTest]:
        """The figures of `FIGURES`, within folds."""
        return prediction_quality.quality(self.predicted, self.truth, self.fold)

    @property
    def worth(self) -> Worth:
        """How far the predictor can be used."""
        return worth(self.quality["pearson"], *self.errors)

    @property
    def tells(self) -> bool:
        """Whether its predictions go with the truth at all, be it only as it seems."""
        return self.worth != "nothing"

    @property
    def verdict(self) -> str:
        """What to make of it."""
        return verdict(self.scale.name, self.predictor, self.quality["pearson"], *self.errors)

    @property
    def errors(self) -> tuple[float, float]:
        """The mean error, and that of always predicting the mean of the truth."""
        naive = np.abs(self.truth - self.truth.mean()).mean()
        return float(np.abs(self.predicted - self.truth).mean()), float(naive)

    def estimate(self, row: int) -> Estimate:
        """The prediction of a prompt with its interval."""
        value, low, high = (float(column[row]) for column in (self.predicted, self.low, self.high))
        if not (np.isfinite(low) and np.isfinite(high)):
            return Estimate(value)
        return Estimate(value, min(low, value), max(high, value))


def read_predictions(study: Study, name: str) -> list[StoredPredictions]:
    """The newest predictions of each predictor for a question or a measure, if their truth is the newest."""
    if name in {asked.name for _, asked in reading.questions(study)}:
        settlement = reading.newest_settlement(study, name)
        rows = None if settlement is None else predicted.predictions(study, settlement)
        if rows is None or rows.is_empty():
            return []
        truths = rollup.by_prompt(study, name).select("prompt_id", pl.col("value").alias("truth"))
        return _stored(rows, truths, scale_of(study, name))
    target = target_of(study, name)
    settlement = settlement_of(study, target)
    rows = None if settlement is None else predicted.predictions(study, settlement, target.name)
    if rows is None or rows.is_empty():
        return []
    scale = Scale(target.name, target.question.direction, target.question.low, target.question.high)
    truths = pl.DataFrame({"prompt_id": list(target.truth), "truth": list(target.truth.values())})
    return _stored(rows, truths, scale)


def _stored(rows: pl.DataFrame, truths: pl.DataFrame, of: Scale) -> list[StoredPredictions]:
    both = rows.join(truths, on="prompt_id")
    stored = []
    for (spec,), rows in both.group_by(["spec"], maintain_order=True):
        low, high = (rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("low", "high"))
        ids, predicted, truth = (rows[name].to_numpy() for name in ("prompt_id", "value", "truth"))
        fold = rows["fold"].fill_null(-1).to_numpy()
        stored.append(StoredPredictions(_short(str(spec)), of, ids, predicted, low, high, truth, fold))
    return stored


def best(stored: Sequence[StoredPredictions]) -> StoredPredictions | None:
    """The predictor with the highest Pearson's r; one without any comes last."""
    if not stored:
        return None
    r = [each.quality["pearson"].value for each in stored]
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
        error = mean_interval(np.abs(each.predicted - each.truth))
        rows.append([each.predictor, *(each.quality[name] for name, _, _ in FIGURES), error])
    return Table(columns, rows, f"How well {question} is predicted; 95 % intervals by the jackknife")


def _short(spec: str) -> str:
    try:
        return registry.configure("predictor", spec).short
    except UsageError:
        return spec
