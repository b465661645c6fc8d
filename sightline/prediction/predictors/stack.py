"""The supervised combination of predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline.errors import UsageError
from sightline.extension import needs, predictor
from sightline.prediction.predictors._latent import latent_of, scaled
from sightline.prediction.predictors._parts import (
    Array,
    Predictor,
    left_out,
    marks,
    penalised,
    predict_out_of_fold,
    prepared,
    settled_columns,
)
from sightline.records import Examples
from sightline.statistics.folds import grouped_k_fold

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
PLACES = ("first", "second", "third", "fourth", "fifth")


@predictor(sees="prompt", source="Wolpert 1992; Breiman and Friedman 1997", licence="Apache-2.0")
class stack:
    """Five predictors combined by what each was worth on examples that it had not seen.

    Each part predicts every example as learned from the other of `folds` folds (prompts of the same words
    stay together, drawn with `seed`); a ridge regression with that of `penalties` which has the least
    leave-one-out error weighs these predictions, and the parts are fitted once more on all examples. With
    `shared`, what the parts say of every target helps with each target, so that targets learn from each
    other. The parts are `first`, `second`, `third`, `fourth` and `fifth`; the predictor mean leaves a place
    empty, and a stack may be a part. A target with too few settled values to be cut into folds gets the plain
    mean of the parts.
    """

    def __init__(
        self,
        *,
        first: Predictor = needs("predictor", "linear"),
        second: Predictor = needs("predictor", "trees"),
        third: Predictor = needs("predictor", "tfidf_ridge"),
        fourth: Predictor = needs("predictor", "kernel_ridge"),
        fifth: Predictor = needs("predictor", "mean"),
        folds: int = 5,
        shared: bool = True,
        penalties: tuple[float, ...] = PENALTIES,
        seed: int = 0,
    ) -> None:
        if folds < 2:
            raise UsageError(f"stack: {folds} folds hold nothing out", remedy="At least 2, usually 5.")
        self._parts = dict(zip(PLACES, (first, second, third, fourth, fifth), strict=True))
        self._folds = folds
        self._shared = shared
        self._penalties = penalties
        self._seed = seed
        # Of every part's say (targets of a part) in every target: parts x targets x targets.
        self._weights = np.zeros((0, 0, 0))
        self._base = np.zeros(0)
        self.held_out = np.zeros((0, 0))
        self.fold = np.zeros(0, dtype=np.int64)
        """What was said of the examples learned from, each part not having seen them; NaN where untold."""

    def prepare(self, x: Examples) -> Examples:
        for part in self._parts.values():
            x = prepared(part, x)
        return x

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        truth = np.asarray(truth, dtype=np.float64)
        list(settled_columns(truth))
        x = self.prepare(x)
        targets = truth.shape[1]
        self._weights = np.zeros((len(PLACES), targets, targets))
        self._base = np.zeros(targets)
        self.held_out = np.full(truth.shape, np.nan)
        self.fold = fold = self._cut(x)
        rich = _everywhere(truth, fold)
        for target in set(range(targets)) - set(rich):
            self._weights[:, target, target] = 1 / len(PLACES)
        if rich:
            said = np.stack(
                [predict_out_of_fold(part, x, truth[:, rich], fold) for part in self._parts.values()]
            )
            self._weigh(said, truth[:, rich], rich)
        for part in self._parts.values():
            part.fit(x, truth)
        return self

    def _cut(self, x: Examples) -> np.ndarray:
        words = np.array([" ".join(prompt.text.lower().split()) for prompt in x.prompts])
        different = len(np.unique(words))
        if different < 2:
            return np.zeros(len(x), dtype=np.int64)
        return grouped_k_fold(words, min(self._folds, different), seed=self._seed)

    def _weigh(self, said: Array, truth: Array, rich: Sequence[int]) -> None:
        """Regress each target on what the parts said out of fold, of all targets or of this one."""
        for number, target in enumerate(rich):
            used = list(range(len(rich))) if self._shared else [number]
            columns = said[:, :, used].transpose(1, 0, 2).reshape(len(truth), -1)
            spread = columns.std(axis=0)
            # A part that says nearly the same of all would have its rounding blown up.
            scale = np.where(spread > 1e-6 * np.abs(columns).max(initial=1e-300), spread, np.inf)
            line = penalised(columns / scale, truth[:, [number]], self._penalties)
            weights = (line.weights[:, 0] / scale).reshape(len(PLACES), len(used))
            self._weights[:, [rich[each] for each in used], target] = weights
            self._base[target] = line.base[0]
            self.held_out[:, target] = left_out(columns / scale, truth[:, [number]], line)[:, 0]

    def predict(self, x: Examples) -> np.ndarray:
        x = self.prepare(x)
        made = np.tile(self._base, (len(x), 1))
        for part, weights in zip(self._parts.values(), self._weights, strict=True):
            made += part.predict(x) @ weights
        return made

    def latent(self, x: Examples) -> np.ndarray:
        """The parts' own spaces next to each other, each as wide as what the part adds varies."""
        x = self.prepare(x)
        blocks = []
        for part, weights in zip(self._parts.values(), self._weights, strict=True):
            adds = part.predict(x) @ weights
            if weights.any() and adds.std(axis=0).any():
                blocks.append(scaled(latent_of(part, x), float(np.linalg.norm(adds.std(axis=0)))))
        return np.hstack(blocks) if blocks else np.zeros((len(x), 1))

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each part's reasons add to the base, as `third: word cat`; together the prediction."""
        x = self.prepare(x)
        ends = marks(len(self._base))
        reasons_by_row = [
            {f"base{end}": float(base) for end, base in zip(ends, self._base, strict=True)} for _ in x.prompts
        ]
        for (name, part), weights in zip(self._parts.items(), self._weights, strict=True):
            if not weights.any():
                continue
            for each, reasons in zip(reasons_by_row, part.explain(x), strict=True):
                _add(each, name, reasons, weights, ends)
        return reasons_by_row

    def state(self) -> dict[str, np.ndarray]:
        inside = {
            f"{name}.{key}": array
            for name, part in self._parts.items()
            for key, array in part.state().items()
        }
        return {"weights": self._weights.copy(), "base": self._base.copy(), **inside}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._weights = np.array(state["weights"], dtype=np.float64)
        self._base = np.array(state["base"], dtype=np.float64)
        for name, part in self._parts.items():
            own = {key.removeprefix(f"{name}."): state[key] for key in state if key.startswith(f"{name}.")}
            part.restore(own)
        return self


def _everywhere(truth: Array, fold: np.ndarray) -> list[int]:
    """The targets that have a settled value outside every fold."""
    settled = np.isfinite(truth)
    numbers = np.unique(fold)
    return [
        target
        for target in range(truth.shape[1])
        if len(numbers) > 1 and all(settled[fold != number, target].any() for number in numbers)
    ]


def _add(
    sums: dict[str, float],
    name: str,
    reasons: Mapping[str, float],
    weights: np.ndarray,
    ends: Sequence[str],
) -> None:
    """Add a part's reasons, each of one of its targets, to what they mean for every target."""
    for key, reason in reasons.items():
        own = key.rpartition("[")[2].removesuffix("]") if len(ends) > 1 else "0"
        plain = key.rpartition("[")[0] if len(ends) > 1 else key
        for end, weight in zip(ends, weights[int(own)], strict=True):
            # Where a part starts from is no reason of its own.
            full = f"base{end}" if plain == "base" else f"{name}: {plain}{end}"
            if weight:
                sums[full] = sums.get(full, 0.0) + float(reason * weight)
