"""Correlations of predictions out of fold: is noise worth nothing, and do intervals hold with few prompts?

Ridge regression on ten features in five folds, as `fit` evaluates predictors. With noise no feature tells
anything, and the truth is 0; with signal, features explain 30 % of the variance, and the truth is the
correlation, on 20,000 fresh prompts, of what was fitted on four fifths. Shown are the mean coefficient over
simulated studies with all folds thrown together and within folds, how often the 95 % interval holds the
truth, and how often p < .05 for noise.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from sightline.statistics.correlation import kendall, pearson, spearman
from sightline.statistics.folds import k_fold
from sightline.statistics.prediction_quality import quality

FEATURES, FOLDS, FRESH, PENALTY = 10, 5, 20_000, 10.0
NAMES = ("pearson", "kendall", "spearman")
POOLED = {"pearson": pearson, "kendall": kendall, "spearman": spearman}


def ridge(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    centred = x - x.mean(axis=0)
    weights = np.linalg.solve(centred.T @ centred + PENALTY * np.eye(x.shape[1]), centred.T @ (y - y.mean()))
    return weights, float(y.mean() - x.mean(axis=0) @ weights)


def study(n: int, signal: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Predictions out of fold, truth and folds; and the models' weights."""
    slope = np.full(FEATURES, np.sqrt(signal / FEATURES))
    x = rng.normal(size=(n, FEATURES))
    y = x @ slope + rng.normal(size=n) * np.sqrt(1 - signal)
    fold = k_fold(n, FOLDS, seed=int(rng.integers(2**31)))
    held, weights = np.empty(n), []
    for number in range(FOLDS):
        out = fold == number
        own, base = ridge(x[~out], y[~out])
        held[out] = x[out] @ own + base
        weights.append(own)
    return held, y, fold, np.array(weights)


def meant(n: int, signal: float, rng: np.random.Generator) -> dict[str, float]:
    """The mean correlation of such models with fresh prompts."""
    if not signal:
        return dict.fromkeys(NAMES, 0.0)
    slope = np.full(FEATURES, np.sqrt(signal / FEATURES))
    # Both are normal: the correlation follows from the weights, and ranks follow from it.
    found = []
    for _ in range(400):
        for own in study(n, signal, rng)[3]:
            found.append(float(own @ slope) / np.linalg.norm(own))
    r = np.array(found)
    return {
        "pearson": float(r.mean()),
        "kendall": float((2 / np.pi * np.arcsin(r)).mean()),
        "spearman": float((6 / np.pi * np.arcsin(r / 2)).mean()),
    }


def simulated(n: int, signal: float, studies: int, seed: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    truth = meant(n, signal, rng)
    sums = {name: np.zeros(5) for name in NAMES}
    for _ in range(studies):
        held, y, fold, _ = study(n, signal, rng)
        figures = quality(held, y, fold)
        for name in NAMES:
            each = figures[name]
            low, high = (-1.0, 1.0) if each.low is None or each.high is None else (each.low, each.high)
            sums[name] += (
                POOLED[name](held, y).value or 0.0, each.value or 0.0, low <= truth[name] <= high,
                each.p is not None and each.p < 0.05, low > 0,
            )  # fmt: skip
    return {
        name: {
            "truth": round(truth[name], 3),
            **dict(
                zip(
                    ("pooled", "within", "covered", "p_below_5", "called_better"),
                    np.round(each / studies, 3).tolist(), strict=True,
                )
            ),
        }
        for name, each in sums.items()
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--prompts", type=int, nargs="+", default=[10, 20, 40, 100, 200])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for signal in (0.0, 0.3):
        for n in options.prompts:
            found = simulated(n, signal, options.studies, options.seed)
            print(json.dumps({"prompts": n, "signal": signal, **found}))


if __name__ == "__main__":
    main()
