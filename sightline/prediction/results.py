"""What predicting finds: how well predictors do on prompts they had not seen, and what they say of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.statistics.correlation import Correlation, kendall, pearson
from sightline.statistics.prediction_quality import Difference, Figure, Quarter
from sightline.study.groups import Split

Array = NDArray[np.float64]

BEFORE = "before generation or retrieval"
AFTER = "after generation or retrieval"


@dataclass(frozen=True)
class Predicted:
    """A prediction for a new prompt, with an interval that held for 90 % of the prompts held out so far."""

    prompt: str
    value: float
    low: float | None
    high: float | None
    because: Sequence[tuple[str, float]] = ()
    question: str = ""
    predictor: str = ""


@dataclass(frozen=True)
class Result:
    """How well one predictor predicts one target, on prompts it had not seen.

    `figures` has Pearson, Kendall, Spearman, sMARE and RMSE. `error` is the mean absolute error, and
    `baseline_error` that of always saying the mean of what was learned from. `half_width` is infinite where
    too few prompts were held out for an interval; `covered` is the share of them within the width that the
    other folds set, which may be below 90 %. `after` says that it saw what systems answered: images, or
    rankings.
    """

    predictor: str
    question: str
    figures: Mapping[str, Figure]
    error: float
    baseline_error: float
    half_width: float
    covered: float
    quarters: Sequence[Quarter]
    after: bool = False


@dataclass(frozen=True)
class FitResult:
    """How well predictors do on prompts they had not seen, and what the best of them says of new ones.

    `results` come target by target, predictors in the order asked. `differences` are paired, by Pearson, with
    Holm's correction within a target. `best` is the predictor with the highest Pearson, by target;
    it predicts new prompts.
    """

    questions: Sequence[str]
    predictors: Sequence[str]
    prompts: int
    split: Split
    results: Sequence[Result]
    differences: Mapping[str, Sequence[Difference]]
    best: Mapping[str, str]
    predicted: Sequence[Predicted]
    texts: Sequence[str]
    scales: Mapping[str, tuple[float | None, float | None]]
    truths: Mapping[str, Array]
    predictions: Mapping[str, Mapping[str, Array]]
    features: Mapping[str, Array]
    features_after: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def question(self) -> str:
        """The first target."""
        return self.questions[0]

    @property
    def predictor(self) -> str:
        """The first predictor."""
        return self.predictors[0]

    @property
    def folds(self) -> int:
        """In how many parts prompts were tried."""
        return len(self.split.parts)

    @property
    def pearson(self) -> Correlation:
        """Pearson's r of the first predictor with the first target."""
        return _as_correlation(self.results[0].figures["pearson"])

    @property
    def kendall(self) -> Correlation:
        """Kendall's tau-b of the first predictor with the first target."""
        return _as_correlation(self.results[0].figures["kendall"])

    @property
    def error(self) -> float:
        """Mean absolute error of the first predictor on the first target."""
        return self.results[0].error

    @property
    def baseline_error(self) -> float:
        """The same of always saying the mean."""
        return self.results[0].baseline_error

    @property
    def points(self) -> list[tuple[float, float]]:
        """(prediction, truth) of the first predictor and target, prompt by prompt."""
        guess, truth = self.predictions[self.predictor][self.question], self.truths[self.question]
        both = np.isfinite(guess) & np.isfinite(truth)
        return list(zip(guess[both].tolist(), truth[both].tolist(), strict=True))

    def paper_table(self) -> tuple[dict[str, dict[str, dict[str, Figure]]], dict[str, str]]:
        """PQPP's Table 2 for this study: the features one by one, then the predictors; and their headings.

        A feature has correlations only: it is no prediction of the truth, so that it has no error.
        """
        alone = {
            name: {
                question: {
                    "pearson": _as_figure(pearson(column, self.truths[question])),
                    "kendall": _as_figure(kendall(column, self.truths[question])),
                }
                for question in self.questions
            }
            for name, column in self.features.items()
        }
        learned = {
            name: {each.question: dict(each.figures) for each in self.results if each.predictor == name}
            for name in self.predictors
        }
        headings = {
            name: f"One feature, {AFTER if name in self.features_after else BEFORE}" for name in alone
        }
        headings |= {each.predictor: f"Learned, {AFTER if each.after else BEFORE}" for each in self.results}
        return {**alone, **learned}, headings


def _as_correlation(figure: Figure) -> Correlation:
    return Correlation(figure.value, figure.low, figure.high, figure.n, reason=figure.reason, p=figure.p)


def _as_figure(found: Correlation) -> Figure:
    return Figure(found.value, found.low, found.high, found.p, found.n, found.reason)
