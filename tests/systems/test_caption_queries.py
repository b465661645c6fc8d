"""Captions of a collection as queries, with their own image relevant."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies import put

from sightline.comparison.compare import compare
from sightline.errors import DataError, UsageError
from sightline.measures.score import score
from sightline.records import Image, ImageKey
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.systems.caption_queries import caption_queries
from sightline.systems.retrieve import retrieve

CAPTIONS = {"dog.png": ["a dog", "a brown dog runs"], "cat.png": ["a cat", "a cat sleeps"], "bare.png": []}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = create_study(tmp_path / "study")
    put(made, [Image(ImageKey("photos", name), captions=texts) for name, texts in CAPTIONS.items()], "images")
    return made


def test_every_caption_asks_for_its_own_image(study: Study) -> None:
    done = caption_queries(study, "photos")
    assert (done.queries, done.images, done.without, done.already) == (4, 2, 1, False)
    assert "4 captions of 2 images added" in done.sentence
    prompts = dict(reading.prompts(study).select("ref", "text").iter_rows())
    assert prompts["dog.png#1"] == "a brown dog runs"
    assert reading.truths(study, "relevance").height == 4
    assert caption_queries(study, "photos").already
    # With its own caption an engine of words finds every image first.
    retrieve(study, "words", "caption_words", collection="photos")
    score(study, ["reciprocal_rank"])
    (words,) = compare(study, "reciprocal_rank").systems
    assert words.mean.value == 1.0


def test_some_captions_of_each_image_by_a_seed(study: Study) -> None:
    done = caption_queries(study, "photos", suite="some", per_image=1, seed=3)
    assert (done.suite, done.queries) == ("some", 2)
    assert {ref.partition("#")[0] for ref in reading.prompts(study)["ref"]} == {"dog.png", "cat.png"}


def test_what_cannot_ask(study: Study, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no collection called 'photo'"):
        caption_queries(study, "photo")
    put(study, [Image(ImageKey("mute", "a.png"))], "mute")
    with pytest.raises(DataError, match="no image of collection 'mute' has a caption"):
        caption_queries(study, "mute")
