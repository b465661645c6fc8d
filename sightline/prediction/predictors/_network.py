"""What small networks share: first weights, dropout, and descent with early stopping, all from one seed.

Everything is in double precision and every random number is numpy's, so that a seed gives the same network on
any machine but for the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from sightline.errors import UsageError

FEWEST_HELD = 10
"""With fewer examples than this none is held out, and all rounds are made."""
HELD = 0.2


class Descent(NamedTuple):
    """How a network is trained: AdamW over so many epochs, stopped when held-out error no longer falls."""

    epochs: int
    learning_rate: float
    decay: float
    batch: int
    patience: int
    seed: int

    def check(self, name: str) -> Descent:
        """Refuse what trains nothing."""
        if min(self.epochs, self.batch, self.patience) < 1 or self.learning_rate <= 0 or self.decay < 0:
            raise UsageError(
                f"{name}: epochs={self.epochs}, batch={self.batch}, patience={self.patience}, "
                f"learning_rate={self.learning_rate:g}, decay={self.decay:g}",
                remedy="epochs, batch and patience from 1, learning_rate above 0, decay from 0.",
            )
        return self


def first_weights(shapes: Mapping[str, Sequence[int]], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights for ReLU units by name, of deviation sqrt(2 / inputs) (He et al. 2015); bases are 0."""
    found = {}
    for name, shape in shapes.items():
        inputs = int(np.prod(shape[1:]))
        found[name] = np.zeros(shape) if len(shape) < 2 else rng.normal(size=shape) * np.sqrt(2 / inputs)
    return found


def dropout(values: Any, rng: np.random.Generator | None) -> Any:
    """Dropout: about half of the values set to 0 and the rest doubled; unchanged without a generator."""
    if rng is None:
        return values
    import torch

    return values * torch.from_numpy((rng.random(tuple(values.shape)) >= 0.5) * 2.0)


def descend(
    weights: Mapping[str, np.ndarray],
    rows: int,
    loss: Callable[[Mapping[str, Any], np.ndarray, np.random.Generator | None], Any],
    how: Descent,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """The weights at the epoch of least held-out loss.

    `loss` gives the mean loss of some rows under some weights; with a generator it may drop units out, and
    without it must not. A fifth of the rows is held out.
    """
    return descended(weights, rows, loss, how, rng)[0]


def descended(
    weights: Mapping[str, np.ndarray],
    rows: int,
    loss: Callable[[Mapping[str, Any], np.ndarray, np.random.Generator | None], Any],
    how: Descent,
    rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], float]:
    """The same with the least held-out loss, which is infinite where nothing was held out."""
    import torch

    order = rng.permutation(rows)
    held = order[: int(rows * HELD)] if rows >= FEWEST_HELD else order[:0]
    learned = order[len(held) :]
    live = {name: torch.from_numpy(array.copy()).requires_grad_() for name, array in weights.items()}
    optimiser = torch.optim.AdamW(list(live.values()), lr=how.learning_rate, weight_decay=how.decay)
    best, least, waited = _arrays(live), np.inf, 0
    for _ in range(how.epochs):
        shuffled = rng.permutation(learned)
        for start in range(0, len(shuffled), how.batch):
            optimiser.zero_grad()
            loss(live, shuffled[start : start + how.batch], rng).backward()
            optimiser.step()
        if not len(held):
            best = _arrays(live)
            continue
        with torch.no_grad():
            parts = [held[start : start + how.batch] for start in range(0, len(held), how.batch)]
            left = sum(float(loss(live, part, None)) * len(part) for part in parts) / len(held)
        if left < least:
            best, least, waited = _arrays(live), left, 0
        else:
            waited += 1
        if waited >= how.patience:
            break
    return best, least


def _arrays(live: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy().copy() for name, tensor in live.items()}


class Standard(NamedTuple):
    """Truth in standard deviations from its mean, each target by itself, and which is settled."""

    mean: np.ndarray
    deviation: np.ndarray

    @staticmethod
    def of(truth: np.ndarray) -> Standard:
        mean, spread = np.nanmean(truth, axis=0), np.nanstd(truth, axis=0)
        return Standard(mean, np.where(spread > 1e-12, spread, 0.0))

    def apply(self, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        settled = np.isfinite(truth)
        scaled = (truth - self.mean) / np.where(self.deviation > 0, self.deviation, 1)
        return np.where(settled, scaled, 0.0), settled.astype(np.float64)


class ImageNetwork:
    """What small networks on images keep: their weights, and the truth's mean and deviation."""

    def __init__(self, how: Descent) -> None:
        self._how = how
        self._weights: dict[str, np.ndarray] = {}
        self._truth = Standard(np.zeros(0), np.zeros(0))

    def state(self) -> dict[str, np.ndarray]:
        weights = {f"weights.{name}": array.copy() for name, array in self._weights.items()}
        return {"mean": self._truth.mean.copy(), "deviation": self._truth.deviation.copy(), **weights}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._truth = Standard(np.array(state["mean"]), np.array(state["deviation"]))
        self._weights = {
            name.removeprefix("weights."): np.array(state[name], dtype=np.float64)
            for name in state
            if name.startswith("weights.")
        }
        return self
