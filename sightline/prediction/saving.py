"""A predictor learned from a study, kept in a file that is all it needs to be asked without the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.prediction.fitted import Fitted, fit, save
from sightline.prediction.results import FitResult
from sightline.records import Question
from sightline.statistics.correlation import pearson


def check_model(path: Path) -> None:
    """Raise where a predictor cannot be kept, before anything is learned."""
    if path.suffix != ".npz":
        raise UsageError(f"{path.name} does not end in .npz", remedy=f"For example {path.stem}.npz.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        what = "this is a folder" if path.is_dir() else "there is no such folder"
        raise DataError(what, where=str(path if path.is_dir() else path.parent), remedy="Name a file.")


def save_best(found: FitResult, path: Path, asked: Mapping[str, Question]) -> Fitted:
    """Fit the best predictor of the first target that sees prompts alone to all of them, and keep it.

    It is fitted anew, to measures of a prompt that run everywhere and to how common words are among the
    study's prompts, so that the file is all that it needs: features asked for by name and the captions of a
    collection are left out. Hence it is not quite the predictor that was tried, and the Pearson that is kept
    is its own, on prompts that it had not learned from. `asked` has the question of every target.
    """
    check_model(path)
    able = [each for each in found.results if each.question == found.question and not each.after]
    if not able:
        raise UsageError(
            "no predictor was tried that sees prompts alone", remedy="--with ridge, and no --rankings"
        )
    best = max(able, key=lambda each: -2.0 if (r := each.figures["pearson"].value) is None else r)
    truth = np.stack([found.truths[name] for name in found.questions], axis=1)
    about = {
        "predictor": best.predictor,
        "prompts": len(found.texts),
        "split": found.split.said,
        "ends": {name: list(found.scales[name]) for name in found.questions},
        "directions": {name: asked[name].direction for name in found.questions},
    }
    made = fit(best.predictor, found.texts, truth, targets=found.questions)
    own = {
        name: pearson(held, true).value
        for name, held, true in zip(found.questions, made.model.held_out.T, truth.T, strict=True)
    }
    made = replace(made, about={**about, "pearson": own})
    save(path, made)
    return made
