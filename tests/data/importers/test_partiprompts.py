"""PartiPrompts: lines cut at tabs, with quotes as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEADER = "Prompt\tCategory\tChallenge\tNote\n"


def test_the_published_prompts(data: Path, run: Callable[..., list[Any]]) -> None:
    found = run("partiprompts", data / "prompt_suites" / "partiprompts")
    assert len(found) == len({p.key for p in found}) == 1632
    # 12 categories and 11 challenges, as its paper has them.
    assert Counter(p.tags["category"] for p in found) == {
        "Animals": 314, "Artifacts": 287, "World Knowledge": 214, "People": 177, "Outdoor Scenes": 131,
        "Illustrations": 124, "Vehicles": 104, "Food & Beverage": 74, "Arts": 66, "Abstract": 51,
        "Produce & Plants": 50, "Indoor Scenes": 40,
    }  # fmt: skip
    assert len({p.tags["challenge"] for p in found}) == 11
    assert sum("note" in p.tags for p in found) == 1632 - 1442
    assert sum('"Fly an airplane"' in p.text for p in found) == 1
    assert found[-1].at == "PartiPrompts.tsv:1633"
    assert run("partiprompts", data / "prompt_suites" / "partiprompts" / "PartiPrompts.tsv") == found


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (HEADER + "a dog\tAnimals\tBasic\t\na cat\tAnimals\n", 3, "2 cells instead of 4"),
        (HEADER + "a dog\tAnimals\t\t\n", 2, "is empty"),
        ("Prompt\tCategory\na dog\tAnimals\n", 1, "the columns are not"),
        (HEADER.replace("\t", ","), 1, "the columns are not"),
    ],
)
def test_bad_lines(refuses: Callable[..., None], text: str, line: int, what: str) -> None:
    refuses("partiprompts", {"PartiPrompts.tsv": text}, f"PartiPrompts.tsv:{line}", what)
