"""DSG-1k: prompts with the questions an image of theirs must pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., list[Any]]
TABLE = "dsg-1k-anns.csv"
HEADER = (
    "item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,"
    "question_natural_language\n"
)


def row(
    item: str = "vrd_1", n: str = "1", needs: str = "0", text: str = "a dog", question: str = "Is it?"
) -> str:
    return f'{item},{text},dog,{n},"{needs}",entity,whole,entity - whole (dog),{question}\n'


def test_the_published_questions(data: Path, run: Run) -> None:
    prompts = run("dsg1k", data / "prompt_suites" / "dsg1k")
    # 1,060 items (100 of each source, 160 of TIFA) with 8,182 questions; nobody answered them.
    assert len(prompts) == 1060
    assert Counter(p.tags["source"] for p in prompts) == {
        "tifa160": 160, "whoops": 100, "localized_narratives": 100, "posescript": 100, "vrd": 100,
        "countbench": 100, "midjourney": 100, "drawtext": 100, "stanford_paragraph": 100, "diffusiondb": 100,
    }  # fmt: skip
    questions = [each for p in prompts for each in p.expects["questions"]]
    assert len(questions) == 8182
    assert Counter(each["kind"] for each in questions) == {
        "entity": 3395, "relation": 2069, "attribute": 1950, "global": 475, "other": 293,
    }  # fmt: skip
    for prompt in prompts:
        asked = prompt.expects["questions"]
        ids = {each["id"] for each in asked}
        assert len(ids) == len(asked)
        assert all(set(each["needs"]) <= ids - {each["id"]} for each in asked)
    first = prompts[0]
    assert first.key == ("dsg1k", "whoops_5")
    assert first.expects["questions"][1] == {
        "id": 2,
        "question": "Is the rubix cube purple?",
        "needs": [1],
        "kind": "attribute",
        "detail": "color",
        "tuple": "attribute - color (rubix cube, purple)",
    }


def test_dependencies_on_nothing_are_reported(
    example: Callable[..., Path], run: Run, left_out: Callable[..., Any]
) -> None:
    rows = row() + row(n="2", needs="1, right") + row(n="3", needs="2,3") + row(n="4", needs="2, 1,9")
    table = example("dsg1k", {TABLE: HEADER + rows})
    (prompt,) = run("dsg1k", table)
    assert [each["needs"] for each in prompt.expects["questions"]] == [[], [1], [2], [1, 2]]
    assert left_out("dsg1k", table) == {
        "dependencies on no other question of the same prompt": [
            f"{TABLE}:3 ('right')",
            f"{TABLE}:4 ('3')",
            f"{TABLE}:5 ('9')",
        ]
    }


@pytest.mark.parametrize(
    ("rows", "line", "what"),
    [
        (row() + row(n="2", text="a cat"), 3, "text must be that of the other rows"),
        (row() + row(), 3, "proposition_id must be another one"),
        (row() + row(n="two"), 3, "proposition_id must be a whole number"),
        (row() + row("vrd_2") + row(n="2"), 4, "not together"),
        (row() + row(n="2", question=""), 3, "question_natural_language is empty"),
    ],
)
def test_rows_that_contradict_each_other(
    refuses: Callable[..., None], rows: str, line: int, what: str
) -> None:
    refuses("dsg1k", {TABLE: HEADER + rows}, f"{TABLE}:{line}", what)
