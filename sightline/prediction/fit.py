"""Fit: how well can a study's truth be predicted, and what is expected of new prompts?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Direction, absent
from sightline.extension import Configured
from sightline.measures.score import score
from sightline.prediction.answers import AnswerFit, fit_answers
from sightline.prediction.bench import Bench, PredictorQuality, sees_prompts
from sightline.prediction.features import Described, examples, prompt_measures
from sightline.prediction.fitted import Fitted
from sightline.prediction.model import ONE_WIDTH, Prediction
from sightline.prediction.saving import check_model, save_best
from sightline.prediction.targets import Target, settlement_of, target_of
from sightline.prediction.verdict import verdict
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics import prediction_quality
from sightline.statistics.correlation import EstimateWithTest, kendall, pearson
from sightline.statistics.prediction_quality import Difference, as_latex
from sightline.study import reading, rollup
from sightline.study.groups import Split, groups_of, split_by
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.verbs import SEED, option, verb

__all__ = ["FitResult", "PredictorQuality", "examples", "first_settled", "fit", "prompt_measures"]

Array = NDArray[np.float64]
Figures = dict[str, dict[str, EstimateWithTest]]

DEFAULT = "ridge"
LEAST = 10
"""Fewer prompts with truth than this cannot be cut into folds."""
FIGURES: Mapping[str, tuple[str, Direction]] = {
    "pearson": ("Pearson", "higher"),
    "kendall": ("Kendall", "higher"),
    "spearman": ("Spearman", "higher"),
    "smare": ("sMARE", "lower"),
    "rmse": ("RMSE", "lower"),
}
BEFORE = "before generation or retrieval"
AFTER = "after generation or retrieval"
MOST_FEATURES = 10


@dataclass(frozen=True)
class FitResult(Result):
    """How well predictors do on prompts they had not seen, and what the best of them expects of new ones.

    `results` come target by target, predictors in the order asked. `differences` are paired, by Pearson, with
    Holm's correction within a target. `best` is by target the predictor with the highest Pearson; new prompts
    are predicted by `best_before`, the best that sees prompts alone. `saved` is the model in `file`.
    """

    questions: Sequence[str]
    predictors: Sequence[str]
    prompts: int
    split: Split
    results: Sequence[PredictorQuality]
    differences: Mapping[str, Sequence[Difference]]
    best: Mapping[str, str]
    predicted: Sequence[Prediction]
    texts: Sequence[str]
    truths: Mapping[str, Array]
    predictions: Mapping[str, Mapping[str, Array]]
    features: Mapping[str, Array]
    features_after: Sequence[str] = ()
    best_before: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    saved: Fitted | None = None
    file: str = ""

    @property
    def sentence(self) -> str:
        """How much better than the mean the best predictor of each target is."""
        return " ".join(self._sentence(question) for question in self.questions)

    def _sentence(self, question: str) -> str:
        best = self.best[question]
        each = next(e for e in self.results if e.question == question and e.predictor == best)
        return verdict(question, best, each.figures["pearson"], each.error, each.baseline_error)

    @property
    def notes(self) -> Sequence[str]:
        if self.saved is None:
            return self.remarks
        about = self.saved.about
        own = (f"{name} {'undefined' if r is None else f'{r:.2f}'}" for name, r in about["pearson"].items())
        return [
            *self.remarks,
            f"Saved: {self.file} ({about['predictor']}, fitted on {about['prompts']:,} prompts).",
            "It is fitted again without --feature and captions, so that the file is self-contained. "
            f"Its own Pearson on held-out prompts: {', '.join(own)}.",
        ]

    @property
    def next(self) -> Sequence[str]:
        if self.file:
            return (f"sightline predict 'a prompt' --model {shlex.quote(self.file)}",)
        return ("sightline report STUDY",)

    def facts(self) -> dict[str, Any]:
        """The split, the best predictor of each target and the file."""
        return {"split": self.split.said, "best": dict(self.best), "prompts": self.prompts, "file": self.file}

    def to_latex(self) -> str:
        """PQPP's Table 2 for this study: every feature alone, then the predictors, before and after."""
        headings = {
            name: f"One feature, {AFTER if name in self.features_after else BEFORE}" for name in self.features
        }
        headings |= {each.predictor: f"Learned, {AFTER if each.after else BEFORE}" for each in self.results}
        learned: dict[str, Figures] = {name: {} for name in self.predictors}
        for each in self.results:
            learned[each.predictor][each.question] = dict(each.figures)
        return as_latex({**self.alone, **learned}, headings=headings)

    @cached_property
    def alone(self) -> dict[str, Figures]:
        """Each feature against each target: correlations only, since it is no prediction of the truth."""
        return {
            name: {
                question: {"pearson": pearson(column, truth), "kendall": kendall(column, truth)}
                for question, truth in self.truths.items()
            }
            for name, column in self.features.items()
        }

    def tables(self) -> dict[str, Table]:
        made = {} if not self.predicted else {"predicted": self._predicted()}
        return {
            **made,
            "quality": self._quality(),
            "differences": self._differences(),
            "quarters": self._quarters(),
            "features": self._features(),
        }

    def _quality(self) -> Table:
        columns = [Column("predictor"), Column("question"), Column("prompts", detail=True)]
        columns += [Column(name, title, way, estimate=True) for name, (title, way) in FIGURES.items()]
        columns += [
            Column(f"{name}_p", f"p of {title}", format="p", detail=name != "pearson")
            for name, (title, _) in FIGURES.items()
        ]
        columns += [Column("error", "mean error", "lower"), Column("baseline_error", "of the mean", "lower")]
        columns += [
            Column("width", "width of intervals", "lower", detail=True),
            Column("covered", detail=True),
        ]
        rows: list[list[Cell]] = []
        for each in self.results:
            figures = [each.figures[name] for name in FIGURES]
            errors = (each.error, each.baseline_error, each.width, each.covered)
            rows.append(
                [each.predictor, each.question, figures[0].n, *figures, *(one.p for one in figures), *errors]
            )
        title = f"Predictions of {self.prompts:,} held-out prompts ({self.split.said}); 95 % intervals"
        return Table(columns, rows, title)

    def _differences(self) -> Table:
        columns = [
            Column("question"),
            Column("first"),
            Column("second"),
            Column("difference", "Pearson, first minus second", format="+", estimate=True),
            Column("p_adjusted", "p after Holm", format="p"),
            Column("significant"),
        ]
        rows: list[list[Cell]] = []
        for question, differences in self.differences.items():
            for each in differences:
                untested = absent(each.reason or "not tested")
                p = each.p_adjusted
                tested: list[Cell] = [untested, untested] if p is None else [p, p < 0.05]
                rows.append([question, each.first, each.second, each, *tested])
        return Table(columns, rows, "Predictors on the same prompts")

    def _quarters(self) -> Table:
        columns = [
            Column("predictor"),
            Column("question"),
            Column("quarter"),
            Column("from", "predicted from"),
            Column("to"),
            Column("prompts"),
            Column("bias", format="+.2f"),
            Column("rmse", "RMSE", "lower", format=".2f"),
            Column("covered", "within 90 % interval", format="%"),
        ]
        rows: list[list[Cell]] = [
            [
                each.predictor,
                each.question,
                part.name,
                part.low,
                part.high,
                part.n,
                part.bias,
                part.rmse,
                part.covered,
            ]
            for each in self.results
            for part in each.quarters
        ]
        return Table(columns, rows, "By quarter of the prediction, the hardest first")

    def _features(self) -> Table:
        columns = [Column("feature"), Column("question")]
        columns += [Column(name, FIGURES[name][0], estimate=True) for name in ("pearson", "kendall")]
        rows: list[list[Cell]] = [
            [name, question, *figures.values()]
            for name, by_question in self.alone.items()
            for question, figures in by_question.items()
        ]
        return Table(columns, rows, "Every feature alone", MOST_FEATURES)

    def _predicted(self) -> Table:
        columns = [Column("prompt"), Column("question")]
        columns += [Column("value", "expected, 90 % interval", estimate=True), Column("because")]
        rows: list[list[Cell]] = [
            [each.prompt, question, expected, _largest(each.effects[question])]
            for each in self.predicted
            for question, expected in each.expected.items()
        ]
        by = " and ".join(dict.fromkeys(self.best_before.values()))
        return Table(columns, rows, f"New prompts by {by}")


@overload
def fit(
    study: Study, question: str | Sequence[str] = ..., *, sees: Literal["answer"], **options: Any
) -> AnswerFit: ...


@overload
def fit(
    study: Study, question: str | Sequence[str] = ..., *, sees: Literal["prompt"] = ..., **options: Any
) -> FitResult: ...


@verb("measure")  # type: ignore[misc]  # `sees` alone decides what comes back: other options are Any there
def fit(
    study: Study,
    question: Annotated[
        str | Sequence[str],
        option(
            "Predict the truth of this question, or the values by this measure of rankings, sets, answers or "
            "images, such as precision@10; of one system by NAME.SYSTEM; repeatable.",
            metavar="QUESTION",
            shown="the first with truth",
        ),
    ] = (),
    *,
    sees: Annotated[
        Literal["prompt", "answer"],
        option("Predict prompts, or single answers from their image and prompt: a learned measure."),
    ] = "prompt",
    target: Annotated[
        str | Sequence[str],
        option("The same as --question: what is predicted.", metavar="QUESTION", shown="none"),
    ] = (),
    predictor: Annotated[
        str | Sequence[str],
        option(
            "Fit this predictor (sightline list predictor); several are compared.",
            "--with",
            metavar="PREDICTOR",
            shown="ridge; answer_ridge for answers",
        ),
    ] = (),
    feature: Annotated[
        str | Sequence[str],
        option(
            "Add this measure of a prompt, such as synset_count, or with --sees answer of an image or an "
            "answer; repeatable.",
            metavar="MEASURE",
        ),
    ] = (),
    rankings: Annotated[
        bool, option("Learn from the rankings of search engines as well, after retrieval.")
    ] = False,
    split: Annotated[
        Literal["folds", "published"], option("Make random folds, or use the prompts' tag `split`.")
    ] = "folds",
    folds: Annotated[int, option("Cross-validate in this many folds.", least=2)] = 5,
    prompt: Annotated[
        str | Sequence[str], option("Predict this new prompt as well; repeatable.", metavar="TEXT")
    ] = (),
    save: Annotated[
        str | Path | None,
        option(
            "Save the best predictor to this .npz file, for predict --model or as the measure "
            "learned(path=FILE).",
            metavar="FILE",
        ),
    ] = None,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> FitResult | AnswerFit:
    """Fit predictors to a study's truth or scores, compare them, and save the best.

    Every prompt is predicted by a model that saw nothing of its truth, nor of the truth of prompts with the
    same words; these predictions are stored. Several questions are learned at once, and a prompt need not
    have the truth of all. A new prompt is predicted by the best predictor as fitted on all prompts; its
    interval covers 90 % of the held-out prompts that were predicted about the same (conformal).

    A target may be any value of a prompt: --target precision@10 predicts how well engines will do on a query,
    --target sharpness what a generator makes of a prompt; the mean over systems, or one system's.

    With --sees answer, what people said of single answers is predicted from image and prompt, never from the
    system. The first figure leaves out prompts and systems together. What is saved is a measure like any
    other: learned(path=FILE).

    \b
    sightline fit my-study --with ridge --with stack --prompt "a red ball"
    sightline fit my-study --save own.npz
    sightline fit my-study --target precision@10 --target precision@10.clip
    sightline fit my-study --sees answer --target quality --save quality.npz
    """
    if save is not None:
        check_model(Path(save))
    asked_for = [*_listed(question), *_listed(target)]
    if sees == "answer":
        if rankings or split != "folds" or prompt:
            raise UsageError(
                "--rankings, --split published and --prompt are about prompts, not about answers",
                remedy="Leave them out, or leave out --sees answer.",
            )
        file = None if save is None else Path(save)
        options = (asked_for, _listed(predictor), _listed(feature))
        return fit_answers(study, *options, folds=folds, save=file, seed=seed, listener=listener)
    new = _listed(prompt)
    chosen = _predictors(_listed(predictor) or [DEFAULT])
    _refuse_prompts(new, chosen, rankings)
    names = list(dict.fromkeys(asked_for)) or [first_settled(study)]
    targets = [target_of(study, name) for name in names]
    if ranked := [str(each.measure) for each in targets if each.measure and _is_ranking(each.measure)]:
        # Stored as well, so that a report finds what was predicted.
        score(study, ranked, listener=listener)
    names = [target.name for target in targets]
    texts, others = _texts(study, targets)
    truth = np.array([[target.truth.get(key, np.nan) for target in targets] for key in texts])
    groups = groups_of(study, texts)
    _settled(targets)
    cut = split_by(split, study, texts, groups, folds, seed)
    _enough(targets, truth, cut)
    measures = prompt_measures(_listed(feature))
    described = Described(study, texts, measures, groups, rankings=rankings, listener=listener)
    bench = Bench(study, targets, list(texts), others, truth, described, cut, seed, listener)
    meter = Meter("fitting predictors", len(chosen) * len(cut.parts), listener)
    held = {each.short: bench.held_out(each, meter) for each in chosen}
    meter.finish()
    results = [
        bench.result(each, number, held[each.short]) for number in range(len(targets)) for each in chosen
    ]
    truths = {target.name: truth[:, number] for number, target in enumerate(targets)}
    predictions = {
        name: {target.name: values[:, number] for number, target in enumerate(targets)}
        for name, values in held.items()
    }
    # Only these can predict a prompt that nobody has answered.
    before = [_best(results, name, before=True) for name in names] if new else []
    saved = None
    if save is not None:
        asked = {target.name: target.question for target in targets}
        saved = save_best(Path(save), results, list(texts.values()), truths, asked, cut.said)
    return FitResult(
        questions=names,
        predictors=list(held),
        prompts=int((cut.fold(len(texts)) >= 0).sum()),
        split=cut,
        results=results,
        differences={
            name: prediction_quality.compare(
                {each: predictions[each][name] for each in held}, truths[name], fold=cut.fold(len(texts))
            )
            for name in names
        },
        best={name: _best(results, name).predictor for name in names},
        predicted=bench.predict(chosen, new, before),
        texts=list(texts.values()),
        truths=truths,
        predictions=predictions,
        features={name: bench.held_features[:, at] for at, name in enumerate(described.names)},
        features_after=described.of_rankings,
        best_before={each.question: each.predictor for each in before},
        remarks=[
            *cut.notes,
            *_one_width(results),
            *_notes(described, others, chosen),
            *_not_kept(study, targets),
        ],
        saved=saved,
        file="" if save is None else str(save),
    )


def _is_ranking(measure: Configured) -> bool:
    return measure.spec.kind == "of_ranking"


def _listed(words: str | Sequence[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _largest(effects: Sequence[tuple[str, float]]) -> str:
    """The three effects that moved a prediction most."""
    return ", ".join(f"{name} {effect:+.2f}" for name, effect in effects[:3])


def first_settled(study: Study) -> str:
    """The first question with truth about prompts."""
    for _, asked in reading.questions(study):
        if not rollup.by_prompt(study, asked.name).is_empty():
            return asked.name
    raise DataError("no question has truth yet", where=study.name, remedy="sightline truth STUDY")


def _predictors(names: Sequence[str]) -> list[Configured]:
    chosen = {each.short: each for each in (registry.configure("predictor", name) for name in names)}
    for each in chosen.values():
        if each.spec.details["sees"] == "answer":
            raise UsageError(f"{each.name} predicts answers, not prompts", remedy="Add --sees answer.")
        each.require()
    return list(chosen.values())


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
        yield f"{len(others):,} prompts without truth were predicted and stored as well."


def _not_kept(study: Study, targets: Sequence[Target]) -> Iterator[str]:
    for target in targets:
        if target.measure is not None and settlement_of(study, target) is None:
            yield f"Predictions of {target.name} are not stored: the study has no truth to keep them with."


def _one_width(results: Sequence[PredictorQuality]) -> list[str]:
    return [ONE_WIDTH] if not all(each.intervals.vary for each in results) else []


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
        if len(target.truth) >= LEAST:
            continue
        what, remedy = "truth", "Judge more prompts, or import published truth."
        if target.measure is not None:
            what = "value"
            remedy = f"Have more prompts answered: sightline score STUDY {target.measure.short}"
        raise DataError(
            f"only {len(target.truth)} prompts have a {what} of {target.name!r}; "
            f"a predictor needs {LEAST} or more",
            remedy=remedy,
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


def _best(results: Sequence[PredictorQuality], question: str, before: bool = False) -> PredictorQuality:
    """The result on a target with the highest Pearson, the first of equals; `before`: of prompts alone."""
    among = [each for each in results if each.question == question and not (before and each.after)]
    return max(among, key=lambda each: each.pearson)
