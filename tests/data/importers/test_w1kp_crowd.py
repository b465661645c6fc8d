"""W1KP's crowd work, made after the columns its page names and the addresses its code writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_
from sightline.errors import DataError
from sightline.records import AnnotatorKey, ImageKey, Item, Judgement, Question
from sightline.study import reading
from sightline.study.study import Study

Run = Callable[..., list[Any]]
Batch = Callable[..., Path]
HEADER = "WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.image_url,Answer.category.label,Approve,Reject\n"
HOME = "https://bucket.s3.amazonaws.com/"


def row(worker: str, shown: str, label: str, status: str = "Approved", reject: str = "") -> str:
    return f"{worker},{status},2.5,{HOME}{shown},{label},{'' if reject else 'x'},{reject}\n"


def image(seed: str) -> ImageKey:
    return ImageKey("w1kp", f"sdxl/17/{seed}/image.png")


@pytest.fixture
def batch(example: Callable[..., Path]) -> Batch:
    """A batch of these rows."""
    return lambda *rows: example("w1kp_crowd", {"batch.csv": HEADER + "".join(rows)})


def test_forced_choices(batch: Batch, run: Run) -> None:
    file = batch(
        row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A"),
        row("A2", "sdxl/17/comparison-4-5-6.jpg", "Image B is closer"),
        row("A1", "sdxl/17/comparison-4-5-5.jpg", "Image B"),
    )
    votes = run("w1kp_crowd", file, Judgement)
    triplet = Item(None, "sdxl", image("6"), image("4"), image("5"))
    assert [(v.item, v.value, v.annotator, v.control) for v in votes] == [
        (triplet, 1.0, AnnotatorKey("w1kp", "A1"), False),
        (triplet, 0.0, AnnotatorKey("w1kp", "A2"), False),
        (Item(None, "sdxl", image("5"), image("4"), image("5")), 0.0, AnnotatorKey("w1kp", "A1"), True),
    ]
    assert {v.took_ms for v in votes} == {2500}


def test_seeds_may_be_uuids(batch: Batch, run: Run) -> None:
    seeds = [f"0000000{n}-aaaa-4bbb-8ccc-dddddddddddd" for n in (1, 2, 3)]
    file = batch(row("A1", f"sdxl/17/comparison-{'-'.join(seeds)}.jpg", "Image A"))
    (vote,) = run("w1kp_crowd", file, Judgement)
    assert vote.item[2:5] == (image(seeds[2]), image(seeds[0]), image(seeds[1]))


def test_grades_of_pairs(batch: Batch, run: Run) -> None:
    file = batch(
        row("A1", "dalle3-42-true.jpg", "2 - slightly similar"),
        row("A1", "dalle3-42-fake.jpg", "5"),
    )
    assert [(v.question, v.item, v.value, v.control) for v in run("w1kp_crowd", file, Judgement)] == [
        ("alike", Item(None, "dalle3", ImageKey("w1kp_crowd", "dalle3-42-true.jpg")), 2.0, False),
        ("alike", Item(None, "dalle3", *[ImageKey("w1kp_crowd", "dalle3-42-fake.jpg")] * 2), 5.0, True),
    ]
    (question,) = run("w1kp_crowd", file, Question)
    assert (question.low, question.high, question.step) == (1.0, 5.0, 1.0)


def test_grades_in_words_want_their_order(batch: Batch, run: Run) -> None:
    file = batch(row("A1", "dalle3-42-true.jpg", "Very similar"))
    with pytest.raises(DataError, match="'Very similar' is no grade") as caught:
        run("w1kp_crowd", file)
    assert caught.value.where == "batch.csv:2" and "--option labels=" in caught.value.remedy
    ordered = "w1kp_crowd(labels='not at all, slightly similar, similar, very similar, the same')"
    assert run(ordered, file, Judgement)[0].value == 4.0


def test_rejected_work_is_left_out_and_reported(batch: Batch, run: Run, left_out: Callable[..., Any]) -> None:
    file = batch(
        row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A"),
        row("A2", "sdxl/17/comparison-4-5-6.jpg", "Image A", "Rejected"),
        row("A3", "sdxl/17/comparison-4-5-6.jpg", "Image A", "Submitted", "attention checks failed"),
    )
    assert [v.annotator.name for v in run("w1kp_crowd", file, Judgement)] == ["A1"]
    assert left_out("w1kp_crowd", file) == {
        "work that was rejected (keep it with --option rejected=true)": ["batch.csv:3", "batch.csv:4"]
    }
    assert len(run("w1kp_crowd(rejected=True)", file, Judgement)) == 3


def test_asked_twice_is_two_repetitions(batch: Batch, study: Study) -> None:
    file = batch(
        row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A"),
        row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image B"),
    )
    assert import_(study, file).counts["judgements"] == 2
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
def test_bad_rows(refuses: Callable[..., None], line: str, said: str) -> None:
    rows = HEADER + row("A1", "sdxl/17/comparison-4-5-6.jpg", "Image A") + line
    refuses("w1kp_crowd", {"batch.csv": rows}, "batch.csv:3", said)
