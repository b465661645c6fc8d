"""GenEval's list of prompts, the same records as its folders of images tell of."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.data.import_ import import_
from sightline.errors import DataError
from sightline.records import Prompt, Record
from sightline.study.study import create_study

Run = Callable[..., list[Record]]


def prompts(found: list[Record]) -> list[Prompt]:
    return [record for record in found if isinstance(record, Prompt)]


def test_the_published_list(data: Path, run: Run) -> None:
    found = prompts(run("geneval_prompts", data / "prompt_suites" / "geneval"))
    assert len(found) == len({p.key for p in found}) == 553
    # The six tasks of the paper.
    assert Counter(p.tags["tag"] for p in found) == {
        "single_object": 80, "two_object": 99, "counting": 80, "colors": 94, "position": 100,
        "color_attr": 100,
    }  # fmt: skip
    assert found[0].key == ("geneval", "00000") and found[0].text == "a photo of a bench"
    assert found[552].at == "evaluation_metadata.jsonl:553"
    alone = run("geneval_prompts", data / "prompt_suites" / "geneval" / "evaluation_metadata.jsonl")
    assert alone == found


def test_what_an_image_must_show(data: Path, run: Run) -> None:
    found = {
        p.text: p.expects or {} for p in prompts(run("geneval_prompts", data / "prompt_suites" / "geneval"))
    }
    two = found["a photo of two clocks"]
    assert two["objects"] == [{"kind": "clock", "count": 2, "colour": None, "size": None}]
    assert two["absent"] == [] and two["exclude"] == [{"class": "clock", "count": 3}]
    beside = found["a photo of a hair drier left of a toilet"]
    assert beside["relation"] == {"first": "hair drier", "where": "left of", "second": "toilet"}
    blue = found["a photo of a blue baseball bat and a pink book"]
    assert [(each["kind"], each["colour"]) for each in blue["objects"]] == [
        ("baseball bat", "blue"),
        ("book", "pink"),
    ]


def test_images_made_for_them_meet_their_prompts(data: Path, tmp_path: Path, png: bytes) -> None:
    lines = (data / "prompt_suites" / "geneval" / "evaluation_metadata.jsonl").read_text().splitlines()
    for n in (0, 1, 200):
        (tmp_path / "out" / "sd" / f"{n:05d}" / "samples").mkdir(parents=True)
        (tmp_path / "out" / "sd" / f"{n:05d}" / "metadata.jsonl").write_text(lines[n])
        (tmp_path / "out" / "sd" / f"{n:05d}" / "samples" / "0000.png").write_bytes(png)
    with create_study(tmp_path / "s") as study:
        assert import_(study, data / "prompt_suites" / "geneval").counts["prompts"] == 553
        done = import_(study, tmp_path / "out")
        assert done.counts["answers"] == 3 and "prompts" not in done.counts


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Path:
    shutil.copytree(data / "prompt_suites" / "geneval", tmp_path / "g", copy_function=shutil.copyfile)
    return tmp_path / "g"


def spoil_line(file: Path, number: int, change: Callable[[str], str]) -> None:
    lines = file.read_text().splitlines()
    lines[number - 1] = change(lines[number - 1])
    file.write_text("\n".join(lines) + "\n")


def test_a_list_of_another_version_is_refused(copy: Path, run: Run) -> None:
    spoil_line(copy / "generation_prompts.txt", 7, lambda line: line + "!")
    with pytest.raises(DataError, match=r"prompt 7 reads .* but generation_prompts.txt has") as caught:
        run("geneval_prompts", copy)
    assert caught.value.where == "evaluation_metadata.jsonl:7"


@pytest.mark.parametrize("file", ["generation_prompts.txt", "evaluation_metadata.jsonl"])
def test_half_of_one_file_is_refused(copy: Path, run: Run, file: str) -> None:
    lines = (copy / file).read_text().splitlines(keepends=True)
    (copy / file).write_text("".join(lines[:300]))
    with pytest.raises(DataError):
        run("geneval_prompts", copy)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("include", "bench", "include"),
        ("include", [{"count": 2}], "a list of objects with a class"),
        ("include", [{"class": "unicorn"}], "'unicorn' is no object"),
        ("exclude", [3], "exclude must be"),
    ],
)
def test_conditions_that_say_nothing(copy: Path, run: Run, field: str, value: object, said: str) -> None:
    spoil_line(
        copy / "evaluation_metadata.jsonl", 3, lambda line: json.dumps({**json.loads(line), field: value})
    )
    with pytest.raises(DataError, match=said) as caught:
        run("geneval_prompts", copy)
    assert caught.value.where == "evaluation_metadata.jsonl:3"
