"""Fitted predictors as files of plain arrays: fitted once, saved, and used at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import registry
from sightline.arrays import load_arrays, packed, save_arrays, unpacked
from sightline.errors import DataError, UsageError, near
from sightline.language.prompt_features import has_number
from sightline.language.term_statistics import STATISTICS, TermStatistics
from sightline.records import Examples, NoValue, Prompt, PromptKey, Value
from sightline.statistics.conformal import Intervals, calibrated

Array = NDArray[np.float64]
FORMAT = 2
COVERAGE = 0.9
MEASURES = (
    "word_count",
    "characters",
    "mean_word_length",
    "acronym_rate",
    "numeral_rate",
    "conjunction_rate",
    "preposition_rate",
)
"""Features of a prompt that the recipes look at besides how common its words are."""
RECIPES: Mapping[str, str] = {
    "small": "stack(first=tfidf_ridge,second=trees,third=linear,fourth=mean,fifth=mean)",
    "medium": (
        "stack(first=tfidf_ridge,second=trees,fourth=mean,fifth=mean,shared=False,"
        "third=quadratic(encoder=concat(first=sentence,second=minilm_layers)))"
    ),
    "large": (
        "stack(first=tfidf_ridge,second=trees,fourth=mean,fifth=mean,shared=False,third=quadratic(encoder="
        "concat(first=minilm_layers(layers=(6,)),second=mpnet_layers)))"
    ),
}
"""What each tier is made of, chosen by cross-validation on the training and validation rows of PQPP."""
WRITTEN = "One that sightline fit --save wrote."
KIND = "a fitted predictor"


@dataclass(frozen=True)
class Fitted:
    """A predictor with what it learned, and how far off it was on prompts it had not seen.

    `intervals` are by target those that hold for `coverage` of the prompts held out, by predicted value, and
    on their own for prompts with a number (`numbered`).
    `about` is whatever is worth knowing: who the data is by, how many prompts, how good it was.
    """

    recipe: str
    targets: Sequence[str]
    model: Any
    terms: TermStatistics
    intervals: Sequence[Intervals]
    measures: Sequence[str] = MEASURES
    coverage: float = COVERAGE
    about: Mapping[str, Any] = field(default_factory=dict)

    def values(self, texts: Sequence[str]) -> Array:
        """One row per text, one column per target."""
        if not texts:
            return np.zeros((0, len(self.targets)))
        return np.asarray(self.model.predict(described(texts, self.measures, self.terms)))

    def latent(self, texts: Sequence[str]) -> Array:
        """Where the model places texts: one row each, those near each other are alike to it."""
        return np.asarray(self.model.latent(described(texts, self.measures, self.terms)))

    def limits(self, texts: Sequence[str], values: Array) -> tuple[Array, Array]:
        """Both ends of the interval of every value of these texts."""
        group = numbered(texts)
        both = [each.around(column, group) for each, column in zip(self.intervals, values.T, strict=True)]
        low, high = np.array(both).reshape(len(both), 2, len(texts)).transpose(1, 2, 0)
        return low, high


def fit(
    recipe: str,
    texts: Sequence[str],
    truth: np.ndarray,
    *,
    targets: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
) -> Fitted:
    """Fit the recipe of a tier, or any predictor, to texts and their truth, one column per target.

    Intervals are calibrated on the held-out predictions of a stack's parts; a predictor that is no stack is
    fitted as the only part of one.
    """
    chosen = registry.configure("predictor", RECIPES.get(recipe, recipe))
    if chosen.name != "stack":
        alone = f"stack(first={chosen},second=mean,third=mean,fourth=mean,fifth=mean)"
        chosen = registry.configure("predictor", alone)
    truth = np.asarray(truth, dtype=np.float64)
    if truth.ndim != 2 or len(truth) != len(texts):
        raise UsageError(
            f"{len(texts)} texts, but truth of shape {truth.shape}",
            remedy="One row per text, one column per target.",
        )
    names = list(targets) or [f"target {number}" for number in range(truth.shape[1])]
    terms = TermStatistics(texts)
    model = chosen.load().fit(described(texts, MEASURES, terms, learned_from=True), truth)
    # With every parameter spelled out: a default that changes must not change what was fitted.
    intervals = intervals_of(model.held_out, truth, texts)
    return Fitted(str(chosen), names, model, terms, intervals, about=about or {})


def intervals_of(held: Array, truth: Array, texts: Sequence[str]) -> list[Intervals]:
    """The intervals of every target, from held-out predictions with truth."""
    group = numbered(texts)
    made = []
    for guess, true in zip(held.T, truth.T, strict=True):
        known = np.isfinite(guess) & np.isfinite(true)
        made.append(calibrated(guess[known], true[known], group[known], coverage=COVERAGE))
    return made


def numbered(texts: Sequence[str]) -> NDArray[np.int64]:
    """1 for a text that names a number, which generators get wrong more often than its prediction says."""
    return np.array([has_number(text) for text in texts], dtype=np.int64)


def described(
    texts: Sequence[str], measures: Sequence[str], terms: TermStatistics, *, learned_from: bool = False
) -> Examples:
    """Texts as what predictors look at: these measures, and how common the words are."""
    records = [Prompt(PromptKey("new", str(number)), text) for number, text in enumerate(texts)]
    columns = []
    for name in measures:
        found = registry.configure("of_prompt", name).load()(records)
        columns.append([_number(value) for value in found])
    own = np.array(columns, dtype=np.float64).T.reshape(len(records), len(columns))
    counted = terms.table(texts, learned_from=learned_from)
    return Examples(records, np.hstack([own, counted]), [*measures, *STATISTICS])


def save(path: Path, fitted: Fitted) -> None:
    """Write the arrays and a description to a file that holds nothing that could run."""
    description = {
        "format": FORMAT,
        "recipe": fitted.recipe,
        "targets": list(fitted.targets),
        "intervals": [each.state() for each in fitted.intervals],
        "measures": list(fitted.measures),
        "coverage": fitted.coverage,
        "about": dict(fitted.about),
    }
    arrays = {f"terms/{name}": array for name, array in fitted.terms.state().items()}
    for name, array in fitted.model.state().items():
        arrays |= packed(f"model/{name}", np.asarray(array))
    save_arrays(path, description, arrays)


def load(path: Path) -> Fitted:
    """The fitted predictor that a file holds; what it needs and is not installed is an error that says so.

    A file that was read before is not read again while it is unchanged.
    """
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _loaded(path.resolve(), changed)


@lru_cache(maxsize=8)
def _loaded(path: Path, changed: int) -> Fitted:
    description, arrays = load_arrays(path, KIND, WRITTEN)
    number = description.get("format")
    if description.get("sees", "prompt") != "prompt":
        raise DataError(
            "this is a learned measure of answers, not a predictor of prompts",
            where=str(path),
            remedy=f"sightline score STUDY \"learned(path='{path}')\"",
        )
    if number == FORMAT:
        try:
            return _made(description, arrays)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(f"this is not {KIND}", where=str(path), remedy=WRITTEN) from None
    raise DataError(
        f"this fitted predictor has format {number}, and this version of Sightline reads {FORMAT}",
        where=str(path),
        remedy="Fit it again, or use the version of Sightline that wrote it.",
    )


def _made(description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Fitted:
    terms = {
        name.removeprefix("terms/"): array for name, array in arrays.items() if name.startswith("terms/")
    }
    intervals = [Intervals.restored(each) for each in description["intervals"]]
    model = registry.configure("predictor", description["recipe"]).load().restore(unpacked(arrays, "model/"))
    found = Fitted(
        description["recipe"],
        list(description["targets"]),
        model,
        TermStatistics.restored(terms),
        intervals,
        list(description["measures"]),
        float(description["coverage"]),
        dict(description["about"]),
    )
    if not len(found.targets) == len(intervals) == found.values(["a word"]).shape[1]:
        raise ValueError("targets, intervals and what is predicted differ in number")
    return found


def recipe_of(tier: str) -> str:
    """The recipe of a tier, or an error that suggests similar names."""
    if tier not in RECIPES:
        raise UsageError(f"there is no tier {tier!r}", remedy=near(tier, list(RECIPES)))
    return RECIPES[tier]


def _number(value: float | Value | NoValue) -> float:
    if isinstance(value, NoValue):
        return np.nan
    return float(value.value if isinstance(value, Value) else value)
