"""W1KP's triplets, alone and beside the folders of images they speak of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.data.import_ import import_
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import ImageKey, Item, Judgement, Record, System, Truth
from sightline.study.study import create_study

Run = Callable[..., list[Record]]
LINE: dict[str, Any] = {"ref_seed": "3", "seed1": "1", "seed2": "2", "id": "0", "model_name": "sdxl"}


def image(seed: str, prompt: str = "0") -> ImageKey:
    return ImageKey("w1kp", f"sdxl/{prompt}/{seed}/image.png")


def write(path: Path, *told: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in told))
    return path


def test_shares_are_truth_and_checks_are_controls(tmp_path: Path, run: Run) -> None:
    file = write(
        tmp_path / "2afc.jsonl",
        {**LINE, "judgement": 0.8},
        {**LINE, "ref_seed": "2", "ground_truth": "2"},
        {**LINE, "seed2": "9", "id2": "5", "judgement": 0.0},
    )
    found = run("w1kp_2afc", file)
    assert [record for record in found if isinstance(record, Truth)] == [
        Truth(
            "closer_to_reference",
            Item(None, "sdxl", image("3"), image("1"), image("2")),
            0.8,
            at="2afc.jsonl:1",
        ),
        Truth(
            "closer_to_reference",
            Item(None, "sdxl", image("2"), image("1"), image("2")),
            0.0,
            rule="control",
            at="2afc.jsonl:2",
        ),
        Truth(
            "closer_to_reference",
            Item(None, "sdxl", image("3"), image("1"), image("9", "5")),
            0.0,
            at="2afc.jsonl:3",
        ),
    ]
    assert [record.name for record in found if isinstance(record, System)] == ["sdxl"]
    assert not any(isinstance(record, Judgement) for record in found), "a share is nobody's vote"


def test_triplets_without_a_verdict_are_told_of(tmp_path: Path) -> None:
    source = Source(write(tmp_path / "2afc.jsonl", LINE, {**LINE, "judgement": 1}))
    found = list(registry.configure("importer", "w1kp_2afc").load()(source))
    assert sum(isinstance(record, Truth) for record in found) == 1
    assert source.skipped == {
        "triplets that nobody has judged: nothing is known of them yet": ["2afc.jsonl:1"]
    }


def test_the_folder_brings_them_along_and_the_file_again_adds_nothing(tmp_path: Path, png: bytes) -> None:
    for seed in "123":
        folder = tmp_path / "root" / "sdxl" / "0" / seed
        folder.mkdir(parents=True)
        (folder / "prompt.txt").write_text("a dog")
        (folder / "image.png").write_bytes(png)
    file = write(tmp_path / "root" / "2afc.jsonl", {**LINE, "judgement": 0.6})
    with create_study(tmp_path / "s") as study:
        done = import_(study, tmp_path / "root")
        assert done.layout == "w1kp"
        assert (done.counts["images"], done.counts["answers"], done.counts["truths"]) == (3, 3, 1)
        assert dict(import_(study, file).counts) == {}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({**LINE, "judgement": 1.5}, "judgement must be a share"),
        ({**LINE, "judgement": "most"}, "judgement must be a finite number"),
        ({**LINE, "ground_truth": "3"}, "'3' is the seed neither of A nor of B"),
        ({key: value for key, value in LINE.items() if key != "seed2"}, "no column seed2"),
    ],
)
def test_lines_that_are_wrong_are_named(tmp_path: Path, run: Run, line: dict[str, Any], said: str) -> None:
    file = write(tmp_path / "2afc.jsonl", {**LINE, "judgement": 0.5}, line)
    with pytest.raises(DataError, match=said) as caught:
        run("w1kp_2afc", file)
    assert caught.value.where == "2afc.jsonl:2"
