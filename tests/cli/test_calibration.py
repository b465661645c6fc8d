"""sightline calibrate: each figure under its own heading, cut-offs to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from sightline import registry
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
)
from sightline.study.study import create_study
from sightline.study.writing.loading import load

Run = Callable[..., Any]
# Differences of grey from black, and the grades.
GRADES = ((255, 1), (200, 1), (190, 1), (180, 1), (30, 3), (25, 3))


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Six prompts of an image beside six others; nobody says 4 or 5 but of an image beside itself."""
    records: list[Record] = list(
        registry.configure("annotation_mode", "similarity_rating").load()().questions
    )
    for number in range(6):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"prompt {number}"))
        keys = {}
        for n, shade in enumerate((0, *(difference for difference, _ in GRADES))):
            file = tmp_path / f"{number}-{shade}.png"
            Pillow.new("RGB", (8, 8), (shade, shade, shade)).save(file)
            keys[shade] = ImageKey("greys", file.name)
            records += [Image(keys[shade], str(file)), Answer(prompt, "s", n, keys[shade])]
        for difference, grade in GRADES:
            # In two prompts one pair of grade 3 looks nothing alike, and no cut-off puts that right.
            given = 3 if difference == 255 and number < 2 else grade
            pair = Item(prompt, None, keys[0], keys[difference])
            # c is wrong about every 3, d about everything; d fails the attention check.
            values = {"a": given, "b": given, "c": 1, "d": 4 - given}
            records += [Judgement("alike", pair, float(v), AnnotatorKey("p", n)) for n, v in values.items()]
        twice = Item(prompt, None, keys[0], keys[0])
        for name in "abcd":
            value = 1.0 if name == "d" else 5.0
            records.append(Judgement("alike", twice, value, AnnotatorKey("p", name)))
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="greys", digest="1")
    return tmp_path / "study"


def test_each_figure_is_under_its_heading(run: Run, graded: Path) -> None:
    words = ("calibrate", graded, "alike", "--distance", "pixel_l2")
    told = run(*words, "--json").json
    rows = {row["who"]: row for row in told["accuracy"]["rows"]}
    # 36 pairs: 14 of grade 3, of which 12 can be told, and 22 of grade 1, all of which can.
    mine = rows["pixel_l2"]
    assert mine["micro"]["value"] == pytest.approx(34 / 36)
    assert mine["macro"]["value"] == pytest.approx((12 / 14 + 1) / 2)
    # a and b are always right, c about the 1s alone: 2 x 36 + 22 of 108, and by grade 2/3 and 1.
    people = rows["annotators"]
    assert people["micro"]["value"] == pytest.approx(94 / 108)
    assert people["macro"]["value"] == pytest.approx((2 / 3 + 1) / 2)
    # Of a 3 a and b stand between 3 and 1, half right each, and c alone.
    others = rows["annotators, each against the others"]
    assert others["micro"]["value"] == pytest.approx((22 * 3 + 14 * 1) / 108)


def test_who_was_left_out_is_told(run: Run, graded: Path) -> None:
    words = ("calibrate", graded, "alike", "--distance", "pixel_l2")
    told = run(*words, "--json").json
    assert told["excluded"] == {"failed": 1, "before": 0}
    assert told["without"] == {"attention check: an image with itself": 6}
    said = run(*words).out
    assert "Excluded with all their votes: 1 who failed an attention check." in said
    assert "6 (attention check: an image with itself)" in said and "Excluded before" not in said


def test_a_level_nobody_gave_stays_out_of_reach(run: Run, graded: Path) -> None:
    """Nobody called any pair high: its cut-off is just above the most similar, not rounded down to it."""
    words = ("calibrate", graded, "alike", "--distance", "pixel_l2")
    cuts = [row["from"] for row in run(*words, "--json").json["cut_offs"]["rows"]]
    most = 1 - 25 / 255
    last = run(*words).out.rstrip().splitlines()[-1]
    suggested = float(last.rsplit("--cut-off ", 1)[1])
    assert suggested == cuts[-1] and most < suggested < most + 1e-6
