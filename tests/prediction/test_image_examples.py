"""Examples with pictures and features of rankings, and predictors that are shown them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

import sightline
from sightline import registry
from sightline.measures.rankings import UNJUDGED
from sightline.prediction.image_examples import pictured_examples
from sightline.prediction.ranking_features import MEASURES, ranking_features
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
from sightline.study.running.embedding import loaded_over
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

SHADES = {"red": (250, 0, 0), "green": (0, 250, 0), "blue": (0, 0, 250)}


@pytest.fixture
def drawn(tmp_path: Path, colours: str) -> Iterator[Study]:
    """Prompts a, b and c for colours; `good` draws two right images, `bad` one wrong one, none for c."""
    records: list[Record] = [
        Question("fit", "ordinal", 0, 1, 1),
        System("good", "generator"),
        System("bad", "generator"),
    ]
    for (ref, colour), wrong in zip(
        {"a": "red", "b": "green", "c": "blue"}.items(), ("blue", "red", "green"), strict=True
    ):
        prompt = PromptKey("s", ref)
        records.append(Prompt(prompt, colour))
        for system, place, shown in (("good", 0, colour), ("good", 1, colour), ("bad", 0, wrong)):
            if (system, ref) == ("bad", "c"):
                continue
            file = tmp_path / f"{ref}-{system}-{place}.png"
            shade = np.array(SHADES[shown]) + place
            Pillow.new("RGB", (8, 8), tuple(int(each) for each in shade)).save(file)
            image = ImageKey("drawn", file.name)
            records += [
                Image(image, str(file)),
                Answer(prompt, system, place, image),
                Truth("fit", Item(prompt, image=image), float(shown == colour)),
            ]
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image at all")
    records += [
        Image(ImageKey("drawn", "broken"), str(broken)),
        Answer(PromptKey("s", "a"), "bad", 1, ImageKey("drawn", "broken")),
    ]
    with create_study(tmp_path / "drawn") as made:
        load(made, records, importer="test", path="drawn", digest="1", keep_broken=True)
        yield made


def test_prompts_with_the_images_of_their_systems(drawn: Study) -> None:
    encoder = registry.configure("encoder", "colours")
    x = pictured_examples(drawn, [3, 1, 2], encoder)
    assert [prompt.key.ref for prompt in x.prompts] == ["c", "a", "b"]
    assert [len(mine) for mine in x.pictures] == [2, 3, 3]
    # By system and position; an image that cannot be read is left out, and a place stays empty.
    assert x.vectors["systems"].tolist() == [
        ["good", "good", ""],
        ["bad", "good", "good"],
        ["bad", "good", "good"],
    ]
    assert x.pictures[1][0].rgb[0, 0].tolist() == [0, 0, 250]


@pytest.mark.parametrize("measure", MEASURES)
def test_no_feature_of_rankings_depends_on_judgements(measure: str) -> None:
    assert registry.configure("of_ranking", measure).spec.details["rests_on"] in UNJUDGED


def test_images_are_embedded_once(drawn: Study, tmp_path: Path) -> None:
    log = tmp_path / "log"
    encoder = registry.configure("encoder", f"colours(log={str(log)!r})")
    x = pictured_examples(drawn, [1, 2, 3], encoder)
    before = log.read_text()
    # Of the 8 pictures two are the same as others: the wrong ones, drawn right elsewhere.
    assert before == "image 6\ntext 3\n"
    network = registry.configure("predictor", "image_text_head(epochs=1)", encoder=encoder)
    model = loaded_over(drawn, network)
    model.fit(model.prepare(x), np.array([[1.0], [0.5], [0.0]]))
    pictured_examples(drawn, [1, 2], encoder)
    assert log.read_text() == before, "the model inside must answer from the study's vectors"


def test_features_of_rankings_by_engine(painted: Study) -> None:
    for name, engine in (("eyes", "exact(encoder=colours)"), ("words", "caption_words")):
        sightline.retrieve(painted, name, engine, collection="paints", k=2)
    features, names = ranking_features(painted, [2, 1])
    columns = dict(zip(names, features.T, strict=True))
    # Red is 1 like the rose and sqrt(1/2) like the grape; so is blue like sea and grape.
    assert columns["score_variance of eyes"] == pytest.approx([np.var([1, np.sqrt(0.5)])] * 2)
    # Eyes and words both find sea and grape for blue, rose and grape for red.
    assert columns["engine_overlap"].tolist() == [1, 1]
    assert "score_variance of words" in names and "engine_overlap of words" not in names
    none, _ = ranking_features(painted, [])
    assert none.shape[0] == 0


def test_a_prompt_without_rankings_has_no_features(painted: Study) -> None:
    sightline.retrieve(painted, "words", "caption_words", collection="paints", k=2)
    load(painted, [Prompt(PromptKey("late", "x"), "red")], importer="test", path="late", digest="late")
    features, _ = ranking_features(painted, [1, 4])
    assert np.isfinite(features[0, 0]) and np.isnan(features[1, 0])
