"""Presentation x subject tables of ITU's recommendations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import recognise
from sightline.errors import DataError
from sightline.records import Image, Judgement, Question

Run = Callable[..., list[Any]]
Example = Callable[..., Path]
Refuses = Callable[..., None]


def test_a_cell_is_a_vote_and_an_empty_one_is_none(example: Example, run: Run) -> None:
    table = example("itu_table")
    votes = run("itu_table", table, Judgement)
    # 2 + 1 + 3 cells are filled; the second presentation of a.png is another repetition.
    assert [(j.item.image.name, j.annotator.name, j.value, j.repetition, j.at) for j in votes] == [
        ("a.png", "Subject 1", 5.0, 0, "votes.csv:2"),
        ("a.png", "Subject 2", 4.0, 0, "votes.csv:2"),
        ("b.png", "Subject 3", 1.0, 0, "votes.csv:3"),
        ("a.png", "Subject 1", 4.0, 1, "votes.csv:4"),
        ("a.png", "Subject 2", 4.0, 1, "votes.csv:4"),
        ("a.png", "Subject 3", 2.0, 1, "votes.csv:4"),
    ]
    assert run("itu_table", table, Question) == [
        Question("quality", "ordinal", 1.0, 5.0, 1.0, at="votes.csv:1")
    ]
    images = run("itu_table", table, Image)
    assert [(image.key.name, image.path) for image in images] == [("a.png", None), ("b.png", None)]


def test_images_next_to_the_table_are_imported(example: Example, run: Run, refuses: Refuses) -> None:
    refuses("itu_table", {"a.png": "red"}, "votes.csv:3", r"there is no image 'b.png'")
    table = example("itu_table", {"a.png": "red", "b.png": "tan"})
    images = run("itu_table", table, Image)
    assert [image.path for image in images] == [str(table.with_name(name)) for name in ("a.png", "b.png")]


@pytest.mark.parametrize(
    "header",
    ["PVS,s1,s2", "stimulus,obs_01,obs_02", "image,1,2", "file,Viewer-1,Viewer-2", "item,rater 1,rater 2"],
)
def test_headers_that_are_such_tables(example: Example, header: str) -> None:
    table = example("itu_table", {"votes.csv": f"{header}\na.png,5,4\n"})
    assert recognise(table)[0].name == "itu_table"


@pytest.mark.parametrize("header", ["image,score,s1", "presentation,first,second", "s1,s2,s3"])
def test_headers_that_are_not(example: Example, header: str) -> None:
    with pytest.raises(DataError):
        recognise(example("itu_table", {"votes.csv": f"{header}\na.png,5,4\n"}))


@pytest.mark.parametrize("cell", ["6", "0", "2.5", "good", "NaN"])
def test_a_vote_off_the_scale_is_named(refuses: Refuses, cell: str) -> None:
    table = f"presentation,s1,s2\na.png,5,4\nb.png,3,{cell}\n"
    refuses("itu_table", {"votes.csv": table}, "votes.csv:3", "s2 must be")


def test_another_scale_can_be_named(example: Example, run: Run) -> None:
    table = example("itu_table", {"votes.csv": "presentation,s1,s2\na.png,62.5,100\n"})
    question, _, *votes = run("itu_table(low=0.0, high=100.0, step=0.0)", table)
    assert [vote.value for vote in votes] == [62.5, 100.0] and question.scale == "interval"


def test_the_same_subject_twice_is_refused(refuses: Refuses) -> None:
    table = {"votes.csv": "presentation,s1,s1\na.png,5,4\n"}
    refuses("itu_table", table, "votes.csv:1", "two columns called 's1'")
