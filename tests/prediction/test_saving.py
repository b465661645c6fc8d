"""A predictor that is kept: it knows which end of a scale is good, and how good it is itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.prediction.fit import fit
from sightline.prediction.predict import rank
from sightline.records import Item, Prompt, PromptKey, Question, Record, System, Truth
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

TEXTS = [
    f"{much} {colour} {thing}"
    for much in ("a", "many")
    for colour in ("red", "blue", "green", "black")
    for thing in ("ball", "cup", "house", "car", "tree", "fish")
]


def study_of(path: Path) -> Study:
    """Prompts "many ..." have 4 faults, "a ..." 1, by and by a little more; "rel.v2" is 5 less the faults."""
    study = create_study(path)
    records: list[Record] = [
        Question("faults", low=0, high=6, direction="lower"),
        Question("rel.v2", low=-1, high=5),
        System("painter"),
    ]
    for n, text in enumerate(TEXTS):
        key, faults = PromptKey("s", str(n)), (1.0 if n < 24 else 4.0) + n / 48
        records += [Prompt(key, text), Truth("faults", Item(key, "painter"), faults)]
        records += [Truth("rel.v2", Item(key), 5 - faults)]
    load(study, records, importer="test", path="here", digest="1")
    return study


def test_the_hardest_quarter_is_the_one_with_most_faults(tmp_path: Path) -> None:
    with study_of(tmp_path / "s") as study:
        found = fit(study, question=["faults", "rel.v2"], predictor="ridge")
    faults, good = (each.quarters for each in found.results)
    assert [part.name for part in faults] == ["hardest", "hard", "easy", "easiest"]
    guess, truth = found.predictions["ridge"]["faults"], found.truths["faults"]
    order = np.argsort(guess)
    for part, rows in ((faults[0], order[36:]), (faults[-1], order[:12])):
        assert (part.low, part.high) == pytest.approx((guess[rows].min(), guess[rows].max()))
        assert part.bias == pytest.approx(float((guess - truth)[rows].mean()))
    # One is the mirror of the other.
    for one, other in zip(faults, good, strict=True):
        assert (one.name, one.n) == (other.name, other.n)
        assert one.bias == pytest.approx(-other.bias) and one.rmse == pytest.approx(other.rmse)


def test_a_kept_predictor_ranks_what_is_better_first(tmp_path: Path) -> None:
    own = tmp_path / "own.npz"
    with study_of(tmp_path / "s") as study:
        found = fit(study, question=["faults", "rel.v2"], predictor="ridge", save=own)
    kept = found.saved
    assert kept is not None and kept.about["directions"] == {"faults": "lower", "rel.v2": "higher"}
    for by in found.questions:
        ranked = rank("many red cups", ["", "a red cup"], by=by, model=own).predictions
        assert [prediction.prompt for prediction in ranked] == ["a red cup", "many red cups", ""]


def test_the_pearson_that_is_kept_is_that_of_what_is_kept(tmp_path: Path) -> None:
    with study_of(tmp_path / "s") as study:
        save = tmp_path / "own.npz"
        found = fit(study, "faults", predictor=["ridge", "mean"], feature=["synset_count"], save=save)
    kept = found.saved
    assert kept is not None and "synset_count" not in kept.measures
    said, true, fold = kept.model.held_out[:, 0], found.truths["faults"], kept.model.fold
    # Each prompt was left out: what the mean of the others is lower by, and folds, are taken off.
    said = said - (true.sum() - true) / (true.size - 1)
    parts = [np.flatnonzero(fold == number) for number in range(5)]
    r = [np.corrcoef(said[rows], true[rows])[0, 1] for rows in parts]
    spread = [np.std(true[rows]) * np.sqrt(rows.size) for rows in parts]
    assert kept.about["pearson"] == {"faults": pytest.approx(float(np.average(r, weights=spread)))}


def test_a_constant_that_is_kept_has_no_pearson(tmp_path: Path) -> None:
    with study_of(tmp_path / "s") as study:
        kept = fit(study, "faults", predictor="mean", save=tmp_path / "own.npz").saved
    assert kept is not None and kept.about["pearson"] == {"faults": None}
