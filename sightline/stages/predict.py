"""Predict: how well will a prompt do, judged from the prompt alone?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.execution.gate import gate
from sightline.execution.run import run_together
from sightline.extension import Configured
from sightline.judging import rollup
from sightline.records import Examples, Prompt, PromptKey, Question
from sightline.statistics.correlation import Correlation, kendall, pearson
from sightline.statistics.folds import k_fold
from sightline.store import reading, settling
from sightline.store.study import Study

LEAST = 10
"""Fewer prompts with truth than this cannot be cut into folds worth the name."""
COVERAGE = 0.9


@dataclass(frozen=True)
class Foretold:
    """A prediction for a prompt, with an interval that held for 90 % of the prompts held out so far."""

    prompt: str
    value: float
    low: float
    high: float
    because: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True)
class Predicted:
    """How well a predictor does on prompts it had not seen, and what it says of new ones."""

    question: str
    predictor: str
    prompts: int
    folds: int
    pearson: Correlation
    kendall: Correlation
    baseline_error: float
    error: float
    points: Sequence[tuple[float, float]]
    foretold: Sequence[Foretold]


def predict(
    study: Study,
    question: str | None = None,
    *,
    predictor: str = "ridge",
    prompts: Sequence[str] = (),
    folds: int = 5,
    seed: int = 0,
) -> Predicted:
    """Cross-validate a predictor on the settled prompts, keep its predictions, and foretell new prompts.

    Every prompt with truth is predicted by a model that never saw it. The interval of a new prediction is
    the 90th percentile of those absolute errors (split conformal).
    """
    if folds < 2:
        raise UsageError(f"{folds} folds hold nothing out", remedy="At least 2, usually 5 or 10.")
    name = question or first_settled(study)
    truths = rollup.by_prompt(study, name)
    if len(truths) < max(LEAST, folds):
        raise DataError(
            f"only {len(truths)} prompts have a truth of {name!r}; a predictor needs {LEAST} or more",
            remedy="Judge more prompts, or import published truth.",
        )
    chosen = registry.configure("predictor", predictor)
    if chosen.spec.details["sees"] != "prompt":
        raise UsageError(f"{chosen.name} needs more than the prompt", remedy="Choose one that sees prompts.")
    for text in prompts:
        if not text.strip():
            raise UsageError("an empty prompt cannot be predicted")
    ids = [int(key) for key in truths["prompt_id"]]
    known = examples(study, ids)
    truth = truths["value"].to_numpy().reshape(-1, 1)
    fold = k_fold(len(ids), folds, seed=seed)
    held_out = np.full(len(ids), np.nan)
    for number in range(folds):
        learn, guess = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        model = chosen.load().fit(known.take(learn), truth[learn])
        held_out[guess] = model.predict(known.take(guess))[:, 0]
    if not np.isfinite(held_out).all():
        raise DataError(f"{chosen.name} gave predictions that are not finite")
    errors = np.abs(held_out - truth[:, 0])
    width = conformal_width(errors, COVERAGE)
    _keep(study, name, chosen, ids, fold, held_out, width, truths["value"].to_list(), seed)
    _, asked = reading.question(study, name)
    foretold = [
        replace(
            each,
            value=_on_scale(each.value, asked),
            low=_on_scale(each.low, asked),
            high=_on_scale(each.high, asked),
        )
        for each in _foretell(chosen, known, truth, prompts, width)
    ]
    spread = np.abs(truth[:, 0] - truth.mean())
    return Predicted(
        name,
        chosen.short,
        len(ids),
        folds,
        pearson(held_out, truth[:, 0]),
        kendall(held_out, truth[:, 0]),
        float(spread.mean()),
        float(errors.mean()),
        list(zip(held_out.tolist(), truth[:, 0].tolist(), strict=True)),
        foretold,
    )


def conformal_width(errors: np.ndarray, coverage: float) -> float:
    """The ceil((n + 1) coverage)-th smallest error: covers the next one with at least that probability."""
    place = int(np.ceil((len(errors) + 1) * coverage))
    return float(np.sort(errors)[min(place, len(errors)) - 1])


def examples(study: Study, ids: Sequence[int]) -> Examples:
    """These prompts with every measure of a prompt as features."""
    records = reading.prompt_records(study, ids)
    measures = prompt_measures()
    run_together(study, measures)
    columns = []
    for measure in measures:
        scores = reading.scores(study, measure.identity)
        known = dict(zip(scores["prompt_id"].to_list(), scores["value"].to_list(), strict=True))
        columns.append([np.nan if known.get(key) is None else known[key] for key in ids])
    features = np.array(columns, dtype=np.float64).T.reshape(len(ids), len(measures))
    return Examples([records[key] for key in ids], features, [measure.short for measure in measures])


def prompt_measures() -> list[Configured]:
    """Every measure of a prompt that can run here."""
    found = [registry.configure("of_prompt", name) for name in registry.names("of_prompt")]
    return [measure for measure in found if not measure.spec.missing()]


def first_settled(study: Study) -> str:
    """The first question with truth about prompts."""
    for _, asked in reading.questions(study):
        if not rollup.by_prompt(study, asked.name).is_empty():
            return asked.name
    raise DataError("no question has a truth yet", where=study.name, remedy="sightline truth STUDY")


def _foretell(
    chosen: Configured, known: Examples, truth: np.ndarray, prompts: Sequence[str], width: float
) -> list[Foretold]:
    if not prompts:
        return []
    records = [Prompt(PromptKey("new", str(n)), text) for n, text in enumerate(prompts)]
    columns = []
    for measure in prompt_measures():
        outcomes = gate(measure.spec, measure.load()(records), len(records))
        columns.append([np.nan if outcome.value is None else outcome.value for outcome in outcomes])
    features = np.array(columns, dtype=np.float64).T.reshape(len(records), len(columns))
    new = Examples(records, features, known.feature_names)
    model = chosen.load().fit(known, truth)
    values = model.predict(new)[:, 0]
    return [
        Foretold(text, float(value), float(value - width), float(value + width), _because(told))
        for text, value, told in zip(prompts, values, model.explain(new), strict=True)
    ]


def _on_scale(value: float, asked: Question) -> float:
    """What can occur: a linear predictor knows no ends, the question does."""
    above = value if asked.low is None else max(value, asked.low)
    return above if asked.high is None else min(above, asked.high)


def _because(told: dict[str, float]) -> list[tuple[str, float]]:
    parts = [(name, part) for name, part in told.items() if name != "base"]
    return sorted(parts, key=lambda part: -abs(part[1]))


def _keep(
    study: Study,
    question: str,
    chosen: Configured,
    ids: Sequence[int],
    fold: np.ndarray,
    values: np.ndarray,
    width: float,
    truth: Sequence[float],
    seed: int,
) -> None:
    settlement = reading.newest_settlement(study, question)
    assert settlement is not None
    train = hashlib.sha256(repr((list(ids), list(truth))).encode()).hexdigest()
    split = f"{int(fold.max()) + 1}-fold"
    rows = [
        (key, 0, int(number), float(value), float(value - width), float(value + width), None)
        for key, number, value in zip(ids, fold, values, strict=True)
    ]
    settling.keep_predictions(study, str(chosen), settlement, split, train, seed, rows)
