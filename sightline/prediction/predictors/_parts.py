"""What predictors share: penalised least squares, standardised features, encoded wording, explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.extension import TextEncoder
from sightline.records import Examples

Array = NDArray[np.float64]
FEWEST = 3
"""With fewer settled values than this there is no slope to learn, only a mean."""


class Predictor(Protocol):
    """Learns truth from examples. Truth is handed to `fit` alone, so no other truth can be learned from."""

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        """Learn from scratch; whatever was learned before is forgotten."""

    def predict(self, x: Examples) -> np.ndarray:
        """One row per example, one column per target."""

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What adds up to each prediction, by name; with several targets each name ends in [target]."""

    def state(self) -> dict[str, np.ndarray]:
        """All that was learned, as plain arrays."""

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        """The model that gave this state."""


class Linear(NamedTuple):
    """Weights (inputs x targets), a base a target, and the penalty that each target chose."""

    weights: Array
    base: Array
    penalty: Array


def settled_columns(truth: np.ndarray) -> Iterator[tuple[NDArray[np.bool_], list[int]]]:
    """Targets that are settled for the same rows, together; a target without any is an error."""
    settled = np.isfinite(truth)
    if not settled.shape[1] or not settled.any(axis=0).all():
        raise DataError("a target has no settled value to learn from")
    together: dict[bytes, list[int]] = {}
    for target in range(settled.shape[1]):
        together.setdefault(settled[:, target].tobytes(), []).append(target)
    for targets in together.values():
        yield settled[:, targets[0]], targets


def penalised(inputs: np.ndarray, truth: np.ndarray, penalties: Sequence[float]) -> Linear:
    """Ridge regression of every target at once, each with the penalty of least leave-one-out error.

    With X and y centred and X'X = V diag(l) V', the weights are V (V'X'y / (l + a)), and the error of a row
    left out is its residual / (1 - h), h = 1/n + sum_j (XV)_ij^2 / (l_j + a): one decomposition serves all
    penalties a and all targets that are settled for the same rows.
    Source: D. M. Allen, The relationship between variable selection and data augmentation (1974).
    """
    weights = np.zeros((inputs.shape[1], truth.shape[1]))
    base, chosen = np.zeros(truth.shape[1]), np.full(truth.shape[1], np.inf)
    for rows, targets in settled_columns(truth):
        x, y = np.asarray(inputs[rows], dtype=np.float64), truth[rows][:, targets]
        centre, mean = x.mean(axis=0), y.mean(axis=0)
        base[targets] = mean
        varied = np.ptp(y, axis=0) > 0
        if len(x) < FEWEST or not inputs.shape[1] or not varied.any():
            continue
        learned = [target for target, varies in zip(targets, varied, strict=True) if varies]
        weights[:, learned], chosen[learned] = _path(x - centre, (y - mean)[:, varied], penalties)
        base[learned] -= centre @ weights[:, learned]
    return Linear(weights, base, chosen)


def left_out(inputs: np.ndarray, truth: np.ndarray, line: Linear) -> Array:
    """What `penalised` would say of each row had it not seen its truth, the penalties being as chosen.

    A row whose truth is not settled was not learned from, and is predicted as any other.
    """
    made = inputs @ line.weights + line.base
    for rows, targets in settled_columns(truth):
        x = np.asarray(inputs[rows], dtype=np.float64)
        x = x - x.mean(axis=0)
        for target in targets:
            leverage = np.full(len(x), 1 / len(x))
            if np.isfinite(line.penalty[target]) and x.shape[1]:
                damped = x.T @ x + line.penalty[target] * np.eye(x.shape[1])
                leverage += (x * np.linalg.solve(damped, x.T).T).sum(axis=1)
            residual = truth[rows, target] - made[rows, target]
            made[rows, target] = truth[rows, target] - residual / np.maximum(1 - leverage, 1e-9)
    return np.asarray(made)


def _path(x: Array, y: Array, penalties: Sequence[float]) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(x.T @ x)
    values = np.maximum(values, 0)
    turned = x @ vectors
    along = turned.T @ y
    best = np.full(y.shape[1], np.inf)
    weights, chosen = np.zeros((x.shape[1], y.shape[1])), np.full(y.shape[1], np.inf)
    for penalty in penalties:
        shrunk = along / (values + penalty)[:, None]
        leverage = 1 / len(x) + turned**2 @ (1 / (values + penalty))
        # A row that the others say nothing about has leverage 1 and no error of its own.
        left_out = (y - turned @ shrunk) / np.maximum(1 - leverage, 1e-9)[:, None]
        error = (left_out**2).sum(axis=0)
        better = error < best
        best[better], chosen[better] = error[better], penalty
        weights[:, better] = vectors @ shrunk[:, better]
    return weights, chosen


class Learned:
    """Keeps all that it learned in the arrays that LEARNED names."""

    LEARNED: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, np.ndarray]:
        return {name: np.array(getattr(self, f"_{name}")) for name in self.LEARNED}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        for name in self.LEARNED:
            kind = np.asarray(getattr(self, f"_{name}")).dtype
            setattr(self, f"_{name}", np.array(state[name], dtype=kind))
        return self


class WordingModel(Learned):
    """A model of the encoded wording alone, whose predictions start from `_base`."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder
        self._base = np.zeros(0)

    def prepare(self, x: Examples) -> Examples:
        return with_wording(x, self._encoder)

    def predict(self, x: Examples) -> np.ndarray:
        raise NotImplementedError

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What the wording as a whole adds to the base."""
        parts = self.predict(x) - self._base
        return explanations(self._base, ["wording"], [parts[:, [target]] for target in range(parts.shape[1])])


class Scaled:
    """Features standardised on what was learned from; one that has no value counts as average.

    Columns of encoded wording may follow them: these are centred and keep their scale, since standardising
    would blow up words seen once.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.centre = np.zeros(0)
        self.scale = np.zeros(0)

    def fit(self, x: Examples, words: np.ndarray | None = None) -> Array:
        raw = _columns(x, words)
        known = np.isfinite(raw)
        count = np.maximum(known.sum(axis=0), 1)
        self.names = tuple(x.feature_names)
        self.centre = np.where(known, raw, 0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, raw - self.centre, 0) ** 2).sum(axis=0) / count)
        spread[len(self.names) :] = 1.0
        self.scale = np.where(spread > 1e-12, spread, 1.0)
        return self.apply(x, words)

    def apply(self, x: Examples, words: np.ndarray | None = None) -> Array:
        if tuple(x.feature_names) != self.names:
            raise DataError(
                f"learned from the features {', '.join(self.names) or '(none)'}, "
                f"but given {', '.join(x.feature_names) or '(none)'}",
                remedy="Score the same measures for these prompts, or fit again.",
            )
        raw = _columns(x, words)
        return np.where(np.isfinite(raw), (raw - self.centre) / self.scale, 0.0)

    def state(self) -> dict[str, np.ndarray]:
        names = np.array(self.names, dtype=np.str_)
        return {"names": names, "centre": self.centre.copy(), "scale": self.scale.copy()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.names = tuple(str(name) for name in state["names"])
        self.centre, self.scale = (np.array(state[name], dtype=np.float64) for name in ("centre", "scale"))


def _columns(x: Examples, words: np.ndarray | None) -> Array:
    features = np.asarray(x.features, dtype=np.float64)
    return features if words is None else np.hstack([features, np.asarray(words, dtype=np.float64)])


def with_wording(x: Examples, encoder: TextEncoder) -> Examples:
    """The same examples carrying their encoded wording, so that folds need not encode it again."""
    return replace(x, vectors={**x.vectors, _place(encoder): wording(x, encoder)})


def wording(x: Examples, encoder: TextEncoder) -> np.ndarray:
    """The encoded prompts, a row each: those the examples carry from this very encoder, or made now."""
    carried = x.vectors.get(_place(encoder))
    return np.asarray(encoder.text([prompt.text for prompt in x.prompts])) if carried is None else carried


def _place(encoder: TextEncoder) -> str:
    # Known within this process only, which is as long as the examples live.
    return f"wording by {id(encoder)}"


def prepared(part: Predictor, x: Examples) -> Examples:
    """The examples with all that a part computes from an example alone, if it says what that is."""
    prepare = getattr(part, "prepare", None)
    return x if prepare is None else prepare(x)


def predict_out_of_fold(part: Predictor, x: Examples, truth: np.ndarray, fold: np.ndarray) -> Array:
    """Every row predicted by the part as learned from the other folds; it ends up fitted on all but one."""
    made = np.full(truth.shape, np.nan)
    for number in np.unique(fold):
        learn, guess = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        made[guess] = part.fit(x.take(learn), truth[learn]).predict(x.take(guess))
    return made


def marks(targets: int) -> list[str]:
    """What stands behind a name to say which target is meant."""
    return [""] if targets == 1 else [f"[{target}]" for target in range(targets)]


def explanations(
    base: np.ndarray, names: Sequence[str], parts: Sequence[np.ndarray]
) -> list[Mapping[str, float]]:
    """Explanations from columns: `parts` has, for each target, one row per example, one column per name."""
    ends = marks(len(base))
    made: list[Mapping[str, float]] = []
    for row in range(len(parts[0]) if parts else 0):
        each: dict[str, float] = {}
        for target, end in enumerate(ends):
            each[f"base{end}"] = float(base[target])
            for name, part in zip(names, parts[target][row], strict=True):
                each[f"{name}{end}"] = float(part)
        made.append(each)
    return made
