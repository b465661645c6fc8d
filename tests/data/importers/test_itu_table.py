"""Presentation x subject tables of ITU's recommendations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.data.import_ import recognise
from sightline.errors import DataError
from sightline.records import Image, Judgement, Question, Record

Run = Callable[..., list[Record]]
TABLE = "presentation,Subject 1,Subject 2,Subject 3\na.png,5,4,\nb.png,,,1\na.png,4,4,2\n"


def votes(found: list[Record]) -> list[tuple[str, str, float | None, int, str]]:
    return [
        (j.item.image.name, j.annotator.name, j.value, j.repetition, j.at)
        for j in found
        if isinstance(j, Judgement) and j.item.image is not None and j.annotator is not None
    ]


def test_a_cell_is_a_vote_and_an_empty_one_is_none(tmp_path: Path, run: Run) -> None:
    (tmp_path / "v.csv").write_text(TABLE)
    found = run("itu_table", tmp_path / "v.csv")
    # 2 + 1 + 3 cells are filled; the second presentation of a.png is another repetition.
    assert votes(found) == [
        ("a.png", "Subject 1", 5.0, 0, "v.csv:2"),
        ("a.png", "Subject 2", 4.0, 0, "v.csv:2"),
        ("b.png", "Subject 3", 1.0, 0, "v.csv:3"),
        ("a.png", "Subject 1", 4.0, 1, "v.csv:4"),
        ("a.png", "Subject 2", 4.0, 1, "v.csv:4"),
        ("a.png", "Subject 3", 2.0, 1, "v.csv:4"),
    ]
    (question,) = [record for record in found if isinstance(record, Question)]
    assert (question.name, question.scale, question.low, question.high, question.step) == (
        "quality", "ordinal", 1.0, 5.0, 1.0,
    )  # fmt: skip
    assert [(image.key.name, image.path) for image in found if isinstance(image, Image)] == [
        ("a.png", None),
        ("b.png", None),
    ]


def test_images_beside_the_table_come_along(tmp_path: Path, run: Run, png: bytes) -> None:
    (tmp_path / "v.csv").write_text(TABLE)
    for file in ("a.png", "b.png"):
        (tmp_path / file).write_bytes(png)
    found = [record for record in run("itu_table", tmp_path / "v.csv") if isinstance(record, Image)]
    assert [image.path for image in found] == [str(tmp_path / "a.png"), str(tmp_path / "b.png")]
    (tmp_path / "b.png").unlink()
    with pytest.raises(DataError, match=r"there is no image 'b.png'"):
        run("itu_table", tmp_path / "v.csv")


@pytest.mark.parametrize(
    "header",
    ["PVS,s1,s2", "stimulus,obs_01,obs_02", "image,1,2", "file,Viewer-1,Viewer-2", "item,rater 1,rater 2"],
)
def test_headers_that_are_such_tables(tmp_path: Path, header: str) -> None:
    (tmp_path / "v.csv").write_text(f"{header}\na.png,5,4\n")
    assert recognise(tmp_path / "v.csv")[0].name == "itu_table"


@pytest.mark.parametrize("header", ["image,score,s1", "presentation,first,second", "s1,s2,s3"])
def test_headers_that_are_not(tmp_path: Path, header: str) -> None:
    (tmp_path / "v.csv").write_text(f"{header}\na.png,5,4\n")
    with pytest.raises(DataError):
        recognise(tmp_path / "v.csv")


@pytest.mark.parametrize("cell", ["6", "0", "2.5", "good", "NaN"])
def test_a_vote_off_the_scale_is_named(tmp_path: Path, run: Run, cell: str) -> None:
    (tmp_path / "v.csv").write_text(f"presentation,s1,s2\na.png,5,4\nb.png,3,{cell}\n")
    with pytest.raises(DataError, match="s2 must be") as caught:
        run("itu_table", tmp_path / "v.csv")
    assert caught.value.where == "v.csv:3"


def test_another_scale_can_be_named(tmp_path: Path, run: Run) -> None:
    (tmp_path / "v.csv").write_text("presentation,s1,s2\na.png,62.5,100\n")
    found = run("itu_table(low=0.0, high=100.0, step=0.0)", tmp_path / "v.csv")
    assert [vote[2] for vote in votes(found)] == [62.5, 100.0]
    assert next(q for q in found if isinstance(q, Question)).scale == "interval"


def test_the_same_subject_twice_is_refused(tmp_path: Path, run: Run) -> None:
    (tmp_path / "v.csv").write_text("presentation,s1,s1\na.png,5,4\n")
    with pytest.raises(DataError, match="two columns called 's1'"):
        run("itu_table", tmp_path / "v.csv")
