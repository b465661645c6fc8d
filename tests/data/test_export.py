"""Exporting: what goes out comes back by import as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from PIL import Image as Pillow

import sightline
from sightline.data.export import TABLES
from sightline.errors import DataError, StudyError, UsageError
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    ImageTag,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.study import listing, reading
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing import settling
from sightline.study.writing.loading import load

A, B = PromptKey("mine", "a"), PromptKey("mine", "b")
ONE, TWO, THREE = (ImageKey("pictures", name) for name in ("one/1.png", "one/2.png", "photo 3"))
ANN = AnnotatorKey("people", "ann")
# In this order each table finds what it names.
BACK = ("prompts", "captions", "answers", "judgements", "truths")


def records(tmp_path: Path) -> Iterator[Record]:
    Pillow.new("RGB", (8, 8), (9, 0, 0)).save(tmp_path / "1.png")
    yield Question("quality", "interval", 0, 5, 0.5, direction="higher")
    yield Question("which", "nominal", 0, 1)
    yield Prompt(
        A, 'a "red" ball,\nround', {"split": "train", "hard": "no"}, expects={"objects": [{"kind": "ball"}]}
    )
    yield Prompt(B, "zwei Hündchen 🐕", {"split": "test"}, [("builds_on", A), ("rephrases", A)])
    yield System("search", "retriever", "pictures")
    yield Image(ONE, str(tmp_path / "1.png"), tags={"blur": "=strong"})
    yield Image(THREE, captions=["a photo", "another, longer one"])
    yield Answer(
        A, "paint", 0, ONE, seed=2**40, settings={"steps": 30, "scale": 7.5, "name": "x", "fast": True}
    )
    yield ImageTag(ONE, "blur", "weak", B)
    yield Answer(A, "paint", 1, None, seed=6, failure="refused")
    yield Answer(B, "paint", 0, TWO)
    yield Answer(B, "search", 0, THREE, 0.75)
    yield Answer(B, "search", 1, ONE, 0.1)
    yield Judgement("quality", Item(A, image=ONE), 4.5, ANN, session="s1", control=True, took_ms=900)
    yield Judgement("quality", Item(A, image=ONE), 3, ANN, revision=1, time="2024-05-01T12:30:00Z")
    yield Judgement("quality", Item(B, "paint", TWO), None, ANN, skipped="cannot tell", repetition=1)
    yield Judgement("quality", Item(B, image=TWO), 2, None, 7)
    yield Judgement("which", Item(B, None, TWO, THREE), 1, AnnotatorKey("others", "ann"))
    yield Truth("quality", Item(A), 3.25, 3, 3.5, 12)
    yield Truth("quality", Item(system="paint"), 2)
    yield Truth("which", Item(B, image=ONE, image_b=TWO, image_c=THREE), 1, rule="majority")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        load(made, records(tmp_path), importer="test", path="test", digest="test")
        yield made


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_what_goes_out_comes_back(study: Study, tmp_path: Path, form: str) -> None:
    sightline.export(study, tmp_path / "out", form=form)
    with create_study(tmp_path / "back") as back:
        for table in BACK:
            assert sightline.import_(back, tmp_path / "out" / f"{table}.{form}").layout == table
        sightline.export(back, tmp_path / "again", form="parquet")
    sightline.export(study, tmp_path / "first", form="parquet")
    for table in [*BACK, "tags", "links"]:
        before = pl.read_parquet(tmp_path / "first" / f"{table}.parquet")
        after = pl.read_parquet(tmp_path / "again" / f"{table}.parquet")
        # The order of tags, settings and systems is that in which they came.
        assert set(before.columns) == set(after.columns), table
        columns = sorted(before.columns)
        rows = sorted(map(repr, before.select(columns).iter_rows()))
        assert rows == sorted(map(repr, after.select(columns).iter_rows())), table
        assert before.height > 0


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_tags_of_images_come_back_with_the_folder(study: Study, tmp_path: Path, form: str) -> None:
    sightline.export(study, tmp_path / "out", form=form)
    with create_study(tmp_path / "back") as back:
        sightline.import_(back, tmp_path / "out")
        assert listing.named_image_tags(back).rows() == [
            (*ONE, None, None, "blur", "=strong"),
            (*ONE, *B, "blur", "weak"),
        ]
        sightline.undo(back, 1)
        assert listing.named_image_tags(back).is_empty()


def test_what_is_written_is_told(study: Study, tmp_path: Path) -> None:
    sightline.score(study, ["words", "blank"])
    told = sightline.export(study, tmp_path / "out")
    assert told.rows == {
        "prompts": 2, "tags": 3, "links": 2, "systems": 2, "answers": 5, "images": 3,
        "image_tags": 2, "captions": 2, "scenes": 0, "references": 0, "questions": 2, "annotators": 2,
        "controls": 0, "rounds": 0,
        "round_items": 0, "tasks": 0, "judgements": 5, "truths": 3, "scores": 3, "predictions": 0,
        "remarks": 0,
    }  # fmt: skip
    assert {Path(file).name for file in told.files} == {
        *(f"{name}.csv" for name in TABLES),
        "study.toml",
        "sightline-export.json",
    }
    scores = pl.read_csv(tmp_path / "out" / "scores.csv")
    # 'a "red" ball, round' has four words.
    assert scores.filter(measure="words", prompt_id="a")["value"].to_list() == [4.0]
    images = pl.read_csv(tmp_path / "out" / "images.csv")
    assert images.filter(image="one/1.png").select("width", "height").row(0) == (8, 8)


def test_predictions_go_out_by_names(tmp_path: Path) -> None:
    keys = [PromptKey("s", str(n)) for n in range(48)]
    texts = [f"{n} red balls and {'a' if n % 2 else 'no'} cup" for n in range(48)]
    told: list[Record] = [Prompt(key, text) for key, text in zip(keys, texts, strict=True)]
    told += [Truth("ease", Item(key), n % 2) for n, key in enumerate(keys)]
    with create_study(tmp_path / "s") as study:
        load(study, told, importer="test", path="test", digest="test")
        sightline.fit(study, "ease", predictor="mean")
        sightline.export(study, tmp_path / "out", form="parquet", tables=["predictions"])
    found = pl.read_parquet(tmp_path / "out" / "predictions.parquet")
    assert set(found["prompt_id"]) == {key.ref for key in keys}
    assert set(found.select("question", "rule", "predictor", "suite").iter_rows()) == {
        ("ease", "published", "mean", "s")
    }
    # The mean of other folds: near the mean of all, a half.
    assert all(0.3 < value < 0.7 for value in found["value"])


def test_some_tables_in_another_form(study: Study, tmp_path: Path) -> None:
    told = sightline.export(study, tmp_path / "out", form="jsonl", tables=["captions", "tags"])
    assert list(told.rows) == ["captions", "tags"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "captions.jsonl",
        "sightline-export.json",
        "tags.jsonl",
    ]
    first = json.loads((tmp_path / "out" / "captions.jsonl").read_text().splitlines()[0])
    assert first == {"collection": "pictures", "image": "photo 3", "caption": "a photo"}


def test_the_newest_settlement_goes_out_and_reasons_are_kept(study: Study, tmp_path: Path) -> None:
    key, _ = reading.question(study, "quality")
    subjects = reading.truths(study, "quality")["item_id"].to_list()
    settling.settle(study, key, "mean", "", [(subjects[0], 1.0, None, None, 3, None)], 1)
    rows = [(subjects[0], 2.0, None, None, 4, None), (subjects[1], None, None, None, 1, "too few votes")]
    settling.settle(study, key, "mean", "", rows, 1)
    told = sightline.export(study, tmp_path / "out", tables="truths")
    assert told.rows == {"truths": 4, "unsettled": 1}
    truths = pl.read_csv(tmp_path / "out" / "truths.csv")
    assert truths.filter(rule="mean")["value"].to_list() == [2.0]
    assert pl.read_csv(tmp_path / "out" / "unsettled.csv")["reason"].to_list() == ["too few votes"]


def test_a_pair_across_collections_says_so(study: Study, tmp_path: Path) -> None:
    pair = Item(A, None, ONE, ImageKey("elsewhere", "x"))
    load(study, [Judgement("which", pair, 0, ANN)], importer="test", path="pair", digest="pair")
    sightline.export(study, tmp_path / "out", tables="judgements")
    found = pl.read_csv(tmp_path / "out" / "judgements.csv").filter(pl.col("collection_b") == "elsewhere")
    assert found.select("collection", "image", "image_b").row(0) == ("pictures", "one/1.png", "x")


def test_the_whole_study_as_a_copy(study: Study, tmp_path: Path) -> None:
    told = sightline.export(study, tmp_path / "copy", form="study")
    assert told.rows["judgement"] == 5
    with open_study(tmp_path / "copy") as copy:
        assert reading.counts(copy) == reading.counts(study)
        sha = reading.images(copy)["sha256"][0]
        assert copy.files.read(sha) == study.files.read(sha)


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ({"form": "cvs"}, UsageError, "Did you mean csv"),
        ({"tables": ["prompt"]}, UsageError, "Did you mean prompts"),
        ({"form": "study", "tables": "prompts"}, UsageError, "holds all tables"),
        ({"to": "file"}, StudyError, "there is a file of that name"),
    ],
)
def test_wrong_calls_are_told(
    study: Study, tmp_path: Path, told: dict[str, object], error: type[Exception], said: str
) -> None:
    (tmp_path / "file").touch()
    call = {"to": "out", **told}
    call["to"] = tmp_path / str(call["to"])
    with pytest.raises(error, match=said):
        sightline.export(study, **call)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_an_empty_study_is_told(tmp_path: Path) -> None:
    with create_study(tmp_path / "empty") as empty, pytest.raises(DataError, match="empty"):
        sightline.export(empty, tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="not needed here: permissions do not hold for root")
def test_a_folder_that_cannot_be_written(study: Study, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(StudyError, match="cannot write here"):
        sightline.export(study, tmp_path / "locked")


def test_a_folder_below_a_file_cannot_be_written(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="cannot write here"):
        sightline.export(study, tmp_path / "file" / "out")


def test_rules_and_questions_go_along(tmp_path: Path) -> None:
    with create_study(tmp_path / "a", settings='[truth]\nrule = "median"\n') as study:
        load(study, [Prompt(A, "a ball")], importer="t", path="p", digest="1")
        found = sightline.export(study, tmp_path / "out")
        assert str(tmp_path / "out" / "study.toml") in found.files
    assert 'rule = "median"' in (tmp_path / "out" / "study.toml").read_text()
