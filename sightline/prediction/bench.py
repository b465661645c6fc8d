"""Where predictors are evaluated: each is fitted on one part of the prompts and predicts another."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.extension import Configured
from sightline.prediction.features import Described
from sightline.prediction.fitted import numbered
from sightline.prediction.image_examples import pictured_examples
from sightline.prediction.model import Prediction, interval
from sightline.prediction.targets import Target, settlement_of
from sightline.records import Examples, Question
from sightline.statistics import prediction_quality
from sightline.statistics.conformal import Intervals, calibrated, held_across
from sightline.statistics.correlation import EstimateWithTest
from sightline.statistics.folds import k_fold
from sightline.study import predicted
from sightline.study.groups import Split
from sightline.study.running.embedding import Cached, encoders_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing import settling

Array = NDArray[np.float64]

COVERAGE = 0.9
CUT = 5
"""A published split has no folds: its predictions are cut into so many to estimate coverage."""


@dataclass(frozen=True)
class PredictorQuality:
    """How well one predictor predicts one target, on prompts it had not seen.

    `figures` has Pearson, Kendall, Spearman, sMARE and RMSE, all but RMSE within folds. `error` is the mean
    absolute error, and `baseline_error` that of always predicting the mean of the prompts fitted on.
    `intervals` are those of new prompts and `width` is their mean width, infinite where too few prompts were
    held out; `covered` is the
    proportion of truths within the intervals that the other folds set, and `quarters` has it by quarter of
    the prediction. `after` says that it saw what systems answered: images, or rankings.
    """

    predictor: str
    question: str
    figures: Mapping[str, EstimateWithTest]
    error: float
    baseline_error: float
    width: float
    covered: float
    quarters: Sequence[prediction_quality.Quarter]
    intervals: Intervals
    after: bool = False

    @property
    def pearson(self) -> float:
        """Pearson's r, minus infinite where it is not defined."""
        value = self.figures["pearson"].value
        return -np.inf if value is None else value


class Bench:
    """Prompts with truth, cut into parts on which every predictor is evaluated.

    `others` are the prompts of the study without any truth: predictions of them are stored as well.
    """

    def __init__(
        self,
        study: Study,
        targets: Sequence[Target],
        ids: Sequence[int],
        others: Mapping[int, str],
        truth: Array,
        described: Described,
        split: Split,
        seed: int,
        listener: Listener | None,
    ) -> None:
        self._study = study
        self._targets = targets
        self._ids = ids
        self._others = others
        self._truth = truth
        self._described = described
        self._split = split
        self._seed = seed
        self._listener = listener
        self._learned: dict[str, Any] = {}
        self._numbered = numbered([prompt.text for prompt in described.x.prompts])
        self._parts = [described.cut(described.x, part.learn, part.guess) for part in split.parts]
        self.held_features = np.full((len(ids), len(described.names)), np.nan)
        for part, (_, shown) in zip(split.parts, self._parts, strict=True):
            self.held_features[part.guess] = shown.features

    def held_out(self, chosen: Configured, meter: Meter) -> Array:
        """The prediction of every prompt by a model fitted without it; stored in the study."""
        encoders = stored_encoders(self._study, chosen)
        # Encodes every prompt once; it is never fitted.
        ready = chosen.load(encoders)
        x = prepared_by(ready, self._shown(chosen))
        held = np.full(self._truth.shape, np.nan)
        for part, (learn, shown) in zip(self._split.parts, self._parts, strict=True):
            model = chosen.load(encoders).fit(_carrying(learn, x, part.learn), self._truth[part.learn])
            held[part.guess] = model.predict(_carrying(shown, x, part.guess))
            if not np.isfinite(held[part.guess]).all():
                raise DataError(f"{chosen.name} gave predictions that are not finite")
            meter.add(computed=1)
        beyond = np.zeros((0, len(self._targets)))
        if self._others and not self.after(chosen):
            beyond = self._whole(chosen).predict(self._described.new(list(self._others.values())))
        for number, target in enumerate(self._targets):
            if target.system is None or target.measure is not None:
                self._keep(chosen, number, held[:, number], beyond[:, number])
        return held

    def _whole(self, chosen: Configured) -> Any:
        """A predictor fitted on all prompts with truth."""
        if chosen.short not in self._learned:
            everything = np.arange(len(self._ids))
            known, _ = self._described.cut(self._described.x, everything, everything[:0])
            model = chosen.load(stored_encoders(self._study, chosen))
            self._learned[chosen.short] = model.fit(known, self._truth)
        return self._learned[chosen.short]

    def _shown(self, chosen: Configured) -> Examples:
        """All prompts, with the images that systems answered with if the predictor sees images."""
        if sees_prompts(chosen):
            return self._described.x
        _, encoder = next(iter(encoders_of(chosen)))
        return pictured_examples(self._study, self._ids, encoder, listener=self._listener)

    def after(self, chosen: Configured) -> bool:
        """Whether a predictor sees what systems answered."""
        return bool(self._described.of_rankings) or not sees_prompts(chosen)

    def result(self, chosen: Configured, number: int, held: Array) -> PredictorQuality:
        """How well a predictor did on one target."""
        guess, truth = held[:, number], self._truth[:, number]
        known = np.isfinite(guess) & np.isfinite(truth)
        group, question = self._numbered[known], self._targets[number].question
        intervals = calibrated(guess[known], truth[known], group, coverage=COVERAGE)
        low, high = (_on_scale(end, question) for end in intervals.around(guess[known], group))
        covered = np.full(len(truth), np.nan)
        covered[known] = held_across(
            guess[known], truth[known], self._calibration()[known], group, coverage=COVERAGE
        )
        mean = np.full(len(truth), np.nan)
        for part in self._split.parts:
            mean[part.guess] = np.nanmean(truth[part.learn])
        return PredictorQuality(
            chosen.short,
            self._targets[number].name,
            prediction_quality.quality(guess, truth, self._split.fold(len(truth))),
            float(np.abs(guess - truth)[known].mean()),
            float(np.abs(mean - truth)[known].mean()),
            float((high - low).mean()),
            float(covered[known].mean()),
            _quarters(guess, truth, covered, question),
            intervals,
            self.after(chosen),
        )

    def _calibration(self) -> np.ndarray:
        """The fold of each prompt: its interval comes from the other folds."""
        if len(self._split.parts) > 1:
            return self._split.fold(len(self._ids))
        # One model predicted them all, so any cut of them will do.
        return k_fold(len(self._ids), min(CUT, len(self._ids)), seed=self._seed)

    def predict(
        self, chosen: Sequence[Configured], prompts: Sequence[str], best: Sequence[PredictorQuality]
    ) -> list[Prediction]:
        """New prompts, each target by its best predictor as fitted on all prompts there are."""
        if not prompts:
            return []
        new = self._described.new(prompts)
        group = numbered(prompts)
        models = {
            each.short: self._whole(each) for each in chosen if each.short in {b.predictor for b in best}
        }
        made = {name: (model.predict(new), model.explain(new)) for name, model in models.items()}
        predictions = []
        for row, text in enumerate(prompts):
            expected, effects = {}, {}
            for number, (target, quality) in enumerate(zip(self._targets, best, strict=True)):
                values, reasons = made[quality.predictor]
                value = values[row : row + 1, number]
                ends = (value, *quality.intervals.around(value, group[row : row + 1]))
                expected[target.name] = interval(*(float(_on_scale(end, target.question)[0]) for end in ends))
                effects[target.name] = _effects(reasons[row], f"[{number}]" if len(self._targets) > 1 else "")
            predictions.append(Prediction(text, expected, effects))
        return predictions

    def _keep(self, chosen: Configured, number: int, values: Array, beyond: Array) -> None:
        """Store the prediction of each prompt: held out in a fold, or in none where it has no truth."""
        target = self._targets[number]
        settlement = settlement_of(self._study, target)
        if settlement is None:
            return
        names = [each.name for each in self._targets], self._described.names
        train = hashlib.sha256(repr((list(self._ids), self._truth.tolist(), *names)).encode()).hexdigest()
        truth = self._truth[:, number]
        known = np.isfinite(values) & np.isfinite(truth)
        intervals = calibrated(values[known], truth[known], self._numbered[known], coverage=COVERAGE)
        keys, folds = [*self._ids], [*self._split.fold(len(self._ids)).tolist()]
        group = self._numbered
        if len(beyond):
            keys, folds = [*keys, *self._others], [*folds, *([None] * len(beyond))]
            values = np.append(values, beyond)
            group = np.append(group, numbered(list(self._others.values())))
        there = np.isfinite(values)
        ends = np.full((len(values), 2), np.nan)
        ends[there] = np.stack(intervals.around(values[there], group[there]), axis=1)
        rows = [
            (key, 0, 0, part, value, *_limits(low, high), None)
            for key, part, value, (low, high) in zip(
                keys, folds, values.tolist(), _on_scale(ends, target.question).tolist(), strict=True
            )
            if np.isfinite(value)
        ]
        # Predictions after retrieval must not pass for predictions before it.
        spec = f"{chosen} with rankings" if self._described.of_rankings else str(chosen)
        if target.measure is not None:
            spec = f"{spec}{predicted.FOR}{target.name}"
        settling.keep_predictions(self._study, spec, settlement, self._split.name, train, self._seed, rows)


def _quarters(
    guess: Array, truth: Array, covered: Array, asked: Question
) -> list[prediction_quality.Quarter]:
    """By quarter of the prediction, hardest first: the highest where lower is better."""
    if asked.direction != "lower":
        return prediction_quality.by_quarter(guess, truth, covered)
    return [
        replace(each, low=-each.high, high=-each.low, bias=-each.bias)
        for each in prediction_quality.by_quarter(-guess, -truth, covered)
    ]


def stored_encoders(study: Study, chosen: Configured) -> dict[str, Any]:
    """The encoders inside a predictor, reading stored vectors where computing them takes long."""
    return {
        name: Cached(study, each)
        for name, each in encoders_of(chosen)
        if not sees_prompts(chosen) or each.spec.weights or each.spec.extra or each.spec.packages
    }


def sees_prompts(chosen: Configured) -> bool:
    """Whether a predictor needs nothing but prompts."""
    return bool(chosen.spec.details["sees"] == "prompt")


def prepared_by(model: Any, x: Examples) -> Examples:
    """The examples with what a model computes from each alone, such as vectors of words or images."""
    prepare = getattr(model, "prepare", None)
    return x if prepare is None else prepare(x)


def _carrying(part: Examples, x: Examples, rows: np.ndarray) -> Examples:
    """A part with the features it was cut with, and the rest of what all examples carry."""
    return replace(x.take(rows), features=part.features, feature_names=part.feature_names)


def _on_scale(values: Array, asked: Question) -> Array:
    """Values within the question's scale: a linear predictor knows no ends."""
    low = -np.inf if asked.low is None else asked.low
    return np.clip(values, low, np.inf if asked.high is None else asked.high)


def _limits(low: float, high: float) -> tuple[float | None, float | None]:
    """The interval; none where an end is infinite."""
    return (low, high) if np.isfinite(low) and np.isfinite(high) else (None, None)


def _effects(parts_by_name: Mapping[str, float], end: str) -> list[tuple[str, float]]:
    parts = [
        (name.removesuffix(end), part)
        for name, part in parts_by_name.items()
        if name.endswith(end) and name.removesuffix(end) != "base"
    ]
    return sorted(parts, key=lambda part: -abs(part[1]))
