"""AVT: every rating of two tests, the published means, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from sightline.data.import_ import import_
from sightline.data.imports import undo
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
    Record,
    System,
    Truth,
)
from sightline.study.study import create_study

Run = Callable[..., list[Record]]
Small = Callable[..., Path]

RATING = "user_ID,image_key,rating_type,rating\n"
FILES = {
    "prompts": "ID,prompts,category\np01,A red car,Drawbench\np02,A cow,own\n",
    "raw_test1": RATING
    + "1,glide/p01,image_appeal,2\n1,glide/p01,realism,3\n1,glide/p01,prompt_matching,5\n"
    + "1,own/p02,image_appeal,4\n1,own/p02,realism,5\n1,own/p02,prompt_matching,5\n",
    "raw_test2": RATING
    + "1,glide/p01,image_appeal,1\n1,glide/p01,image_quality,2\n"
    + "1,glide/p01,image_appeal,3\n1,glide/p01,image_quality,2\n",
    "test2_appeal": "image_key,rating,std,prompt\nglide/p01,2,1.4,p01\n",
    "test2_quality": "image_key,rating,std,prompt\nglide/p01,2,0,p01\n",
}


@pytest.fixture(scope="module")
def published(data: Path) -> list[Record]:
    from sightline import registry
    from sightline.data.sources import Source

    return list(registry.configure("importer", "avt").load()(Source(data / "avt_ai_images")))


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """Two tests of two images; files a test names are put in place of others, or left out."""

    def write(**changed: str | None) -> Path:
        folder = tmp_path / "box"
        folder.mkdir(exist_ok=True)
        for name, text in (FILES | changed).items():
            if text is not None:
                (folder / f"{name}.csv").write_text(text)
        return folder

    return write


def ratings(records: list[Record]) -> list[Judgement]:
    return [record for record in records if isinstance(record, Judgement)]


def test_counts(published: list[Record]) -> None:
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


def test_repeats_are_occasions(published: list[Record]) -> None:
    again = [rating for rating in ratings(published) if rating.repetition]
    assert {rating.annotator for rating in again} == {AnnotatorKey("avt_test2", "46")} and len(again) == 4
    assert len({(r.annotator, r.question, r.item, r.repetition) for r in ratings(published)}) == 7_308


def test_published_means_are_those_of_the_users_who_finished(published: list[Record]) -> None:
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


def test_a_small_one_in_full(small: Small, run: Run) -> None:
    found = [record._replace(at="") for record in run("avt", small())]
    car, cow = PromptKey("avt", "p01"), PromptKey("avt", "p02")
    assert [record for record in found if isinstance(record, Prompt)] == [
        Prompt(car, "A red car", {"category": "Drawbench"}),
        Prompt(cow, "A cow", {"category": "own"}),
    ]
    made, photo = ImageKey("avt", "glide/p01"), ImageKey("avt", "own/p02")
    assert [record for record in found if isinstance(record, Image | System | Answer)] == [
        Image(made),
        System("glide"),
        Answer(car, "glide", 0, made),
        Image(photo),
    ]
    one, two = AnnotatorKey("avt_test1", "1"), AnnotatorKey("avt_test2", "1")
    given = ratings(found)
    assert given[0] == Judgement("image_appeal", Item(car, "glide", made), 2.0, one)
    assert given[3] == Judgement("image_appeal", Item(cow, None, photo), 4.0, one)
    assert [(r.question, r.value, r.annotator, r.repetition) for r in given[6:]] == [
        ("image_appeal", 1.0, two, 0),
        ("image_quality", 2.0, two, 0),
        ("image_appeal", 3.0, two, 1),
        ("image_quality", 2.0, two, 1),
    ]
    assert [(t.question, t.value, t.rule) for t in found if isinstance(t, Truth)] == [
        ("image_appeal", 2.0, "published_test2"),
        ("image_quality", 2.0, "published_test2"),
    ]


def test_it_comes_in_once_and_goes_without_a_trace(small: Small, tmp_path: Path) -> None:
    with create_study(tmp_path / "study") as study:
        first = import_(study, small())
        assert first.layout == "avt" and first.number is not None
        assert "published means that are not here" in {each.reason for each in first.skipped}
        assert import_(study, small()).already
        undo(study, first.number)
        assert import_(study, small()).counts == first.counts


def test_images_are_all_here_or_none(small: Small, run: Run, png: bytes) -> None:
    folder = small()
    for name in ("glide/p01.png", "glide/p99.png"):
        (folder / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "images" / name).write_bytes(png)
    with pytest.raises(DataError, match="there is no image of 'own/p02'") as caught:
        run("avt", folder)
    assert caught.value.where == "raw_test1.csv:5"
    (folder / "images" / "own").mkdir()
    (folder / "images" / "own" / "p02.jpg").write_bytes(png)
    found = [record for record in run("avt", folder) if isinstance(record, Image)]
    assert {image.key.name: image.path and Path(image.path).name for image in found} == {
        "glide/p01": "p01.png",
        "own/p02": "p02.jpg",
    }


@pytest.mark.parametrize("missing", ["prompts", "raw_test1", "raw_test2"])
def test_half_of_it(small: Small, run: Run, missing: str) -> None:
    with pytest.raises(DataError, match=f"{missing}.csv is missing, so this is only a part"):
        run("avt", small(**{missing: None}))


BAD: dict[str, tuple[dict[str, str | None], str, str]] = {
    "cut short": (
        {"raw_test1": FILES["raw_test1"].rsplit("1,own", 1)[0]},
        "raw_test1.csv:6",
        "user 1 did not answer all of",
    ),
    "off the scale": (
        {"raw_test2": RATING + "1,glide/p01,image_appeal,6\n"},
        "raw_test2.csv:2",
        "rating must",
    ),
    "another question": ({"raw_test2": RATING + "1,glide/p01,realism,1\n"}, "raw_test2.csv:2", "rating_type"),
    "another prompt": (
        {"raw_test2": RATING + "1,glide/p77,image_quality,1\n"},
        "raw_test2.csv:2",
        "image_key must be SYSTEM/PROMPT",
    ),
    "a mean twice": (
        {"test2_appeal": "image_key,rating\nglide/p01,2\nglide/p01,2\n"},
        "test2_appeal.csv:3",
        "image_key must be an image that raw_test2.csv rates, once",
    ),
    "a mean off the scale": (
        {"test2_appeal": "image_key,rating\nglide/p01,7\n"},
        "test2_appeal.csv:2",
        "between 1 and 5",
    ),
    "means cut short": (
        {
            "ratings_appeal_realism_match_mean": "image_key,appeal_mean,realism_mean,prompt_matching_mean\n"
            "glide/p01,2,3,5\n"
        },
        "ratings_appeal_realism_match_mean.csv",
        "own/p02 is missing",
    ),
    "another data set": ({"raw_test1": "name,value\nx,1\n"}, "raw_test1.csv:1", "no column user_ID"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(small: Small, run: Run, name: str) -> None:
    changed, where, what = BAD[name]
    with pytest.raises(DataError, match=what) as caught:
        run("avt", small(**changed))
    assert caught.value.where == where and caught.value.remedy
