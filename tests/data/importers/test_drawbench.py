"""DrawBench's table of prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import recognise
from sightline.errors import DataError


def test_the_published_prompts(data: Path, run: Callable[..., list[Any]]) -> None:
    prompts = run("drawbench", data / "prompt_suites" / "drawbench")
    assert len(prompts) == len({prompt.key for prompt in prompts}) == 200
    # Eleven categories, counted in the file with cut and uniq; one ends in a blank there.
    assert Counter(prompt.tags["category"] for prompt in prompts) == {
        "Reddit": 38, "Colors": 25, "Text": 21, "DALL-E": 20, "Descriptions": 20, "Positional": 20,
        "Counting": 19, "Conflicting": 10, "Gary Marcus et al.": 10, "Misspellings": 10, "Rare Words": 7,
    }  # fmt: skip
    assert prompts[0].text == "A red colored car." and prompts[0].at == "DrawBench.csv:2"
    assert run("drawbench", data / "prompt_suites" / "drawbench" / "DrawBench.csv") == prompts


@pytest.mark.parametrize(
    ("table", "line", "what"),
    [
        ("Prompt,Kind\na dog,animal\n", 1, "no column Prompts"),
        ("Prompts,Category\na dog,Animals\na cat,\n", 3, "Category is empty"),
    ],
)
def test_bad_tables(refuses: Callable[..., None], table: str, line: int, what: str) -> None:
    refuses("drawbench", {"DrawBench.csv": table}, f"DrawBench.csv:{line}", what)


def test_another_table_under_its_name_is_not_taken_for_it(example: Callable[..., Path]) -> None:
    with pytest.raises(DataError):
        recognise(example("drawbench", {"DrawBench.csv": "Prompt,Kind\na dog,animal\n"}).parent)
