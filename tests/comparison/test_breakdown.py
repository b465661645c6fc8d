"""Which tags a study is broken down by when none is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sightline.comparison.breakdown import main_tags
from sightline.records import Prompt, PromptKey, Record
from sightline.study.study import create_study
from sightline.study.writing.loading import load

PROMPTS = 90


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        # what suites call it comes first, however many values it has
        ({"length": 2, "category": 12, "source": 4}, ["category", "source", "length"]),
        ({"challenge": 11, "style": 8, "Skill": 30}, ["Skill", "style", "challenge"]),
        # else the tag with the most groups of enough prompts, not the one with the fewest values
        ({"half": 2, "topic": 15, "author": 30}, ["topic", "half", "author"]),
        # up to 40 values
        ({"half": 2, "author": 40}, ["half", "author"]),
        # 41 values are too many, one is none; a split says nothing about prompts
        ({"author": 41, "suite": 1, "split": 3, "kind": 3}, ["kind"]),
    ],
)
def test_main_tags(values: Mapping[str, int], wanted: list[str], tmp_path: Path) -> None:
    records: list[Record] = [
        Prompt(PromptKey("s", str(n)), f"p {n}", {name: f"{n % count}" for name, count in values.items()})
        for n in range(PROMPTS)
    ]
    with create_study(tmp_path / "s") as study:
        load(study, records, importer="t", path="p", digest="1")
        assert main_tags(study) == wanted
