"""W1KP's triplets, alone and beside the folders of images they speak of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_
from sightline.records import ImageKey, Item, Judgement, System, Truth
from sightline.study.study import Study

Run = Callable[..., list[Any]]
Example = Callable[..., Path]
LINE: dict[str, Any] = {"ref_seed": "3", "seed1": "1", "seed2": "2", "id": "0", "model_name": "sdxl"}


def image(seed: str) -> ImageKey:
    return ImageKey("w1kp", f"sdxl/{seed if '/' in seed else f'0/{seed}'}/image.png")


def lines(*triplets: dict[str, Any]) -> dict[str, str]:
    return {"2afc.jsonl": "".join(json.dumps(each) + "\n" for each in triplets)}


def test_proportions_are_truth_and_checks_are_controls(example: Example, run: Run) -> None:
    triplets = lines(
        {**LINE, "judgement": 0.8},
        {**LINE, "ref_seed": "2", "ground_truth": "2"},
        {**LINE, "seed2": "9", "id2": "5", "judgement": 0.0},
    )
    found = run("w1kp_2afc", example("w1kp_2afc", triplets))
    assert [(t.question, t.item, t.value, t.rule, t.at) for t in found if isinstance(t, Truth)] == [
        ("closer_to_reference", Item(None, "sdxl", *map(image, seeds)), value, rule, f"2afc.jsonl:{line}")
        for line, seeds, value, rule in (
            (1, ("3", "1", "2"), 0.8, "published"),
            (2, ("2", "1", "2"), 0.0, "control"),
            (3, ("3", "1", "5/9"), 0.0, "published"),
        )
    ]
    assert [record.name for record in found if isinstance(record, System)] == ["sdxl"]
    assert not any(isinstance(record, Judgement) for record in found), "a proportion is nobody's vote"


def test_triplets_without_a_verdict_are_reported(example: Example, left_out: Callable[..., Any]) -> None:
    assert left_out("w1kp_2afc", example("w1kp_2afc", lines(LINE, {**LINE, "judgement": 1}))) == {
        "triplets that nobody has judged: nothing is known of them yet": ["2afc.jsonl:1"]
    }


def test_the_folder_includes_them_and_the_file_again_adds_nothing(example: Example, study: Study) -> None:
    folder = example("w1kp")
    done = import_(study, folder)
    assert done.layout == "w1kp"
    assert (done.counts["images"], done.counts["answers"], done.counts["truths"]) == (3, 3, 1)
    assert dict(import_(study, folder / "2afc.jsonl").counts) == {}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({**LINE, "judgement": 1.5}, "judgement must be a share"),
        ({**LINE, "judgement": "most"}, "judgement must be a finite number"),
        ({**LINE, "ground_truth": "3"}, "'3' is the seed neither of A nor of B"),
        ({key: value for key, value in LINE.items() if key != "seed2"}, "no column seed2"),
    ],
)
def test_bad_lines(refuses: Callable[..., None], line: dict[str, Any], what: str) -> None:
    refuses("w1kp_2afc", lines({**LINE, "judgement": 0.5}, line), "2afc.jsonl:2", what)
