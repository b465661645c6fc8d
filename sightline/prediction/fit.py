"""Predict: how well will a prompt do, judged from the prompt alone, as learned from a study's own truth?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.extension import Configured
from sightline.prediction.bench import Bench, Target, sees_prompts
from sightline.prediction.features import Described, examples, prompt_measures
from sightline.prediction.results import FitResult, Predicted, Result
from sightline.statistics import prediction_quality
from sightline.study import reading, rollup
from sightline.study.groups import Split, groups_of, split_by
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study

__all__ = ["FitResult", "Predicted", "Result", "examples", "first_settled", "fit", "prompt_measures"]

Array = NDArray[np.float64]

LEAST = 10
"""Fewer prompts with truth than this cannot be cut into folds worth the name."""


def fit(
    study: Study,
    question: str | None = None,
    *,
    questions: Sequence[str] = (),
    predictor: str = "ridge",
    predictors: Sequence[str] = (),
    features: Sequence[str] = (),
    rankings: bool = False,
    split: str = "folds",
    prompts: Sequence[str] = (),
    folds: int = 5,
    seed: int = 0,
    listener: Listener | None = None,
) -> FitResult:
    """Try predictors on prompts they had not seen, keep what they said, and predict new prompts.

    Several `questions` are learned at once; a prompt need not be settled for all of them. QUESTION.SYSTEM is
    the truth of one system. Every prompt is predicted by a model that saw nothing of its truth, nor of the
    truth of prompts of the same words. A new prompt is predicted by the best predictor as learned from all
    prompts; its interval is as wide as held 90 % of the prompts held out (split conformal).
    With `rankings` predictors learn from what search engines answered as well, and some predictors see
    images: they know nothing of prompts that were not asked.
    """
    chosen = _predictors(predictors or [predictor])
    _refuse_prompts(prompts, chosen, rankings)
    names = list(dict.fromkeys([*([question] if question else []), *questions])) or [first_settled(study)]
    targets = [_target(study, name) for name in names]
    texts, others = _texts(study, targets)
    truth = np.array([[target.truth.get(key, np.nan) for target in targets] for key in texts])
    groups = groups_of(study, texts)
    _settled(targets)
    cut = split_by(split, study, texts, groups, folds, seed)
    _enough(targets, truth, cut)
    described = Described(
        study, texts, prompt_measures(features), groups, rankings=rankings, listener=listener
    )
    bench = Bench(study, targets, list(texts), others, truth, described, cut, seed, listener)
    meter = Meter("learning to predict", len(chosen) * len(cut.parts), listener)
    made = {each.short: bench.held_out(each, meter) for each in chosen}
    meter.finish()
    results = [
        bench.result(each, number, made[each.short]) for number in range(len(targets)) for each in chosen
    ]
    truths = {target.name: truth[:, number] for number, target in enumerate(targets)}
    predictions = {
        name: {target.name: values[:, number] for number, target in enumerate(targets)}
        for name, values in made.items()
    }
    # Only these can say something of a prompt that nobody has answered.
    before = (
        [_best([each for each in results if each.question == name and not each.after]) for name in names]
        if prompts
        else []
    )
    return FitResult(
        questions=names,
        predictors=list(made),
        prompts=int((cut.fold(len(texts)) >= 0).sum()),
        split=cut,
        results=results,
        differences={
            name: prediction_quality.compare({each: predictions[each][name] for each in made}, truths[name])
            for name in names
        },
        best={name: _best([e for e in results if e.question == name]).predictor for name in names},
        predicted=bench.predict(chosen, prompts, before),
        texts=list(texts.values()),
        scales={target.name: (target.question.low, target.question.high) for target in targets},
        truths=truths,
        predictions=predictions,
        features={name: bench.held_features[:, at] for at, name in enumerate(described.names)},
        features_after=described.of_rankings,
        notes=[*cut.notes, *_notes(described, others, chosen)],
    )


def first_settled(study: Study) -> str:
    """The first question with truth about prompts."""
    for _, asked in reading.questions(study):
        if not rollup.by_prompt(study, asked.name).is_empty():
            return asked.name
    raise DataError("no question has a truth yet", where=study.name, remedy="sightline truth STUDY")


def _predictors(names: Sequence[str]) -> list[Configured]:
    chosen = {each.short: each for each in (registry.configure("predictor", name) for name in names)}
    for each in chosen.values():
        each.require()
    return list(chosen.values())


def _target(study: Study, name: str) -> Target:
    """A question by its name, or one system's truth of it by QUESTION.SYSTEM."""
    asked = {question.name: question for _, question in reading.questions(study)}
    if name in asked or "." not in name:
        _, question = reading.question(study, name)
        values = rollup.by_prompt(study, name)
        return Target(name, question, None, dict(values.select("prompt_id", "value").iter_rows()))
    asked_name = max((each for each in asked if name.startswith(f"{each}.")), key=len, default="")
    _, question = reading.question(study, asked_name or name)
    system = name.removeprefix(f"{asked_name}.")
    by_system = rollup.by_system(study, asked_name)
    known = by_system["system"].unique().to_list()
    if system not in known:
        raise UsageError(f"{asked_name} has no truth of a system {system!r}", remedy=near(system, known))
    values = by_system.filter(pl.col("system") == system)
    return Target(name, question, system, dict(values.select("prompt_id", "value").iter_rows()))


def _texts(study: Study, targets: Sequence[Target]) -> tuple[dict[int, str], dict[int, str]]:
    """The prompts that any target has truth of, by id in the order of the study, and the other prompts."""
    wanted = {key for target in targets for key in target.truth}
    known: dict[int, str] = {}
    others: dict[int, str] = {}
    for key, text in reading.prompts(study).select("prompt_id", "text").iter_rows():
        (known if key in wanted else others)[key] = text
    return known, others


def _notes(described: Described, others: Mapping[int, str], chosen: Sequence[Configured]) -> Iterator[str]:
    yield f"How common words are was counted in {described.counted_from}."
    if others and not described.of_rankings and any(map(sees_prompts, chosen)):
        yield f"{len(others):,} prompts without truth were predicted as well; that is kept too."


def _refuse_prompts(prompts: Sequence[str], chosen: Sequence[Configured], rankings: bool) -> None:
    if prompts and (rankings or not any(map(sees_prompts, chosen))):
        raise UsageError(
            "new prompts have no images and no rankings to predict from",
            remedy="Choose a predictor that sees prompts: sightline list predictor",
        )
    if not all(text.strip() for text in prompts):
        raise UsageError("an empty prompt cannot be predicted")


def _settled(targets: Sequence[Target]) -> None:
    for target in targets:
        if len(target.truth) < LEAST:
            raise DataError(
                f"only {len(target.truth)} prompts have a truth of {target.name!r}; "
                f"a predictor needs {LEAST} or more",
                remedy="Judge more prompts, or import published truth.",
            )


def _enough(targets: Sequence[Target], truth: Array, split: Split) -> None:
    """Every target has truth to learn from in every part, and some to be tried on."""
    for number, target in enumerate(targets):
        settled = np.isfinite(truth[:, number])
        tried = sum(int(settled[part.guess].sum()) for part in split.parts)
        fewest = min(int(settled[part.learn].sum()) for part in split.parts)
        if not tried or not fewest:
            raise DataError(
                f"{target.name!r} has no truth to {'learn from' if not fewest else 'be tried on'}"
                f" in a part of {split.said}",
                remedy="Judge more prompts, ask for fewer questions at once, or use another split.",
            )


def _best(results: Sequence[Result]) -> Result:
    """The result with the highest Pearson; the first of equals."""

    def worth(result: Result) -> float:
        value = result.figures["pearson"].value
        return -np.inf if value is None else value

    return max(results, key=worth)
