"""T2I-CompBench: lists of prompts whose names say category and split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline import registry
from sightline.data.import_ import recognise
from sightline.data.sources import Source
from sightline.records import Prompt

Run = Callable[..., list[Any]]
Example = Callable[..., Path]


@pytest.fixture(scope="module")
def published(data: Path) -> tuple[list[Prompt], Source]:
    source = Source(data / "prompt_suites" / "t2i_compbench")
    return list(registry.configure("importer", "t2i_compbench").load()(source)), source


def listed(data: Path, name: str) -> list[str]:
    text = (data / "prompt_suites" / "t2i_compbench" / f"{name}.txt").read_text("utf-8")
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_every_prompt_of_every_list_is_there_once(published: tuple[list[Prompt], Source], data: Path) -> None:
    found, _ = published
    assert len(found) == len({p.key for p in found}) == 7959
    count = {
        "color": 979, "shape": 985, "texture": 995, "spatial": 998, "non_spatial": 1000, "complex": 1002,
        "3d_spatial": 1000, "numeracy": 1000,
    }  # fmt: skip
    assert Counter(p.tags["category"] for p in found) == count
    for category, n in count.items():
        texts = {text for end in ("", "_train", "_val") for text in listed(data, category + end)}
        assert len(texts) == n
        assert {p.text for p in found if p.tags["category"] == category} == texts


def test_splits_are_those_of_the_lists(published: tuple[list[Prompt], Source], data: Path) -> None:
    found, _ = published
    for category in ("color", "shape", "spatial", "numeracy", "complex"):
        for split in ("train", "val"):
            mine = {
                p.text for p in found if p.tags["category"] == category and split in p.tags.get("split", "")
            }
            assert mine == set(listed(data, f"{category}_{split}"))
    # Two spatial prompts are in train and in val; two complex ones only in complex.txt.
    both = [p for p in found if p.tags.get("split") == "train and val"]
    assert [p.tags["category"] for p in both] == ["spatial", "spatial"]
    assert [p.tags["category"] for p in found if "split" not in p.tags] == ["complex", "complex"]
    assert Counter(p.tags.get("pairs") for p in found) == {"seen": 600, "unseen": 295, None: 7064}
    # train: 504 + 130 + 66 = 700, val: 212 + 58 + 30 = 300.
    assert Counter(p.tags.get("relation") for p in found if p.tags["category"] == "complex") == {
        "action": 716, "spatial": 188, "spatialaction": 96, None: 2,
    }  # fmt: skip


def test_what_was_left_out_is_told(published: tuple[list[Prompt], Source]) -> None:
    _, source = published
    assert source.skipped["files that hold no prompts of a category"] == ["new_objects.txt"]
    assert source.skipped_count["prompts both in train and in val (their split says so)"] == 2
    repeated = sum(n for reason, n in source.skipped_count.items() if reason.startswith("lines that repeat"))
    # 18 + 21 + 5 in the three lists of color, 15 + 15 of shape, 5 + 5 of texture, 2 of spatial.
    assert repeated == 86


def test_places_are_the_first_line_that_has_a_prompt(example: Example, run: Run) -> None:
    assert [(p.text, p.tags["split"], p.at) for p in run("t2i_compbench", example("t2i_compbench"))] == [
        ("a color", "train", "color.txt:1"),
        ("b color", "val", "color.txt:2"),
        ("a shape", "train", "shape.txt:1"),
        ("b shape", "val", "shape.txt:2"),
    ]


@pytest.mark.parametrize("missing", ["shape.txt", "shape_train.txt", "shape_val.txt"])
def test_a_category_without_one_of_its_lists_is_refused(refuses: Callable[..., None], missing: str) -> None:
    refuses("t2i_compbench", {missing: None}, missing, "is here, but not")


def test_a_part_of_a_split_holds_prompts_of_that_split(refuses: Callable[..., None]) -> None:
    part = {"color_val_seen.txt": "b color\na color\n"}
    refuses("t2i_compbench", part, "color_val_seen.txt:2", r"'a color' is not in color_val\.txt")


def test_one_list_alone_is_a_list_of_prompts(example: Example) -> None:
    assert recognise(example("t2i_compbench") / "color_val.txt")[0].name == "prompts"
