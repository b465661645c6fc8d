"""How often each answer was given: counted by system, controls and numbers on a scale left out."""

from __future__ import annotations

from pathlib import Path

from PIL import Image as Pillow

from sightline.judging.label_charts import label_pictures
from sightline.judging.labels import labels_given
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
)
from sightline.rendering.blocks import Figure, Grid, Heading
from sightline.study.study import create_study
from sightline.study.writing.loading import load


def test_answers_by_label_and_system(tmp_path: Path) -> None:
    asked = Question("relevance", "ordinal", -1, 2, 1, labels={"2": "high", "0": "none"})
    some: list[Record] = [asked]
    for system, values in (("one", (2, 2, 0)), ("two", (0, 0, 1))):
        for n, value in enumerate(values):
            key, name = PromptKey("s", str(n)), f"{system}-{n}.png"
            shade = (40 * n, 80, 160 if system == "one" else 10)
            Pillow.new("RGB", (8, 8), shade).save(tmp_path / name)
            image = ImageKey("i", name)
            some += [Prompt(key, f"p {n}"), Image(image, str(tmp_path / name)), Answer(key, system, 0, image)]
            some += [Judgement("relevance", Item(key, image=image), float(value), AnnotatorKey("p", "a"))]
    with create_study(tmp_path / "study") as study:
        load(study, some, importer="test", path="test", digest="1")
        given = {(row.system, row.label): row.n for row in labels_given(study, "relevance")}
        assert given == {
            ("one", "none"): 1,
            ("one", "1"): 0,
            ("one", "high"): 2,
            ("two", "none"): 2,
            ("two", "1"): 1,
            ("two", "high"): 0,
        }
        title, drawing, numbers = label_pictures(study)
        assert isinstance(title, Heading) and title.text == "Answers to relevance, by system"
        assert isinstance(drawing, Figure) and drawing.narrow is not None and isinstance(numbers, Grid)


def test_answers_on_a_scale_of_numbers_are_no_labels(tmp_path: Path) -> None:
    key, vote = PromptKey("s", "1"), AnnotatorKey("p", "a")
    some: list[Record] = [Question("fit", "interval", 0, 5), Prompt(key, "p")]
    with create_study(tmp_path / "study") as study:
        load(study, [*some, Judgement("fit", Item(key), 3.0, vote)], importer="t", path="p", digest="1")
        assert labels_given(study, "fit") == [] and label_pictures(study) == []
