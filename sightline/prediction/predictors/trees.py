"""Small regression trees on features, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sightline.errors import UsageError
from sightline.extension import predictor
from sightline.prediction.predictors._parts import FEWEST, Scaled, explanations, settled_columns
from sightline.records import Examples

FIELDS = ("left", "right", "feature", "threshold", "value", "root", "owner")


@predictor(
    sees="prompt",
    source="Friedman 2001, 2002; explained as in Saabas 2014",
    licence="Apache-2.0",
    aliases=("gbrt", "gradient_boosting"),
)
class trees:
    """Boosted regression trees on the features: effects that are not straight lines, and their interplay.

    Each of `n_estimators` trees with at most `depth` splits on the way down is grown on half of the examples
    drawn with `seed`, on the residuals of the trees before it, and is weighted by `learning_rate`. A feature
    that has no value counts as average. A feature's part in a prediction is the sum of the steps that the
    mean of a node takes wherever the way down asks for it.
    """

    def __init__(
        self, *, n_estimators: int = 100, depth: int = 3, learning_rate: float = 0.1, seed: int = 0
    ) -> None:
        if n_estimators < 1 or depth < 1 or not 0 < learning_rate <= 1:
            raise UsageError(
                f"trees: n_estimators={n_estimators}, depth={depth}, learning_rate={learning_rate}",
                remedy="n_estimators and depth from 1, learning_rate above 0 and at most 1.",
            )
        self._settings: dict[str, Any] = {
            "n_estimators": n_estimators,
            "max_depth": depth,
            "learning_rate": learning_rate,
        }
        self._seed = seed
        self._features = Scaled()
        self._base = np.zeros(0)
        self._nodes: dict[str, np.ndarray] = {}

    def fit(self, x: Examples, truth: np.ndarray) -> Self:
        inputs = self._features.fit(x).astype(np.float32)
        truth = np.asarray(truth, dtype=np.float64)
        self._base = np.zeros(truth.shape[1])
        grown: list[tuple[int, Any]] = []
        for rows, targets in settled_columns(truth):
            for target in targets:
                y = truth[rows, target]
                self._base[target] = y.mean()
                if len(y) >= FEWEST and np.ptp(y) > 0 and inputs.shape[1]:
                    grown += [(target, tree) for tree in self._grow(inputs[rows], y - y.mean())]
        self._nodes = _flattened(grown, self._settings["learning_rate"])
        return self

    def _grow(self, inputs: np.ndarray, y: np.ndarray) -> list[Any]:
        from sklearn.ensemble import GradientBoostingRegressor

        model = GradientBoostingRegressor(
            **self._settings, subsample=0.5, min_samples_leaf=5, init="zero", random_state=self._seed
        )
        return [tree.tree_ for tree in model.fit(inputs, y).estimators_[:, 0]]

    def predict(self, x: Examples) -> np.ndarray:
        parts = self._parts(x)
        return np.stack([part.sum(axis=1) for part in parts], axis=1) + self._base

    def explain(self, x: Examples) -> Sequence[Mapping[str, float]]:
        """What each feature adds to the base; all together they are the prediction."""
        names = ["(start)", *self._features.names]
        return explanations(self._base, names, self._parts(x))

    def _parts(self, x: Examples) -> list[np.ndarray]:
        """For each target one row per example: where the trees start, then one column per feature."""
        inputs = self._features.apply(x).astype(np.float32)
        rows = np.arange(len(inputs))
        parts = [np.zeros((len(inputs), inputs.shape[1] + 1)) for _ in self._base]
        nodes = self._nodes
        for root, owner in zip(nodes["root"], nodes["owner"], strict=True):
            at = np.full(len(inputs), root)
            parts[owner][:, 0] += nodes["value"][root]
            going = rows[nodes["left"][at] >= 0]
            while len(going):
                here = at[going]
                asked = nodes["feature"][here]
                low = inputs[going, asked] <= nodes["threshold"][here]
                at[going] = np.where(low, nodes["left"][here], nodes["right"][here])
                parts[owner][going, asked + 1] += nodes["value"][at[going]] - nodes["value"][here]
                going = going[nodes["left"][at[going]] >= 0]
        return parts

    def state(self) -> dict[str, np.ndarray]:
        nodes = {name: column.copy() for name, column in self._nodes.items()}
        return {**self._features.state(), "base": self._base.copy(), **nodes}

    def restore(self, state: Mapping[str, np.ndarray]) -> Self:
        self._features.restore(state)
        self._base = np.array(state["base"], dtype=np.float64)
        self._nodes = {name: np.array(state[name]) for name in FIELDS}
        return self


def _flattened(grown: Sequence[tuple[int, Any]], learning_rate: float) -> dict[str, np.ndarray]:
    """The nodes of all trees in one table; a leaf has no left and no right (-1)."""
    sizes = [tree.node_count for _, tree in grown]
    root = np.cumsum([0, *sizes])[:-1].astype(np.int64)

    def joined(columns: Sequence[np.ndarray], kind: type) -> np.ndarray:
        return np.concatenate(columns).astype(kind) if columns else np.zeros(0, dtype=kind)

    def shifted(column: np.ndarray, start: int) -> np.ndarray:
        return np.where(column >= 0, column + start, -1)

    each = [(tree, int(start)) for (_, tree), start in zip(grown, root, strict=True)]
    return {
        "left": joined([shifted(tree.children_left, start) for tree, start in each], np.int64),
        "right": joined([shifted(tree.children_right, start) for tree, start in each], np.int64),
        "feature": joined([np.maximum(tree.feature, 0) for tree, _ in each], np.int64),
        "threshold": joined([tree.threshold for tree, _ in each], np.float64),
        "value": joined([tree.value[:, 0, 0] * learning_rate for tree, _ in each], np.float64),
        "root": root,
        "owner": np.array([target for target, _ in grown], dtype=np.int64),
    }
