"""DSG-1k: prompts with the questions an image of theirs must pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline import registry
from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import Prompt, Record

Run = Callable[..., list[Record]]
HEADER = (
    "item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,"
    "question_natural_language\n"
)


def row(
    item: str = "vrd_1", n: str = "1", needs: str = "0", text: str = "a dog", question: str = "Is it?"
) -> str:
    return f'{item},{text},dog,{n},"{needs}",entity,whole,entity - whole (dog),{question}\n'


def test_the_published_questions(data: Path, run: Run) -> None:
    found = run("dsg1k", data / "prompt_suites" / "dsg1k")
    prompts = [record for record in found if isinstance(record, Prompt)]
    # 1,060 items (100 of each source, 160 of TIFA) with 8,182 questions; nobody answered them.
    assert len(found) == len(prompts) == 1060
    assert Counter(p.tags["source"] for p in prompts) == {
        "tifa160": 160, "whoops": 100, "localized_narratives": 100, "posescript": 100, "vrd": 100,
        "countbench": 100, "midjourney": 100, "drawtext": 100, "stanford_paragraph": 100, "diffusiondb": 100,
    }  # fmt: skip
    questions = [each for p in prompts for each in (p.expects or {})["questions"]]
    assert len(questions) == 8182
    assert Counter(each["kind"] for each in questions) == {
        "entity": 3395, "relation": 2069, "attribute": 1950, "global": 475, "other": 293,
    }  # fmt: skip
    for prompt in prompts:
        asked = (prompt.expects or {})["questions"]
        ids = {each["id"] for each in asked}
        assert len(ids) == len(asked)
        assert all(set(each["needs"]) <= ids - {each["id"]} for each in asked)
    first = prompts[0]
    assert first.key == ("dsg1k", "whoops_5") and first.expects is not None
    assert first.expects["questions"][1] == {
        "id": 2,
        "question": "Is the rubix cube purple?",
        "needs": [1],
        "kind": "attribute",
        "detail": "color",
        "tuple": "attribute - color (rubix cube, purple)",
    }


def test_dependencies_on_nothing_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(
        HEADER + row() + row(n="2", needs="1, right") + row(n="3", needs="2,3") + row(n="4", needs="2, 1,9")
    )
    source = Source(tmp_path / "d.csv")
    (prompt,) = registry.configure("importer", "dsg1k").load()(source)
    assert [each["needs"] for each in prompt.expects["questions"]] == [[], [1], [2], [1, 2]]
    assert source.skipped == {
        "dependencies on no other question of the same prompt": [
            "d.csv:3 ('right')",
            "d.csv:4 ('3')",
            "d.csv:5 ('9')",
        ]
    }


@pytest.mark.parametrize(
    ("rows", "where", "said"),
    [
        (row() + row(n="2", text="a cat"), "d.csv:3", "text must be that of the other rows"),
        (row() + row(), "d.csv:3", "proposition_id must be another one"),
        (row() + row(n="two"), "d.csv:3", "proposition_id must be a whole number"),
        (row() + row("vrd_2") + row(n="2"), "d.csv:4", "not together"),
        (row() + row(n="2", question=""), "d.csv:3", "question_natural_language is empty"),
    ],
)
def test_rows_that_contradict_each_other(tmp_path: Path, run: Run, rows: str, where: str, said: str) -> None:
    (tmp_path / "d.csv").write_text(HEADER + rows)
    with pytest.raises(DataError, match=said) as caught:
        run("dsg1k", tmp_path / "d.csv")
    assert caught.value.where == where
