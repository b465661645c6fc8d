"""Learned measures: what people say of answers, predicted for prompts and systems that were not seen."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import registry
from sightline.encoders.choice import first_loadable
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Estimate, format_cell
from sightline.extension import Configured
from sightline.judging.truth import truth as settle_truth
from sightline.measures.of_answer.learned import FOLDER
from sightline.prediction.answer_examples import BOTH, Answers, answer_measures
from sightline.prediction.bench import prepared_by, stored_encoders
from sightline.prediction.learned_files import LEVELS, save_learned
from sightline.prediction.saving import check_model
from sightline.records import Examples, Question
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.conformal import calibrated
from sightline.statistics.levels import Items, Level, at_levels
from sightline.study import reading
from sightline.study.groups import Part
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.study.writing import settling
from sightline.weights import by_name

Array = NDArray[np.float64]

COVERAGE = 0.9
IMAGE_ENCODERS = ("efficientnet_lite0(stages=(6, 8), views=2)", "colour_layout")
TEXT_ENCODERS = ("sentence", "hashed_words")
"""Best first, on the shared half of ImagenHub: benchmarks/learned.py."""
MEASURES: tuple[str, ...] = ()
"""Measures that the recipe looks at besides the image and the wording."""
MOST_PARTS = 12


@dataclass(frozen=True)
class AnswerQuality:
    """How well a predictor predicts answers that it had not seen, with what was left out together.

    `levels` are those of trust: pooled, within prompts, within and between systems. `error` is the mean
    absolute error and `baseline_error` that of always predicting the mean of the answers learned from.
    """

    predictor: str
    left_out: str
    answers: int
    levels: Mapping[str, Level]
    error: float
    baseline_error: float

    def spearman(self, level: str) -> Estimate:
        """Spearman's rho at a level, or why there is none."""
        found = self.levels.get(level)
        return Estimate(None, reason=f"there is no level {level!r} here") if found is None else found.spearman


@dataclass(frozen=True)
class AnswerFit(Result):
    """How well predictors do on answers to prompts and by systems that they had not seen.

    `results` come predictor by predictor, the figure with prompts and systems left out together first.
    `best` has the highest rank correlation there, and `uncorrected` is its figure with the predictions of
    all models compared as they are; `contributions` are the mean sizes of what each kind of evidence adds to
    its predictions, largest first.
    """

    question: str
    answers: int
    prompts: int
    systems: int
    results: Sequence[AnswerQuality]
    best: str
    contributions: Sequence[tuple[str, float]]
    held_out: Mapping[tuple[str, str], Array] = field(repr=False)
    truth: Array = field(repr=False)
    remarks: Sequence[str] = ()
    file: str = ""
    name: str = ""
    uncorrected: AnswerQuality | None = None

    @property
    def first(self) -> AnswerQuality:
        """The figure that counts, of the best predictor."""
        return next(each for each in self.results if each.predictor == self.best)

    @property
    def figures_of_best(self) -> dict[str, dict[str, Estimate]]:
        """By what was left out together, the rank correlations of the best predictor: what its card shows."""
        own = [each for each in self.results if each.predictor == self.best]
        if self.uncorrected is not None:
            own.insert(1, self.uncorrected)
        return {each.left_out: {level: each.spearman(level) for level in LEVELS} for each in own}

    @property
    def sentence(self) -> str:
        pooled, within = (self.first.spearman(level) for level in LEVELS)
        if pooled.value is None or pooled.low is None or pooled.low <= 0:
            return (
                f"{self.question}: {self.best} does not follow people ({self.first.left_out}); do not use it."
            )
        text = f"{self.question}: {self.best} follows people by {format_cell(pooled)} ({self.first.left_out})"
        if within.value is None:
            return f"{text}."
        return f"{text}, and by {format_cell(within)} among the answers to one prompt."

    @property
    def notes(self) -> Sequence[str]:
        saved = [f"Saved: {self.file} ({self.name}), with its card next to it."] if self.file else []
        return [*self.remarks, *saved]

    @property
    def next(self) -> Sequence[str]:
        if self.file:
            commands = [f"sightline score STUDY {shlex.quote(f'learned(path={self.file})')}"]
            if by_name(FOLDER, self.name).is_file():
                commands.append(f"sightline score STUDY {shlex.quote(f'learned(name={self.name})')}")
            return commands
        return (f"sightline fit STUDY --sees answer --target {self.question} --save FILE.npz",)

    def facts(self) -> dict[str, Any]:
        """The target, what there was to learn from, the best predictor and the file."""
        counts = {"answers": self.answers, "prompts": self.prompts, "systems": self.systems}
        return {"question": self.question, "best": self.best, "file": self.file, "name": self.name, **counts}

    def tables(self) -> dict[str, Table]:
        columns = [Column("predictor"), Column("left_out", "left out together"), Column("answers")]
        columns += [
            Column("pooled", "SRoCC, pooled", "higher", estimate=True),
            Column("within", "SRoCC, within prompts", "higher", estimate=True),
            Column("plcc", "Pearson, pooled", "higher", estimate=True),
            Column("error", "mean error", "lower"),
            Column("baseline_error", "of the mean", "lower"),
        ]
        rows: list[list[Cell]] = [
            [each.predictor, each.left_out, each.answers,
             *(each.spearman(level) for level in LEVELS),
             each.levels["pooled"].plcc, each.error, each.baseline_error]
            for each in self.results
        ]  # fmt: skip
        parts: list[list[Cell]] = [[name, size] for name, size in self.contributions]
        counts = f"{self.answers:,} answers to {self.prompts:,} prompts by {self.systems:,} systems"
        return {
            "quality": Table(columns, rows, f"{self.question} of {counts}, held out; 95 % intervals"),
            "contributions": Table(
                [Column("evidence"), Column("size", "mean size of what it adds")],
                parts, f"What {self.best} goes by", MOST_PARTS,
            ),
        }  # fmt: skip


def fit_answers(
    study: Study,
    questions: Sequence[str],
    predictors: Sequence[str],
    features: Sequence[str],
    *,
    folds: int = 5,
    save: Path | None = None,
    seed: int = 0,
    listener: Listener | None = None,
) -> AnswerFit:
    """Fit predictors to what people said of answers; the system that gave an answer is never seen."""
    question = _one(study, questions)
    measures = answer_measures([*MEASURES, *features])
    remarks = _settled(study, question)
    asked = reading.question(study, question)[1]
    given = Answers.read(study, question)
    specs, stand_ins = _named(predictors) if predictors else recipe()
    chosen = {each.short: each for each in specs}
    x = given.examples(study, measures, listener)
    designs = given.designs(folds, seed)
    bench = AnswerBench(study, given, x)
    total = len(chosen) * sum(len(parts) for parts in designs.values())
    meter = Meter("fitting predictors", total, listener)
    results, held, uncorrected = [], {}, {}
    for name, each in chosen.items():
        for left_out, parts in designs.items():
            guess, as_said = bench.held_out(each, parts, meter)
            held[name, left_out] = guess
            results.append(_quality(name, left_out, guess, given, parts))
            if left_out == BOTH:
                uncorrected[name] = _quality(name, f"{BOTH}, without the correction", as_said, given, parts)
            _keep(study, each, given, asked, left_out, folds, seed, guess, parts)
    meter.finish()
    first = next(iter(designs))
    rho = {each.predictor: _rho(each) for each in results if each.left_out == first}
    best = max(rho, key=lambda name: rho[name])
    model = bench.whole(chosen[best])
    found = AnswerFit(
        question, len(given), int(np.unique(given.prompt).size), int(np.unique(given.system).size), results,
        best, _contributions(model.explain(x)), held, given.truth,
        [*remarks, *stand_ins, *given.remarks(designs)], uncorrected=uncorrected.get(best),
    )  # fmt: skip
    if save is None:
        return found
    check_model(save)
    about = {
        "predictor": best,
        **{name: getattr(found, name) for name in ("answers", "prompts", "systems")},
        "contributions": dict(found.contributions[:MOST_PARTS]),
    }
    intervals = calibrated(held[best, first], given.truth, coverage=COVERAGE)
    name = save_learned(save, chosen[best], measures, model, intervals, asked, found.figures_of_best, about)
    return replace(found, file=str(save), name=name)


class AnswerBench:
    """Where predictors are fitted to some answers and predict others."""

    def __init__(self, study: Study, given: Answers, x: Examples) -> None:
        self._study = study
        self._truth = given.truth[:, None]
        self._x = x
        self._prepared: dict[str, tuple[dict[str, Any], Examples]] = {}

    def _ready(self, chosen: Configured) -> tuple[dict[str, Any], Examples]:
        if chosen.short not in self._prepared:
            encoders = stored_encoders(self._study, chosen)
            self._prepared[chosen.short] = encoders, prepared_by(chosen.load(encoders), self._x)
        return self._prepared[chosen.short]

    def held_out(self, chosen: Configured, parts: Sequence[Part], meter: Meter) -> tuple[Array, Array]:
        """Every answer by a model that did not see it, relative to what that model usually says; and as is.

        A model that learned without the best system expects less of everything. Left in, that shift would
        count against every predictor: one that knows nothing would seem to know the opposite.
        """
        encoders, x = self._ready(chosen)
        held, plain = np.full((2, len(self._truth)), np.nan)
        usual = []
        for part in parts:
            model = chosen.load(encoders).fit(x.take(part.learn), self._truth[part.learn])
            usual.append(float(model.predict(x.take(part.learn))[:, 0].mean()))
            plain[part.guess] = model.predict(x.take(part.guess))[:, 0]
            held[part.guess] = plain[part.guess] - usual[-1]
            meter.add(computed=1)
        held += float(np.mean(usual))
        if not np.isfinite(held).all():
            raise DataError(f"{chosen.name} gave predictions that are not finite")
        return held, plain

    def whole(self, chosen: Configured) -> Any:
        """A predictor fitted to all answers."""
        encoders, x = self._ready(chosen)
        return chosen.load(encoders).fit(x, self._truth)


def _one(study: Study, questions: Sequence[str]) -> str:
    names = list(dict.fromkeys(questions))
    if len(names) > 1:
        raise UsageError(
            "a learned measure has one target", remedy="Fit each question on its own, to a file of its own."
        )
    if names:
        return reading.question(study, names[0])[1].name
    every = [asked.name for _, asked in reading.questions(study)]
    if not every:
        raise DataError("the study has no question", where=study.name, remedy="Import judgements or truth.")
    return every[0]


def _settled(study: Study, question: str) -> list[str]:
    """Have the question's judgements aggregated if nobody did so yet."""
    if reading.newest_settlement(study, question) is not None:
        return []
    found = settle_truth(study, question)
    return [
        f"The judgements of {each.question} were aggregated first, by {each.rule}."
        for each in found.questions
    ]


def recipe() -> tuple[list[Configured], list[str]]:
    """The predictor that did best on ImagenHub, with the best encoders here, and what they stand in for."""
    image, text = first_loadable(IMAGE_ENCODERS, "image"), first_loadable(TEXT_ENCODERS, "text")
    made = registry.configure(
        "predictor", "answer_ridge", image_encoder=image.encoder, text_encoder=text.encoder
    )
    notes = [
        f"{each.encoder.short} is used: {each.instead}. Install it for a better measure."
        for each in (image, text)
        if each.instead
    ]
    return [made], notes


def _named(predictors: Sequence[str]) -> tuple[list[Configured], list[str]]:
    chosen = [registry.configure("predictor", each) for each in predictors]
    for each in chosen:
        if each.spec.details["sees"] == "images":
            raise UsageError(
                f"{each.name} predicts prompts from their images, not answers",
                remedy="Choose one that sees answers or prompts: sightline list predictor",
            )
        each.require()
    return chosen, []


def _quality(name: str, left_out: str, guess: Array, given: Answers, parts: Sequence[Part]) -> AnswerQuality:
    rounded = np.round(guess, 9)  # answers that a model of words alone predicts alike are tied
    items = Items(rounded, guess, given.truth, given.prompt, given.group, given.system)
    mean = np.full(len(given), np.nan)
    for part in parts:
        mean[part.guess] = given.truth[part.learn].mean()
    return AnswerQuality(
        name, left_out, len(given), at_levels(items, sign=1.0).levels,
        float(np.abs(guess - given.truth).mean()), float(np.abs(mean - given.truth).mean()),
    )  # fmt: skip


def _rho(quality: AnswerQuality) -> float:
    value = quality.spearman("pooled").value
    return -np.inf if value is None else value


def _contributions(reasons: Sequence[Mapping[str, float]]) -> list[tuple[str, float]]:
    sizes: dict[str, float] = {}
    for each in reasons:
        for name, part in each.items():
            if name != "base":
                sizes[name] = sizes.get(name, 0.0) + abs(part) / len(reasons)
    return sorted(((name, size) for name, size in sizes.items() if size > 0), key=lambda part: -part[1])


def _keep(
    study: Study,
    chosen: Configured,
    given: Answers,
    asked: Question,
    left_out: str,
    folds: int,
    seed: int,
    guess: Array,
    parts: Sequence[Part],
) -> None:
    """Store the held-out prediction of every answer."""
    settlement = reading.newest_settlement(study, asked.name)
    assert settlement is not None
    low, high = calibrated(guess, given.truth, coverage=COVERAGE).around(guess)
    fold = np.zeros(len(given), dtype=np.int64)
    for number, part in enumerate(parts):
        fold[part.guess] = number
    ends = [
        (a, b) if np.isfinite(a) and np.isfinite(b) else (None, None) for a, b in zip(low, high, strict=True)
    ]
    keys = given.frame.select("prompt_id", "system_id", "image_id").iter_rows()
    rows = [
        (*key, part, value, *both, None)
        for key, part, value, both in zip(keys, fold.tolist(), guess.tolist(), ends, strict=True)
    ]
    learned_from = repr((given.frame["sha256"].to_list(), given.truth.tolist()))
    # Under a name of its own: predictions of prompts by the same predictor stay the newest of theirs.
    settling.keep_predictions(
        study, f"{chosen} of answers, {left_out}", settlement, f"{folds}-fold, {left_out}",
        hashlib.sha256(learned_from.encode()).hexdigest(), seed, rows,
    )  # fmt: skip
