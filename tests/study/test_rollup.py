"""From images to systems and prompts: small cases by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from studies import put

from sightline.errors import DataError
from sightline.records import Answer, ImageKey, Item, Prompt, PromptKey, Question, Record, System, Truth
from sightline.study import rollup
from sightline.study.study import Study, create_study

P1, P2 = PromptKey("s", "1"), PromptKey("s", "2")
A1, A2, A3, B1, B2 = (ImageKey("c", name) for name in ("a1", "a2", "a3", "b1", "b2"))


def study_with(folder: Path, truths: Sequence[tuple[Item, float]]) -> Study:
    """System a answers prompt 1 with a1, a2, a3 and prompt 2 with a1; b answers 1 with b1 and 2 with b2."""
    study = create_study(folder)
    answers = [
        Answer(P1, "a", 0, A1),
        Answer(P1, "a", 1, A2),
        Answer(P1, "a", 2, A3),
        Answer(P2, "a", 0, A1),
        Answer(P1, "b", 0, B1),
        Answer(P2, "b", 0, B2),
        Answer(P2, "b", 1, None, failure="refused"),
    ]
    records: list[Record] = [
        Prompt(P1, "one"),
        Prompt(P2, "two"),
        System("a"),
        System("b"),
        Question("quality", low=0, high=10),
        *answers,
        *(Truth("quality", subject, value) for subject, value in truths),
    ]
    put(study, records)
    return study


def systems(study: Study) -> dict[tuple[int, str], tuple[float, int]]:
    found = rollup.by_system(study, "quality")
    return {(p, s): (v, n) for p, _, s, v, n in found.iter_rows()}


def prompts(study: Study) -> dict[int, tuple[float, int]]:
    return {p: (v, n) for p, v, n in rollup.by_prompt(study, "quality").iter_rows()}


def test_a_prompt_with_an_image(tmp_path: Path) -> None:
    truths = [(P1, A1, 2.0), (P1, A2, 4.0), (P1, A3, 9.0), (P1, B1, 7.0), (P2, A1, 1.0)]
    study = study_with(tmp_path / "s", [(Item(p, image=i), v) for p, i, v in truths])
    # The same image a1 is worth 2 for prompt 1 and 1 for prompt 2; (2 + 4 + 9) / 3 = 5.
    assert systems(study) == {(1, "a"): (5, 3), (1, "b"): (7, 1), (2, "a"): (1, 1)}
    # Each system weighs the same, however many images it gave: (5 + 7) / 2, not (15 + 7) / 4.
    assert prompts(study) == {1: (6, 2), 2: (1, 1)}
    answers = rollup.of_answers(study, "quality")
    assert answers.select("prompt_id", "system", "position", "value").rows() == [
        (1, "a", 0, 2), (1, "a", 1, 4), (1, "a", 2, 9), (2, "a", 0, 1), (1, "b", 0, 7),
    ]  # fmt: skip


def test_an_image_whatever_the_prompt(tmp_path: Path) -> None:
    study = study_with(tmp_path / "s", [(Item(image=A1), 3.0), (Item(image=B2), 8.0)])
    # a1 is given back to both prompts it answers.
    assert systems(study) == {(1, "a"): (3, 1), (2, "a"): (3, 1), (2, "b"): (8, 1)}
    assert prompts(study) == {1: (3, 1), 2: (5.5, 2)}


def test_a_system_on_a_prompt(tmp_path: Path) -> None:
    study = study_with(tmp_path / "s", [(Item(P1, "a"), 3.0), (Item(P1, "b"), 6.0)])
    assert rollup.of_answers(study, "quality").is_empty()
    assert systems(study) == {(1, "a"): (3, 0), (1, "b"): (6, 0)}
    assert prompts(study) == {1: (4.5, 2)}


def test_a_prompt(tmp_path: Path) -> None:
    study = study_with(tmp_path / "s", [(Item(P2), 3.5)])
    assert systems(study) == {}
    assert prompts(study) == {2: (3.5, 0)}


def test_the_nearest_truth_goes_first(tmp_path: Path) -> None:
    study = study_with(
        tmp_path / "s",
        [
            (Item(P1, "a", A1), 1.0),
            (Item(P1, image=A1), 2.0),
            (Item(image=A1), 3.0),
            (Item(P1, image=A2), 5.0),
            (Item(image=A2), 9.0),
            (Item(P2, "b"), 10.0),
            (Item(P2, image=B2), 4.0),
            (Item(P1), 0.5),
        ],
    )
    # Prompt 1: a1 as a's answer 1, a2 for the prompt 5, a3 unknown: 3. Prompt 2: a1 only as an image, 3.
    # b on prompt 2 was judged as a whole, 10, whatever its image got.
    assert systems(study) == {(1, "a"): (3, 2), (2, "a"): (3, 1), (2, "b"): (10, 0)}
    assert prompts(study) == {1: (0.5, 0), 2: (6.5, 2)}


def test_pairs_are_not_values_of_their_first_image(tmp_path: Path) -> None:
    study = study_with(tmp_path / "s", [(Item(P1, image=A1, image_b=B1), 1.0)])
    assert rollup.of_answers(study, "quality").is_empty()
    assert systems(study) == {} and prompts(study) == {}


def test_matrix(tmp_path: Path) -> None:
    truths = [(P1, A1, 2.0), (P1, B1, 7.0), (P2, A1, 1.0)]
    study = study_with(tmp_path / "s", [(Item(p, image=i), v) for p, i, v in truths])
    table, rows, names = rollup.matrix(rollup.by_system(study, "quality"))
    np.testing.assert_array_equal(table, [[2, 7], [1, np.nan]])
    assert (rows, names) == ([1, 2], ["a", "b"])
    with pytest.raises(DataError, match="nothing to compare"):
        rollup.matrix(rollup.by_system(study, "quality").clear())
