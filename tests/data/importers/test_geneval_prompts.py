"""GenEval's list of prompts, the same records as its folders of images tell of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_
from sightline.errors import DataError
from sightline.study.study import create_study

Run = Callable[..., list[Any]]
Example = Callable[..., Path]


def test_the_published_list(data: Path, run: Run) -> None:
    found = run("geneval_prompts", data / "prompt_suites" / "geneval")
    assert len(found) == len({p.key for p in found}) == 553
    # The six tasks of the paper.
    assert Counter(p.tags["tag"] for p in found) == {
        "single_object": 80, "two_object": 99, "counting": 80, "colors": 94, "position": 100,
        "color_attr": 100,
    }  # fmt: skip
    assert Counter(p.tags["skill"] for p in found) == {
        "single_object": 80, "multiple_objects": 99, "counting": 80, "compositional": 194, "spatial": 100,
    }  # fmt: skip
    assert found[0].key == ("geneval", "00000") and found[0].text == "a photo of a bench"
    assert found[552].at == "evaluation_metadata.jsonl:553"
    alone = run("geneval_prompts", data / "prompt_suites" / "geneval" / "evaluation_metadata.jsonl")
    assert alone == found


def test_what_an_image_must_show(data: Path, run: Run) -> None:
    found = {p.text: p.expects for p in run("geneval_prompts", data / "prompt_suites" / "geneval")}
    two = found["a photo of two clocks"]
    # An excluded third clock makes the number exact; elsewhere GenEval accepts more than was asked for.
    exact = {"kind": "clock", "count": 2, "at_least": False, "colour": None, "size": None}
    assert two["objects"] == [exact] and two["complete"] is True
    assert found["a photo of a bench"]["objects"][0]["at_least"] is True
    assert two["absent"] == [] and two["exclude"] == [{"class": "clock", "count": 3}]
    beside = found["a photo of a hair drier left of a toilet"]
    assert beside["relation"] == {"first": "hair drier", "where": "left of", "second": "toilet"}
    blue = found["a photo of a blue baseball bat and a pink book"]
    assert [(each["kind"], each["colour"]) for each in blue["objects"]] == [
        ("baseball bat", "blue"),
        ("book", "pink"),
    ]


def test_images_made_for_them_meet_their_prompts(example: Example, data: Path, tmp_path: Path) -> None:
    lines = (data / "prompt_suites" / "geneval" / "evaluation_metadata.jsonl").read_text().splitlines()
    images = example("geneval", {f"sd/0000{n}/metadata.jsonl": lines[n] for n in range(2)})
    with create_study(tmp_path / "s") as study:
        assert import_(study, data / "prompt_suites" / "geneval").counts["prompts"] == 553
        done = import_(study, images)
        assert done.counts["answers"] == 2 and "prompts" not in done.counts


METADATA = "evaluation_metadata.jsonl"
PROMPTS = "generation_prompts.txt"


def test_a_list_of_another_version_is_refused(refuses: Callable[..., None]) -> None:
    texts = "a photo of a bench\na photo of a red cow!\n"
    what = r"prompt 2 reads .* but generation_prompts.txt has"
    refuses("geneval_prompts", {PROMPTS: texts}, f"{METADATA}:2", what)


@pytest.mark.parametrize("file", [PROMPTS, METADATA])
def test_half_of_one_file_is_refused(example: Example, run: Run, file: str) -> None:
    whole = (example("geneval_prompts") / file).read_text()
    with pytest.raises(DataError):
        run("geneval_prompts", example("geneval_prompts", {file: whole.splitlines(keepends=True)[0]}))


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("include", "bench", "include"),
        ("include", [{"count": 2}], "a list of objects with a class"),
        ("include", [{"class": "unicorn"}], "'unicorn' is no object"),
        ("exclude", [3], "exclude must be"),
    ],
)
def test_conditions_that_say_nothing(
    refuses: Callable[..., None], field: str, value: object, what: str
) -> None:
    entry = {"tag": "x", "include": [{"class": "bench"}], "prompt": "a photo of a bench", field: value}
    refuses("geneval_prompts", {METADATA: json.dumps(entry) + "\n"}, f"{METADATA}:1", what)
