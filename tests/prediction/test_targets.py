"""Any value of a prompt can be predicted: measures of rankings and images, over systems and of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.errors import DataError, UsageError
from sightline.measures.score import score
from sightline.prediction.fit import fit
from sightline.prediction.predict import predict
from sightline.prediction.targets import target_of
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.report.report import build
from sightline.report.stored_predictions import read_predictions
from sightline.study import predicted, reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

N = 30


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Two engines over ten photos, and a painter. What is asked with "many" finds less and is painted plain.

    Of each query photos 0 to 3 are relevant. The first engine has two of them on top, or one with "many"; the
    second always has one.
    """
    folder = tmp_path_factory.mktemp("targets")
    photos = [ImageKey("photos", f"{n}.png") for n in range(10)]
    records: list[Record] = [
        Question("relevance", "nominal", 0, 1, labels={0: "no", 1: "yes"}),
        System("clip", "retriever", "photos"),
        System("blip", "retriever", "photos"),
        System("painter"),
        *(Image(photo) for photo in photos),
    ]
    rng = np.random.default_rng(0)
    for n in range(N):
        key, many = PromptKey("s", str(n)), n % 2
        records.append(Prompt(key, f"{'many' if many else 'a'} {('ball', 'cup', 'car')[n % 3]} number {n}"))
        records += [Truth("relevance", Item(key, image=each), float(p < 4)) for p, each in enumerate(photos)]
        order = [0, 9, 8, 1] if many else [0, 1, 8, 9]
        records += [Answer(key, "clip", at, photos[p], 9.0 - at) for at, p in enumerate(order)]
        records += [Answer(key, "blip", at, photos[p], 9.0 - at) for at, p in enumerate((2, 9, 8, 7))]
        pixels = rng.integers(0, 20 if many else 250, (16, 16, 3)).astype(np.uint8)
        Pillow.fromarray(pixels).save(folder / f"{n}.png")
        painted = ImageKey("painted", f"{n}.png")
        records += [Image(painted, str(folder / f"{n}.png")), Answer(key, "painter", 0, painted)]
    with create_study(folder / "study") as made:
        load(made, records, importer="test", path="test", digest="1")
        yield made


def test_a_measure_is_a_target_over_systems_and_of_one(study: Study) -> None:
    ids = reading.prompts(study)["prompt_id"].to_list()
    over, one = target_of(study, "precision@2"), target_of(study, "precision@2.clip")
    # Of the first two: 2 or 1 of clip's are relevant, 1 of blip's.
    assert [over.truth[key] for key in ids[:2]] == [0.75, 0.5]
    assert [one.truth[key] for key in ids[:2]] == [1.0, 0.5]
    assert (over.question.low, over.question.high, over.question.direction) == (0, 1, "higher")
    assert (over.name, one.name, one.system) == ("precision(k=2)", "precision(k=2).clip", "clip")


def test_it_is_learned_stored_and_reported_like_truth(study: Study, tmp_path: Path) -> None:
    found = fit(study, target=["precision@2", "precision@2.clip"], save=tmp_path / "own.npz")
    assert list(found.questions) == ["precision(k=2)", "precision(k=2).clip"]
    first = found.results[0].figures["pearson"]
    assert first.value is not None and first.value > 0.8, "the word many tells it"
    (stored,) = read_predictions(study, "precision@2")
    np.testing.assert_allclose(stored.predicted, found.predictions["ridge"]["precision(k=2)"])
    assert stored.scale.domain == (0, 1) and predicted.predicted_measures(study) == list(found.questions)
    assert read_predictions(study, "relevance") == [], "nobody predicted the truth itself"
    section = build(study).section("prediction")
    assert section is not None and "precision(k=2)" in section.lead
    model = tmp_path / "own.npz"
    easy, hard = (
        predict(text, model=model).predictions[0] for text in ("a cup number 4", "many cup number 5")
    )
    assert easy.expected["precision(k=2)"].value > hard.expected["precision(k=2)"].value


def test_measures_of_images_are_averaged_once_they_are_scored(study: Study) -> None:
    with pytest.raises(UsageError, match="sharpness") as caught:
        target_of(study, "sharpness")
    assert "sightline score" in str(caught.value.remedy)
    score(study, "sharpness")
    target = target_of(study, "sharpness.painter")
    assert len(target.truth) == N and target.measure is not None
    assert fit(study, target="sharpness").results[0].question == "sharpness"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("precisoin@2", "precisoin"),
        ("precision@2.clap", "clap"),
        ("relevance.clap", "no value of a system 'clap'"),
        ("word_count", "a measure of prompts"),
    ],
)
def test_what_is_no_target_says_why(study: Study, name: str, said: str) -> None:
    with pytest.raises((UsageError, DataError), match=said):
        target_of(study, name)
