"""sightline variability: scales, calibration and reuse, for people and for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

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


@pytest.fixture
def greys(tmp_path: Path) -> Path:
    """Five prompts of ten grey images of two systems; pairs graded by 3, triplets judged by 5 people."""
    from sightline import registry

    modes = [
        registry.configure("annotation_mode", name).load()() for name in ("similarity_rating", "two_afc")
    ]
    records: list[Record] = [question for mode in modes for question in mode.questions]
    rng = np.random.default_rng(0)
    keys: list[tuple[PromptKey, int, ImageKey]] = []
    for number in range(5):
        prompt = PromptKey("s", str(number))
        records.append(Prompt(prompt, f"grey {number}", {"kind": "even" if number % 2 == 0 else "odd"}))
        for place, shade in enumerate(SHADES):
            file = tmp_path / f"{number}-{place}.png"
            Pillow.new("RGB", (8, 8), (shade + number,) * 3).save(file)
            image = ImageKey("greys", file.name)
            system = ("dark", "light")[place % 2]
            records += [Image(image, str(file)), Answer(prompt, system, place // 2, image)]
            keys.append((prompt, shade, image))
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
    with create_study(tmp_path / "study") as study:
        load(study, records, importer="test", path="greys", digest="1")
    return tmp_path / "study"


def test_a_scale_is_made_and_used(run: Run, greys: Path, tmp_path: Path) -> None:
    file = tmp_path / "scale.npz"
    made = run("variability", greys, "--distance", "pixel_l2", "--fit-reference", file)
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
    refused = run("variability", study, "--fit-reference", tmp_path / "scale.npz")
    assert refused.code == 3 and "24 pairs are too few" in refused.err
    assert not (tmp_path / "scale.npz").exists()


def test_cut_offs_from_graded_pairs(run: Run, greys: Path) -> None:
    words = ("variability", greys, "--distance", "pixel_l2", "--calibrate", "alike")
    told = run(*words, "--json").json
    cuts = [row["from"] for row in told["cut_offs"]["rows"]]
    assert cuts == pytest.approx([0.3, 0.6, 0.9], abs=0.06)
    assert [row["people"] for row in told["confusion"]["rows"]] == ["none", "low", "medium", "high"]
    people = run(*words)
    assert people.code == 0 and people.err == ""
    assert "annotators, each against the others" in people.out and "5-fold" in people.out
    last = people.out.rstrip().splitlines()[-1]
    assert last.startswith("Next: sightline variability") and "--cut-offs 0." in last
    # What it says comes next can be run as it stands.
    follow = run(*last.removeprefix("Next: sightline ").split())
    assert follow.code == 0 and "images before a repeat" in follow.out
    several = run(*words, "--distance", "ssim")
    assert several.code == 2 and "one distance" in several.err


def test_distances_by_forced_choices(run: Run, greys: Path) -> None:
    words = ("variability", greys, "--distance", "colour_histogram(bins=1)", "--distance", "pixel_l2")
    found = run(*words, "--calibrate", "closer_to_reference", "--json")
    assert found.code == 0
    rows = {row["distance"]: row for row in found.json["distances"]["rows"]}
    assert list(rows) == ["oracle", "colour_histogram(bins=1)", "pixel_l2"]
    assert rows["colour_histogram(bins=1)"]["score"]["value"] == 0.5 < rows["pixel_l2"]["score"]["value"]
    (pair,) = found.json["comparisons"]["rows"]
    # Five prompts are five units: all signs alike have p = 2 / 2^5.
    assert pair["p"] == pytest.approx(1 / 16) and pair["difference"] < 0
    assert {column["name"] for column in found.json["fairness"]["columns"]} >= {"system_dark", "system_light"}
    shown = run(*words, "--calibrate", "closer_to_reference")
    assert shown.code == 0 and "count half" in shown.out
    assert (
        shown.out.rstrip()
        .splitlines()[-1]
        .startswith(f"Next: sightline variability {greys} --distance pixel_l2")
    )


def test_which_prompts_deserve_more(run: Run, greys: Path) -> None:
    words = ("variability", greys, "--distance", "pixel_l2", "--reuse", "--cut-offs", "0.2,0.4,0.92")
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
    assert len(table) == 10 and table[0]["verdict"] == "deserves more"
    exhausted = run(*words[:-1], "0.2,0.4,0.9", "--k", "5", "--json").json
    assert {row["verdict"] for row in exhausted["prompts"]["rows"]} == {"exhausted"}
    assert max(row["k"] for row in exhausted["curves"]["rows"]) == 5


def test_shipped_scales(run: Run, greys: Path) -> None:
    for distance in ("colour_histogram", "ssim"):
        told = run("variability", greys, "--distance", distance, "--reference", "sample", "--json")
        assert told.code == 0 and told.json["reference"]["n"] >= 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reuse"], "needs a scale"),
        (["--reuse", "--calibrate", "alike"], "three different tasks"),
        (["--tag", "kind"], "belong to --reuse"),
        (["--k", "4"], "belong to --reuse"),
        (["--distance", "ssim", "--distance", "pixel_l2"], "several distances"),
        (["--cut-offs", "0.5,0.2,0.9", "--reference", "sample"], "cannot read --cut-offs"),
        (["--cut-offs", "high", "--reference", "sample"], "cannot read --cut-offs"),
        (["--cut-offs", "nan,nan,nan", "--reference", "sample"], "cannot read --cut-offs"),
        (["--cut-offs", "0.2,0.4,0.8"], "levels on a scale"),
        (["--fit-reference", "x.npz", "--reference", "sample"], "a scale of its own"),
        (["--calibrate", "alike", "--without-blank"], "images people judged"),
        (["--reference", "nowhere"], "there is no reference 'nowhere'"),
        (["--distance", "embedding(metric=cosine)", "--reference", "sample"], "not of embedding(metric"),
        (["--calibrate", "alik"], "alike"),
        (["--reuse", "--reference", "sample", "--tag", "kin"], "kind"),
        (["--distance", "sim"], "ssim"),
    ],
)
def test_wrong_usage(run: Run, greys: Path, words: list[str], said: str) -> None:
    refused = run("variability", greys, *words)
    assert refused.code == 2 and said in refused.err and refused.out == ""


def test_blank_images_are_left_out_where_it_is_asked(run: Run, greys: Path, tmp_path: Path) -> None:
    """Every image of this study is of one colour."""
    words = ("--distance", "pixel_l2")
    assert "10 of these hold an image of one colour" in run("variability", greys, *words).out
    scale = tmp_path / "scale.npz"
    assert run("variability", greys, *words, "--fit-reference", scale).code == 0
    for more in (["--fit-reference", tmp_path / "none.npz"], ["--reference", scale, "--reuse"], []):
        assert run("variability", greys, *words, *more, "--without-blank").code == 3


@pytest.mark.slow
def test_wording(run: Run, study: Path) -> None:
    assert run("wording", study).code == 3
    assert run("variability", study, "--distance", "colour_histogram").code == 0
    told = run("wording", study, "--json").json
    features = [row["feature"] for row in told["associated"]["rows"]]
    assert "words" in features and told["measure"] == "pairwise_mean(distance=colour_histogram)"
    page = study.parent / "wording.html"
    shown = run("wording", study, "--to", page)
    assert shown.code == 0 and "strongest first" in shown.out
    written = page.read_text("utf-8")
    assert "Similarity against each feature" in written and written.count("<svg") >= 2 and "words" in written
    assert run("wording", study, "--to", study.parent / "none" / "x.html").code != 0
    wrong = run("wording", study, "--setting", "guidance_scale")
    assert wrong.code == 3 and "guidance_scale" in wrong.err
