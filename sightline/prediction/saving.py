"""A predictor fitted to a study, saved to a file that predicts without the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError, UsageError
from sightline.prediction.bench import PredictorQuality
from sightline.prediction.fitted import Fitted, fit, save
from sightline.records import Question
from sightline.statistics import within_folds

Array = NDArray[np.float64]


def check_model(path: Path) -> None:
    """Raise if a predictor cannot be saved here, before anything is fitted."""
    if path.suffix != ".npz":
        raise UsageError(f"{path.name} does not end in .npz", remedy=f"For example {path.stem}.npz.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        what = "this is a folder" if path.is_dir() else "there is no such folder"
        raise DataError(what, where=str(path if path.is_dir() else path.parent), remedy="Name a file.")


def save_best(
    path: Path,
    qualities: Sequence[PredictorQuality],
    texts: Sequence[str],
    truths: Mapping[str, Array],
    asked: Mapping[str, Question],
    split: str,
) -> Fitted:
    """Fit the best predictor of the first target that sees prompts alone to all of them, and save it.

    It is fitted again, to measures of a prompt that run everywhere and to how common words are among the
    study's prompts, so that the file is self-contained: features asked for by name and the captions of a
    collection are not used. Hence it is not quite the predictor that was evaluated, and the Pearson that is
    stored is its own, on held-out prompts. `asked` has the question of every target.
    """
    targets = list(truths)
    able = [each for each in qualities if each.question == targets[0] and not each.after]
    if not able:
        raise UsageError("no predictor here sees prompts alone", remedy="--with ridge, and no --rankings")
    best = max(able, key=lambda each: each.pearson)
    truth = np.stack(list(truths.values()), axis=1)
    about = {
        "predictor": best.predictor,
        "prompts": len(texts),
        "split": split,
        "ends": {name: [asked[name].low, asked[name].high] for name in targets},
        "directions": {name: asked[name].direction for name in targets},
    }
    fitted = fit(best.predictor, texts, truth, targets=targets)
    defined = {
        each.question for each in qualities if each.predictor == best.predictor and np.isfinite(each.pearson)
    }
    own = {
        name: _pearson(held, true, fitted.model.fold) if name in defined else None
        for name, held, true in zip(targets, fitted.model.held_out.T, truth.T, strict=True)
    }
    fitted = replace(fitted, about={**about, "pearson": own})
    save(path, fitted)
    return fitted


def _pearson(held: Array, truth: Array, fold: NDArray[np.int64]) -> float | None:
    """Pearson's r of what a stack said of each prompt without it, within its folds.

    A stack's parts are weighed with each prompt left out: what the others' mean is lower by is taken off, or
    every prompt would be expected to be the opposite of what it is.
    """
    known = np.isfinite(held) & np.isfinite(truth)
    said, true = held[known], truth[known]
    if said.size < 2:
        return None
    of_others = (true.sum() - true) / (true.size - 1)
    return within_folds.pearson(said - of_others + true.mean(), true, fold[known]).value
