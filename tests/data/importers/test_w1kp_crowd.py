"""W1KP's crowd work, made after the columns its page names and the addresses its code writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sightline import registry
from sightline.data.import_ import import_
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import AnnotatorKey, ImageKey, Item, Judgement, Question, Record
from sightline.study import reading
from sightline.study.study import create_study

Run = Callable[..., list[Record]]
HEADER = "WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.image_url,Answer.category.label,Approve,Reject\n"
HOME = "https://bucket.s3.amazonaws.com/"


def row(worker: str, shown: str, label: str, status: str = "Approved", reject: str = "") -> str:
    return f"{worker},{status},2.5,{HOME}{shown},{label},{'' if reject else 'x'},{reject}\n"


def image(seed: str) -> ImageKey:
    return ImageKey("w1kp", f"sdxl/17/{seed}/image.png")


def judgements(found: list[Record]) -> list[Judgement]:
    return [record for record in found if isinstance(record, Judgement)]


def test_forced_choices(tmp_path: Path, run: Run) -> None:
    (tmp_path / "b.csv").write_text(
        HEADER
        + row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A")
        + row("A2", "sdxl/17/comparison-4-5-6.jpg", "Image B is closer")
        + row("A1", "sdxl/17/comparison-4-5-5.jpg", "Image B")
    )
    votes = judgements(run("w1kp_crowd", tmp_path / "b.csv"))
    triplet = Item(None, "sdxl", image("6"), image("4"), image("5"))
    assert [(v.item, v.value, v.annotator, v.control) for v in votes] == [
        (triplet, 1.0, AnnotatorKey("w1kp", "A1"), False),
        (triplet, 0.0, AnnotatorKey("w1kp", "A2"), False),
        (Item(None, "sdxl", image("5"), image("4"), image("5")), 0.0, AnnotatorKey("w1kp", "A1"), True),
    ]
    assert {v.took_ms for v in votes} == {2500}


def test_seeds_may_be_uuids(tmp_path: Path, run: Run) -> None:
    seeds = [f"0000000{n}-aaaa-4bbb-8ccc-dddddddddddd" for n in (1, 2, 3)]
    (tmp_path / "b.csv").write_text(
        HEADER + row("A1", f"sdxl/17/comparison-{'-'.join(seeds)}.jpg", "Image A")
    )
    (vote,) = judgements(run("w1kp_crowd", tmp_path / "b.csv"))
    assert vote.item[2:] == (image(seeds[2]), image(seeds[0]), image(seeds[1]))


def test_grades_of_pairs(tmp_path: Path, run: Run) -> None:
    (tmp_path / "b.csv").write_text(
        HEADER
        + row("A1", "dalle3-42-true.jpg", "2 - slightly similar")
        + row("A1", "dalle3-42-fake.jpg", "5")
    )
    found = run("w1kp_crowd", tmp_path / "b.csv")
    assert [(v.question, v.item, v.value, v.control) for v in judgements(found)] == [
        ("alike", Item(None, "dalle3", ImageKey("w1kp_crowd", "dalle3-42-true.jpg")), 2.0, False),
        ("alike", Item(None, "dalle3", *[ImageKey("w1kp_crowd", "dalle3-42-fake.jpg")] * 2), 5.0, True),
    ]
    (question,) = [record for record in found if isinstance(record, Question)]
    assert (question.low, question.high, question.step) == (1.0, 5.0, 1.0)


def test_grades_in_words_want_their_order(tmp_path: Path, run: Run) -> None:
    (tmp_path / "b.csv").write_text(HEADER + row("A1", "dalle3-42-true.jpg", "Very similar"))
    with pytest.raises(DataError, match="'Very similar' is no grade") as caught:
        run("w1kp_crowd", tmp_path / "b.csv")
    assert caught.value.where == "b.csv:2" and "--option labels=" in caught.value.remedy
    told = "w1kp_crowd(labels='not at all, slightly similar, similar, very similar, the same')"
    assert judgements(run(told, tmp_path / "b.csv"))[0].value == 4.0


def test_rejected_work_is_left_out_and_told_of(tmp_path: Path, run: Run) -> None:
    (tmp_path / "b.csv").write_text(
        HEADER
        + row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A")
        + row("A2", "sdxl/17/comparison-4-5-6.jpg", "Image A", "Rejected")
        + row("A3", "sdxl/17/comparison-4-5-6.jpg", "Image A", "Submitted", "attention checks failed")
    )
    source = Source(tmp_path / "b.csv")
    found = list(registry.configure("importer", "w1kp_crowd").load()(source))
    assert [v.annotator and v.annotator.name for v in judgements(found)] == ["A1"]
    assert source.skipped == {
        "work that was rejected (keep it with --option rejected=true)": ["b.csv:3", "b.csv:4"]
    }
    assert len(judgements(run("w1kp_crowd(rejected=True)", tmp_path / "b.csv"))) == 3


def test_asked_twice_is_two_occasions(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text(
        HEADER
        + row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A")
        + row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image B")
    )
    with create_study(tmp_path / "s") as study:
        assert dict(import_(study, tmp_path / "b.csv").counts) == {
            "questions": 1, "systems": 1, "collections": 1, "images": 3, "annotators": 1, "judgements": 2,
        }  # fmt: skip
        votes, _, _ = reading.votes(study, "closer_to_reference")
        assert votes.value.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (row("A1", "sdxl/17/comparison-4-5.jpg", "Image A"), "three seeds"),
        (row("A1", "sdxl/17/comparison-4--6.jpg", "Image A"), "three seeds"),
        (row("A1", "kittens.jpg", "Image A"), "says what was shown"),
        (row("A1", "sdxl/17/comparison-4-5-6.jpg", "neither"), "Image A or Image B"),
        (row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A or Image B"), "Image A or Image B"),
        (row("", "sdxl/17/comparison-4-5-6.jpg", "Image A"), "WorkerId is empty"),
        (row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A", "Pending"), "Approved, Submitted or Rejected"),
    ],
)
def test_rows_that_are_wrong_are_named(tmp_path: Path, run: Run, line: str, said: str) -> None:
    (tmp_path / "b.csv").write_text(HEADER + row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A") + line)
    with pytest.raises(DataError, match=said) as caught:
        run("w1kp_crowd", tmp_path / "b.csv")
    assert caught.value.where == "b.csv:3"
