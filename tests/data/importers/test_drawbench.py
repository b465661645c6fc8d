"""DrawBench's table of prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.data.import_ import recognise
from sightline.errors import DataError
from sightline.records import Prompt, Record

Run = Callable[..., list[Record]]


def test_the_published_prompts(data: Path, run: Run) -> None:
    found = [p for p in run("drawbench", data / "prompt_suites" / "drawbench") if isinstance(p, Prompt)]
    assert len(found) == len({p.key for p in found}) == 200
    # Eleven categories, counted in the file with cut and uniq; one ends in a blank there.
    assert Counter(p.tags["category"] for p in found) == {
        "Reddit": 38, "Colors": 25, "Text": 21, "DALL-E": 20, "Descriptions": 20, "Positional": 20,
        "Counting": 19, "Conflicting": 10, "Gary Marcus et al.": 10, "Misspellings": 10, "Rare Words": 7,
    }  # fmt: skip
    assert found[0].text == "A red colored car." and found[0].at == "DrawBench.csv:2"
    assert run("drawbench", data / "prompt_suites" / "drawbench" / "DrawBench.csv") == found


def test_another_table_under_its_name_is_not_taken_for_it(tmp_path: Path, run: Run) -> None:
    (tmp_path / "DrawBench.csv").write_text("Prompt,Kind\na dog,animal\n")
    with pytest.raises(DataError):
        recognise(tmp_path)
    with pytest.raises(DataError, match="no column Prompts") as caught:
        run("drawbench", tmp_path)
    assert caught.value.where == "DrawBench.csv:1"


def test_a_prompt_without_category_is_named(tmp_path: Path, run: Run) -> None:
    (tmp_path / "d.csv").write_text("Prompts,Category\na dog,Animals\na cat,\n")
    with pytest.raises(DataError, match="Category is empty") as caught:
        run("drawbench", tmp_path / "d.csv")
    assert caught.value.where == "d.csv:3"
