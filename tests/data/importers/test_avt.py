"""AVT: every rating of two tests, the published means, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from sightline.errors import DataError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    System,
    Truth,
)

Run = Callable[..., list[Any]]
Example = Callable[..., Path]

RATING = "user_ID,image_key,rating_type,rating\n"
MEAN = "image_key,rating\n"


@pytest.fixture(scope="module")
def published(data: Path, run: Run) -> list[Any]:
    return run("avt", data / "avt_ai_images")


def ratings(records: list[Any]) -> list[Judgement]:
    return [record for record in records if isinstance(record, Judgement)]


def test_counts(published: list[Any]) -> None:
    kinds = Counter(type(record).__name__ for record in published)
    # 61 images: five generators of eleven prompts, and six photos that are no system's answer.
    assert kinds["Image"] == 61 and kinds["Answer"] == 5 * 11 and kinds["System"] == 5
    assert kinds["Prompt"] == 27 and all(image.path for image in published if isinstance(image, Image))
    a_panel = Counter(rating.annotator.panel for rating in ratings(published) if rating.annotator)
    assert a_panel == {"avt_test1": 4_230, "avt_test2": 3_078}
    people = Counter(person.panel for person in {rating.annotator for rating in ratings(published)} if person)
    assert people == {"avt_test1": 27, "avt_test2": 28}
    assert {rating.value for rating in ratings(published)} == {1.0, 2.0, 3.0, 4.0, 5.0}
    # 61 images x 3 questions of the first test and 2 of the second.
    assert kinds["Truth"] == 61 * 5


def test_repeats_are_occasions(published: list[Any]) -> None:
    again = [rating for rating in ratings(published) if rating.repetition]
    assert {rating.annotator for rating in again} == {AnnotatorKey("avt_test2", "46")} and len(again) == 4
    assert len({(r.annotator, r.question, r.item, r.repetition) for r in ratings(published)}) == 7_308


def test_published_means_are_those_of_the_users_who_finished(published: list[Any]) -> None:
    """Users who rated fewer than 60 of the 61 images are in the raw files, but not in the published means."""
    given: Counter[AnnotatorKey | None] = Counter()
    for rating in ratings(published):
        given[rating.annotator] += 1
    finished = {
        who for who, n in given.items() if who and n >= 60 * {"avt_test1": 3, "avt_test2": 2}[who.panel]
    }
    assert Counter(who.panel for who in finished) == {"avt_test1": 22, "avt_test2": 25}
    values: dict[tuple[str, str, Item], list[float]] = {}
    for rating in ratings(published):
        if rating.annotator in finished and rating.annotator and rating.value is not None:
            rule = rating.annotator.panel.replace("avt", "published")
            values.setdefault((rule, rating.question, rating.item), []).append(rating.value)
    truths = [record for record in published if isinstance(record, Truth)]
    assert {truth.rule for truth in truths} == {"published_test1", "published_test2"}
    for truth in truths:
        assert fmean(values[truth.rule, truth.question, truth.item]) == pytest.approx(truth.value, abs=1e-9)


def test_the_example_in_full(example: Example, run: Run) -> None:
    records = [record._replace(at="") for record in run("avt", example("avt"))]
    car, cow = PromptKey("avt", "p01"), PromptKey("avt", "p02")
    made, photo = ImageKey("avt", "glide/p01"), ImageKey("avt", "own/p02")
    assert [record for record in records if isinstance(record, Prompt | Image | System | Answer)] == [
        Prompt(car, "A red car", {"category": "Drawbench"}),
        Prompt(cow, "A cow", {"category": "own"}),
        Image(made),
        System("glide"),
        Answer(car, "glide", 0, made),
        Image(photo),
    ]
    one, two = AnnotatorKey("avt_test1", "1"), AnnotatorKey("avt_test2", "1")
    given = ratings(records)
    assert given[0] == Judgement("image_appeal", Item(car, "glide", made), 2.0, one)
    assert given[3] == Judgement("image_appeal", Item(cow, None, photo), 4.0, one)
    assert [(r.question, r.value, r.annotator, r.repetition) for r in given[6:]] == [
        ("image_appeal", 1.0, two, 0),
        ("image_quality", 2.0, two, 0),
        ("image_appeal", 3.0, two, 1),
        ("image_quality", 2.0, two, 1),
    ]
    assert [(t.question, t.value, t.rule) for t in records if isinstance(t, Truth)] == [
        ("image_appeal", 2.0, "published_test2"),
        ("image_quality", 2.0, "published_test2"),
    ]


def test_means_that_are_not_here_are_reported(example: Example, left_out: Callable[..., Any]) -> None:
    assert "published means that are not here" in left_out("avt", example("avt"))


def test_images_are_all_here_or_none(example: Example, refuses: Callable[..., None], run: Run) -> None:
    images = {"images/glide/p01.png": "red", "images/glide/p99.png": "red"}
    refuses("avt", images, "raw_test1.csv:5", "there is no image of 'own/p02'")
    found = run("avt", example("avt", {**images, "images/own/p02.jpg": "red"}), Image)
    assert {image.key.name: image.path and Path(image.path).name for image in found} == {
        "glide/p01": "p01.png",
        "own/p02": "p02.jpg",
    }


@pytest.mark.parametrize("missing", ["prompts.csv", "raw_test1.csv", "raw_test2.csv"])
def test_half_of_it(example: Example, run: Run, missing: str) -> None:
    with pytest.raises(DataError, match=f"{missing} is missing, so this is only a part"):
        run("avt", example("avt", {missing: None}))


MEANS = "ratings_appeal_realism_match_mean.csv"
BAD = {
    "cut short": (
        "raw_test1.csv",
        RATING + "1,glide/p01,image_appeal,2\n",
        ":2",
        "user 1 did not answer all of",
    ),
    "off the scale": ("raw_test2.csv", RATING + "1,glide/p01,image_appeal,6\n", ":2", "rating must"),
    "another question": ("raw_test2.csv", RATING + "1,glide/p01,realism,1\n", ":2", "rating_type"),
    "another prompt": (
        "raw_test2.csv",
        RATING + "1,glide/p77,image_quality,1\n",
        ":2",
        "image_key must be SYSTEM",
    ),
    "a mean twice": (
        "test2_appeal.csv",
        MEAN + "glide/p01,2\nglide/p01,2\n",
        ":3",
        "raw_test2.csv rates, once",
    ),
    "a mean off the scale": ("test2_appeal.csv", MEAN + "glide/p01,7\n", ":2", "between 1 and 5"),
    "means cut short": (
        MEANS,
        "image_key,appeal_mean,realism_mean,prompt_matching_mean\nglide/p01,2,3,5\n",
        "",
        "own/p02 is missing",
    ),
    "another data set": ("raw_test1.csv", "name,value\nx,1\n", ":1", "no column user_ID"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(refuses: Callable[..., None], name: str) -> None:
    file, text, line, what = BAD[name]
    refuses("avt", {file: text}, file + line, what)
