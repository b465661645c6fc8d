"""Variability by command: scales, calibration and reuse, for people and for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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
SHADES = tuple(range(0, 240, 12))


def asked(mode: str) -> list[Record]:
    """The questions of an annotation mode."""
    return list(registry.configure("annotation_mode", mode).load()().questions)


def paint(folder: Path, prompt: str, shade: int) -> Image:
    """An image of one shade of grey."""
    file = folder / f"{prompt}-{shade}.png"
    Pillow.new("RGB", (8, 8), (shade,) * 3).save(file)
    return Image(ImageKey("greys", file.name), str(file))


def study_of(folder: Path, records: list[Record]) -> Path:
    with create_study(folder / "study") as study:
        load(study, records, importer="test", path="greys", digest="1")
    return folder / "study"


@pytest.fixture
def greys(tmp_path: Path) -> Path:
    """Five prompts of ten grey images of two systems; pairs graded by 3, triplets judged by 5 people."""
    records = [*asked("similarity_rating"), *asked("two_afc")]
    rng = np.random.default_rng(0)
    keys: list[tuple[PromptKey, int, ImageKey]] = []
    for number in range(5):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"grey {number}", {"kind": "even" if number % 2 == 0 else "odd"}))
        for place, shade in enumerate(SHADES):
            image = paint(tmp_path, str(number), shade + number)
            records += [image, Answer(prompt, ("dark", "light")[place % 2], place // 2, image.key)]
            keys.append((prompt, shade, image.key))
    for start in range(0, 100, 20):
        for _ in range(12):
            one, two, three = rng.choice(20, 3, replace=False) + start
            (prompt, shade, a), (_, other, b), (_, third, c) = keys[one], keys[two], keys[three]
            grade = 1 + int(np.searchsorted((0.3, 0.6, 0.9), 1 - abs(shade - other) / 255))
            subject, triplet = Item(prompt, None, a, b), Item(prompt, None, a, b, c)
            records += [Judgement("alike", subject, float(grade), AnnotatorKey("p", n)) for n in "xyz"]
            chosen = float(abs(shade - other) <= abs(shade - third))
            records += [
                Judgement("closer_to_reference", triplet, chosen, AnnotatorKey("p", n)) for n in "vwxyz"
            ]
    return study_of(tmp_path, records)


def test_a_scale_is_made_and_used(run: Run, greys: Path, tmp_path: Path) -> None:
    file = tmp_path / "scale.npz"
    made = run("fit-reference", greys, file, "--distance", "pixel_l2")
    # Ten systems' sets of ten images each: 10 x 45 pairs.
    assert made.code == 0 and "450 pairs" in made.out
    assert made.out.rstrip().splitlines()[-1] == (
        f"Next: sightline variability {greys} --distance pixel_l2 --reference {file}"
    )
    words = ("variability", greys, "--distance", "pixel_l2", "--reference", file)
    used = run(*words, "--json")
    assert used.code == 0
    told = used.json
    assert told["reference"]["n"] == 450 and told["reference"]["distance"] == "pixel_l2"
    names = [column["name"] for column in told["prompts"]["columns"]]
    assert names == ["prompt", "system", "similarity", "level"]
    assert {row["level"] for row in told["prompts"]["rows"]} <= {"none", "low", "medium", "high"}
    people = run(*words)
    assert people.err == "" and "DreamSim" in people.out
    assert people.out.rstrip().splitlines()[-1].startswith("Next: ")
    assert "DreamSim" not in run(*words, "--cut-offs", "0.1,0.5,0.9").out
    refused = run("variability", greys, "--distance", "ssim", "--reference", file)
    assert refused.code == 2 and "the reference is of pixel_l2, not of ssim" in refused.err


def test_few_pairs_are_told(run: Run, study: Path, tmp_path: Path) -> None:
    # 12 prompts x 2 systems with one pair each: too few even for a warning.
    refused = run("fit-reference", study, tmp_path / "scale.npz")
    assert refused.code == 3 and "24 pairs are too few" in refused.err
    assert not (tmp_path / "scale.npz").exists()


def test_cut_offs_from_graded_pairs(run: Run, greys: Path) -> None:
    words = ("calibrate", greys, "alike", "--distance", "pixel_l2")
    told = run(*words, "--json").json
    cuts = [row["from"] for row in told["cut_offs"]["rows"]]
    assert cuts == pytest.approx([0.3, 0.6, 0.9], abs=0.06)
    assert [row["people"] for row in told["confusion"]["rows"]] == ["none", "low", "medium", "high"]
    people = run(*words)
    assert people.code == 0 and people.err == ""
    assert "annotators, each against the others" in people.out and "5-fold" in people.out
    last = people.out.rstrip().splitlines()[-1]
    assert last.startswith("Next: sightline variability") and "--cut-offs 0." in last
    # What it says comes next can be run as it stands, and so can what that says.
    follow = run(*last.removeprefix("Next: sightline ").split())
    assert follow.code == 0 and "level" in follow.out
    last = follow.out.rstrip().splitlines()[-1]
    follow = run(*last.removeprefix("Next: sightline ").split())
    assert follow.code == 0 and "images before a repeat" in follow.out
    several = run(*words, "--distance", "colour_histogram", "--json").json
    assert [row["who"] for row in several["distances"]["rows"]] == [
        "pixel_l2", "colour_histogram", "annotators"
    ]  # fmt: skip


def test_distances_by_forced_choices(run: Run, greys: Path) -> None:
    words = ("calibrate", greys, "closer_to_reference")
    words += ("--distance", "colour_histogram(bins=1)", "--distance", "pixel_l2")
    found = run(*words, "--json")
    assert found.code == 0
    rows = {row["distance"]: row for row in found.json["distances"]["rows"]}
    assert list(rows) == ["oracle", "colour_histogram(bins=1)", "pixel_l2"]
    assert rows["colour_histogram(bins=1)"]["score"]["value"] == 0.5 < rows["pixel_l2"]["score"]["value"]
    (pair,) = found.json["comparisons"]["rows"]
    # Five prompts are five units: all signs alike have p = 2 / 2^5.
    assert pair["p"] == pytest.approx(1 / 16) and pair["difference"] < 0
    assert {column["name"] for column in found.json["fairness"]["columns"]} >= {"system_dark", "system_light"}
    shown = run(*words)
    assert shown.code == 0 and "count half" in shown.out
    assert (
        shown.out.rstrip()
        .splitlines()[-1]
        .startswith(f"Next: sightline variability {greys} --distance pixel_l2")
    )


def test_which_prompts_deserve_more(run: Run, greys: Path) -> None:
    words = ("reuse", greys, "--distance", "pixel_l2", "--cut-off", "0.92")
    people = run(*words, "--tag", "kind")
    assert people.code == 0 and people.err == ""
    assert "deserve more images first" in people.out and "kind=even" in people.out
    assert "Of 10 sets of images deserves more: 10." in people.out
    told = run(*words, "--json").json
    assert len(told["prompts"]["rows"]) == 10 and told["cut_off"] == 0.92
    # Images of one system are 24 shades apart, similarity .906, below the cut-off: none is a double.
    assert {row["verdict"] for row in told["prompts"]["rows"]} == {"deserves more"}
    assert {row["before"] for row in told["groups"]["rows"]} == {"more than 10"}
    assert [row["k"] for row in told["curves"]["rows"][:9]] == list(range(2, 11))
    table = list(csv.DictReader(io.StringIO(run(*words, "--csv").out)))
    assert [row["verdict"] for row in table if row["table"] == "prompts"] == ["deserves more"] * 10
    exhausted = run(*words[:-1], "0.9", "--k", "5", "--json").json
    assert {row["verdict"] for row in exhausted["prompts"]["rows"]} == {"exhausted"}
    assert max(row["k"] for row in exhausted["curves"]["rows"]) == 5


def test_shipped_scales(run: Run, greys: Path) -> None:
    for distance in ("colour_histogram", "ssim"):
        told = run("variability", greys, "--distance", distance, "--reference", "sample", "--json")
        assert told.code == 0 and told.json["reference"]["n"] >= 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("reuse STUDY", "needs a scale"),
        ("reuse STUDY --cut-off nan --distance pixel_l2", "the cut-off is nan"),
        ("reuse STUDY --reference sample --tag kin", "kind"),
        ("variability STUDY --reuse", "--reuse"),
        ("variability STUDY --cut-offs 0.5,0.2,0.9 --reference sample", "cannot read --cut-offs"),
        ("variability STUDY --cut-offs high --reference sample", "cannot read --cut-offs"),
        ("variability STUDY --cut-offs nan,nan,nan --reference sample", "cannot read --cut-offs"),
        ("variability STUDY --reference nowhere", "there is no reference 'nowhere'"),
        ("variability STUDY --distance embedding(metric=cosine) --reference sample", "not of embedding("),
        ("variability STUDY --distance sim", "ssim"),
        ("calibrate STUDY alik", "alike"),
        ("calibrate STUDY closer_to_reference --reference sample", "no scale"),
    ],
)
def test_wrong_usage(run: Run, greys: Path, words: str, said: str) -> None:
    refused = run(*(str(greys) if word == "STUDY" else word for word in words.split()))
    assert refused.code == 2 and said in refused.err and refused.out == ""


def test_blank_images_are_left_out_where_it_is_asked(run: Run, greys: Path, tmp_path: Path) -> None:
    """Every image of this study is of one colour."""
    words = ("--distance", "pixel_l2")
    assert "10 of these have an image of one colour" in run("variability", greys, *words).out
    scale = tmp_path / "scale.npz"
    assert run("fit-reference", greys, scale, *words).code == 0
    for command in (
        ["fit-reference", greys, tmp_path / "none.npz"],
        ["reuse", greys, "--reference", scale],
        ["variability", greys],
    ):
        assert run(*command, *words, "--without-blank").code == 3


@pytest.mark.slow
def test_wording(run: Run, study: Path) -> None:
    assert run("wording", study).code == 3
    assert run("variability", study, "--distance", "colour_histogram").code == 0
    told = run("wording", study, "--json").json
    features = [row["feature"] for row in told["associated"]["rows"]]
    assert "words" in features and told["measure"] == "pairwise_mean(distance=colour_histogram)"
    page = study.parent / "wording.html"
    assert "strongest first" in run("wording", study).out
    assert run("wording", study, "--to", page).code == 0
    written = page.read_text("utf-8")
    assert written.count("<svg") >= 2 and "words" in written
    assert run("wording", study, "--to", study.parent / "none" / "x.html").code != 0
    wrong = run("setting-effect", study, "guidance_scale")
    assert wrong.code == 3 and "guidance_scale" in wrong.err


# Differences of grey from black, and the grades.
GRADES = ((255, 1), (200, 1), (190, 1), (180, 1), (30, 3), (25, 3))


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Six prompts of an image beside six others; nobody says 4 or 5 but of an image beside itself."""
    records = asked("similarity_rating")
    for number in range(6):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"prompt {number}"))
        keys = {}
        for n, shade in enumerate((0, *(difference for difference, _ in GRADES))):
            image = paint(tmp_path, str(number), shade)
            keys[shade] = image.key
            records += [image, Answer(prompt, "s", n, image.key)]
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
    return study_of(tmp_path, records)


def test_each_figure_of_a_calibration_is_under_its_heading(run: Run, graded: Path) -> None:
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
    suggested = float(last.rsplit(",", 1)[1])
    assert suggested == cuts[-1] and most < suggested < most + 1e-6
