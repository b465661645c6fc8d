"""Predicting prompts: held-out means held out, intervals cover, and bad input is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError, UsageError
from sightline.records import Prompt, PromptKey, Question, Subject, Truth
from sightline.stages.predict import conformal_width, predict
from sightline.store import reading
from sightline.store.loading import load
from sightline.store.study import Study, create_study

COLOURS = ("red", "blue", "green", "black")
THINGS = ("ball", "cup", "house", "car", "tree", "fish")


def study_with(path: Path, truth: list[float]) -> Study:
    """Prompts "a red ball" ... "many green cars" with these truths, in that order."""
    texts = [f"{much} {colour} {thing}" for much in ("a", "many") for colour in COLOURS for thing in THINGS]
    study = create_study(path)
    keys = [PromptKey("s", str(n)) for n in range(len(truth))]
    records = [Prompt(key, text) for key, text in zip(keys, texts, strict=False)]
    records += [Truth("ease", Subject(prompt=key), value) for key, value in zip(keys, truth, strict=True)]
    load(study, [Question("ease", low=0, high=5.1), *records], importer="test", path="here", digest="1")
    return study


def learnable(n: int = 48) -> list[float]:
    """5 for "a ...", 1 for "many ...", a little more for every other prompt."""
    return [(5.0 if i < 24 else 1.0) + 0.1 * (i % 2) for i in range(n)]


def test_what_can_be_learned_is_foretold(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", learnable()) as study:
        found = predict(study, "ease", prompts=["a blue ball", "many blue balls"])
        assert found.pearson.value is not None and found.pearson.value > 0.9
        assert found.error < found.baseline_error / 2
        easy, hard = found.foretold
        assert easy.value > hard.value
        assert easy.low < easy.value <= easy.high <= 5.1, "on the scale of the question"
        assert {name for name, _ in easy.because} >= {"words", "wording"}


def test_no_prompt_is_predicted_by_a_model_that_saw_its_truth(tmp_path: Path) -> None:
    # Whatever the truth of the prompts in one fold is changed to, their own predictions stay as they are.
    truth = learnable()
    with study_with(tmp_path / "a", truth) as study:
        before = predict(study, "ease", seed=3)
        settlement = int(reading.truths(study, "ease")["settlement_id"][0])
        fold = reading.predictions(study, settlement)["fold"].to_numpy()
    spoilt = [99.0 if fold[i] == 2 else value for i, value in enumerate(truth)]
    with study_with(tmp_path / "b", spoilt) as study:
        after = predict(study, "ease", seed=3)
    held = np.flatnonzero(fold == 2)
    assert [after.points[i][0] for i in held] == [before.points[i][0] for i in held]
    others = np.flatnonzero(fold != 2)
    assert any(after.points[i][0] != before.points[i][0] for i in others)


def test_predictions_are_kept_and_the_same_for_a_seed(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", learnable()) as study:
        first = predict(study, "ease", seed=1)
        again = predict(study, "ease", seed=1)
        assert first.points == again.points
        settlement = int(reading.truths(study, "ease")["settlement_id"][0])
        kept = reading.predictions(study, settlement)
        assert kept["value"].to_list() == [guess for guess, _ in first.points]


def test_the_interval_covers_as_promised() -> None:
    # Split conformal: the next error lies within the width with probability at least .9; 2,000 trials,
    # standard error .007.
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        errors = np.abs(rng.standard_t(3, 60))
        inside += errors[0] <= conformal_width(errors[1:], 0.9)
    assert 0.88 <= inside / 2000 <= 0.93


def test_conformal_width_by_hand() -> None:
    # n = 9: ceil(10 * .9) = 9th smallest; n = 4: ceil(4.5) = 5th of 4 is beyond, so the largest.
    assert conformal_width(np.arange(1.0, 10.0), 0.9) == 9.0
    assert conformal_width(np.array([4.0, 1.0, 3.0, 2.0]), 0.9) == 4.0


def test_too_little_truth_and_empty_prompts_are_refused(tmp_path: Path) -> None:
    with study_with(tmp_path / "few", learnable()[:6]) as study, pytest.raises(DataError, match="only 6"):
        predict(study, "ease")
    with study_with(tmp_path / "s", learnable()) as study:
        with pytest.raises(UsageError, match="empty"):
            predict(study, "ease", prompts=["  "])
        with pytest.raises(UsageError, match="no predictor"):
            predict(study, "ease", predictor="ridgy")
        with pytest.raises(UsageError, match="no question"):
            predict(study, "eese")


def test_only_the_newest_fit_is_read(tmp_path: Path) -> None:
    with study_with(tmp_path / "s", learnable()) as study:
        for seed in (0, 1, 2):
            last = predict(study, "ease", seed=seed)
        settlement = reading.newest_settlement(study, "ease")
        assert settlement is not None
        kept = reading.predictions(study, settlement)
        assert kept["value"].to_list() == [guess for guess, _ in last.points]
        with pytest.raises(UsageError, match="hold nothing out"):
            predict(study, "ease", folds=1)
