"""A measure that was learned from a study's own people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sightline import registry
from sightline.arrays import content_hash, load_arrays, unpacked
from sightline.errors import DataError, SightlineError, UsageError
from sightline.extension import Configured, NoValue, Picture, Value, Values, measure, needs
from sightline.records import Examples, Prompt
from sightline.statistics.conformal import Intervals
from sightline.weights import by_name

FORMAT = 1
FOLDER, DIGITS = "learned", 16
"""Where learned measures are kept by name, and how many digits of the content's sha256 end the name."""
WRITTEN = "One that sightline fit STUDY --sees answer --target QUESTION --save FILE wrote."
MOST_REASONS = 5


def _recipe(given: Mapping[str, Any]) -> dict[str, str]:
    """The predictor that a learned measure was fitted with, as its file says."""
    try:
        if given.get("path") or given.get("name"):
            return {"model": _described(*_file(given.get("path", ""), given.get("name", "")))["recipe"]}
    except SightlineError:
        # What is wrong with the file is said when it is used.
        pass
    return {}


@measure.of_answer(
    direction="higher",
    source="Li et al. 2023 (AGIQA-3K): regression from features to opinion scores",
    licence="Apache-2.0; that of what it was learned from applies to a file",
    content_of=("path",),
    filled_by=_recipe,
    parallel=False,
)
def learned(
    prompts: Sequence[Prompt],
    images: Sequence[Picture],
    *,
    path: str = "",
    name: str = "",
    model: Any = needs("predictor", "mean"),
) -> Values:
    """What people would say of an answer, by a model that was fitted to a study's own truth.

    `path` is a file that fitting with --sees answer --save wrote; its content, not its name, identifies the
    measure. `name` is that of one that was fitted on this machine, as fitting printed it: one of the two is
    enough. `model` is the predictor in the file, which the file itself says. Values are on the scale of the
    question it was fitted to, negative where lower is better there. The evidence holds the interval
    that covered 90 % of held-out answers, and what contributed most.
    """
    if not path and not name:
        reason = "learned needs a fitted model: learned(path='FILE.npz') or learned(name=NAME)"
        return [NoValue(reason)] * len(prompts)
    if not prompts:
        return []
    return _predictions(_read(*_file(path, name), model), prompts, images)


def _predictions(model: LearnedModel, prompts: Sequence[Prompt], images: Sequence[Picture]) -> Values:
    x = model.examples(prompts, images)
    values = model.predictor.predict(x)[:, 0]
    low, high = model.intervals.around(values)
    sign = -1.0 if model.direction == "lower" else 1.0
    made: list[Value | NoValue] = []
    for prompt, value, *ends, reasons in zip(
        prompts, values, low, high, model.predictor.explain(x), strict=True
    ):
        if not prompt.text.strip():
            made.append(NoValue("the prompt is empty"))
            continue
        evidence: dict[str, Any] = {"question": model.question, "because": _largest(reasons)}
        if np.isfinite(ends).all():
            evidence["interval"] = [model.on_scale(float(end)) for end in ends]
        made.append(Value(sign * model.on_scale(float(value)), evidence))
    return made


@dataclass(frozen=True)
class LearnedModel:
    """A fitted predictor of answers with all that it needs to see them, and its card."""

    predictor: Any
    measures: Sequence[Configured]
    intervals: Intervals
    question: str
    direction: str
    low: float | None
    high: float | None
    about: Mapping[str, Any]

    def examples(self, prompts: Sequence[Prompt], images: Sequence[Picture]) -> Examples:
        """Answers as the predictor sees them: their measures, prompts and pictures, and no system."""
        columns = []
        for each in self.measures:
            given = {"of_prompt": (prompts,), "of_image": (images,), "of_answer": (prompts, images)}
            columns.append([_number(value) for value in each.load()(*given[each.spec.kind])])
        features = np.array(columns, dtype=np.float64).T.reshape(len(prompts), len(columns))
        names = [each.short for each in self.measures]
        x = Examples(list(prompts), features, names, [[image] for image in images])
        # Encoded once, for the prediction and for its reasons.
        prepare = getattr(self.predictor, "prepare", None)
        return x if prepare is None else prepare(x)

    def on_scale(self, value: float) -> float:
        """A value within the ends of the question's scale: a regression knows none."""
        low = -np.inf if self.low is None else self.low
        return float(np.clip(value, low, np.inf if self.high is None else self.high))


def load_learned(path: str | Path) -> LearnedModel:
    """The model in a file; what it needs and is not installed is an error that says how to install it."""
    file = str(path), content_hash(path)
    chosen = registry.configure("predictor", _described(*file)["recipe"])
    chosen.require()
    return _read(*file, chosen.load())


def _file(path: str, name: str) -> tuple[str, str | None]:
    """The file of a learned measure and the hash of its content, in which a name must end."""
    if path:
        return path, content_hash(path)
    file = by_name(FOLDER, name)
    content = content_hash(file)
    if content is None:
        raise UsageError(
            f"there is no learned measure {name} on this machine",
            remedy="Give its file, learned(path='FILE.npz'), or fit it: sightline fit STUDY --sees answer "
            "--target QUESTION --save FILE.npz",
        )
    if not file.stem.endswith(content[:DIGITS]):
        raise DataError(
            f"the name of a learned measure ends in the hash of its content, here {content[:DIGITS]}",
            where=str(file),
            remedy="Take the file that the fit wrote.",
        )
    return str(file), content


@lru_cache(maxsize=16)
def _described(path: str, content: str | None) -> Mapping[str, Any]:
    """What a file says of itself, once it is known to be a learned measure that can be read."""
    description, _ = load_arrays(Path(path), "a learned measure", WRITTEN)
    if description.get("sees") != "answer":
        raise DataError("this is not a learned measure of answers", where=path, remedy=WRITTEN)
    if description.get("format") != FORMAT:
        raise DataError(
            f"this learned measure has format {description.get('format')}, and this version of Sightline "
            f"reads {FORMAT}",
            where=path,
            remedy="Fit it again, or use the version of Sightline that wrote it.",
        )
    try:
        for each in description["measures"]:
            registry.find_measure(each)
        registry.configure("predictor", description["recipe"])
    except KeyError:
        raise DataError("this is not a learned measure", where=path, remedy=WRITTEN) from None
    except UsageError as error:
        raise DataError(
            f"it needs what is not here: {error.what}", where=path, remedy="Install it, or fit again."
        ) from None
    return description


@lru_cache(maxsize=4)
def _read(path: str, content: str | None, predictor: Any) -> LearnedModel:
    """The model in a file, restored into a predictor that holds the encoders to use."""
    description = _described(path, content)
    _, arrays = load_arrays(Path(path), "a learned measure", WRITTEN)
    measures = [registry.find_measure(each) for each in description["measures"]]
    for each in measures:
        each.require()
    try:
        return LearnedModel(
            predictor.restore(unpacked(arrays, "model/")), measures,
            Intervals.restored(description["intervals"]), str(description["question"]["name"]),
            str(description["question"]["direction"]), description["question"]["low"],
            description["question"]["high"], dict(description["about"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError("this learned measure is damaged", where=path, remedy=WRITTEN) from None


def _number(value: float | Value | NoValue) -> float:
    if isinstance(value, NoValue):
        return np.nan
    return float(value.value if isinstance(value, Value) else value)


def _largest(reasons: Mapping[str, float]) -> dict[str, float]:
    """The contributions that moved a prediction most away from the base."""
    parts = [(name, round(part, 4)) for name, part in reasons.items() if name != "base"]
    return dict(sorted(parts, key=lambda part: -abs(part[1]))[:MOST_REASONS])
