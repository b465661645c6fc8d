"""An import that people judge in a round is not undone, and undoing says beforehand what goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.data.imports import undo
from sightline.errors import ConflictError
from sightline.judging.store import rounds
from sightline.judging.store.rounds import NewItem, NewSlot
from sightline.judging.truth import truth
from sightline.measures.score import score
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
)
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import Loaded

Put = Callable[..., Loaded]
Dump = Callable[[Study], dict[str, list[tuple[Any, ...]]]]
KEY, PICTURE = PromptKey("s", "1"), ImageKey("c", "a.png")
ASKED = Question("match", "nominal", 0, 1, 1, {"1": "yes", "0": "no"}, "Does it match?")


def judge(study: Study, ids: tuple[int, int, int, int, int], question: Question = ASKED) -> None:
    settings: dict[str, Any] = {"per_item": 2, "controls": {"pages": 0, "of": 5}}
    rounds.open_round(study, "spring", "yes_no", [question], settings, 7, [NewItem("work", [NewSlot(ids)])])


@pytest.fixture
def parts(study: Study, put: Put, tmp_path: Path, png: Callable[..., bytes]) -> list[int]:
    """One import each of a prompt, a picture, the answer that has it, a question, another prompt."""
    (tmp_path / "a.png").write_bytes(png())
    records = [
        [Prompt(KEY, "a dog")],
        [Image(PICTURE, str(tmp_path / "a.png"))],
        [Answer(KEY, "sd", 0, PICTURE)],
        [Question("fit", "nominal", 0, 1, 1)],
        [Prompt(PromptKey("s", "2"), "a cat")],
    ]
    return [put(study, each, str(n)).source_id for n, each in enumerate(records)]


def test_what_a_round_shows_is_not_undone(study: Study, parts: list[int], dump: Dump) -> None:
    judge(study, (1, 0, 1, 0, 0))
    before = dump(study)
    for number in parts[:3]:
        with pytest.raises(ConflictError, match="in the round spring") as caught:
            undo(study, number)
        assert "export" in caught.value.remedy
    assert dump(study) == before
    assert dict(undo(study, parts[3]).counts) == {"question": 1}
    assert dict(undo(study, parts[4]).counts) == {"prompt": 1}


def test_what_a_round_asks_and_what_it_compares_is_not_undone(study: Study, parts: list[int]) -> None:
    judge(study, (1, 1, 0, 0, 0), Question("fit", "nominal", 0, 1, 1))
    for number in parts[:4]:
        with pytest.raises(ConflictError, match="in the round spring"):
            undo(study, number)
    assert undo(study, parts[4]).counts


def test_what_another_import_has_as_well_can_be_undone(study: Study, parts: list[int], put: Put) -> None:
    judge(study, (1, 0, 0, 0, 0))
    put(study, [Prompt(KEY, "a dog")], "again")
    undo(study, parts[0])
    assert reading.counts(study)["prompt"] == 2


def test_undoing_says_beforehand_what_goes(study: Study, parts: list[int], put: Put, dump: Dump) -> None:
    votes = [Judgement("fit", Item(KEY, image=PICTURE), 1.0, AnnotatorKey("p", who)) for who in "ab"]
    number = put(study, votes, "votes").source_id
    truth(study, "fit")
    score(study, ["words", "brightness"])
    before = dump(study)
    expected = undo(study, number, dry_run=True)
    assert dict(expected.counts) == {"judgement": 2, "annotator": 2, "computed_truth": 1, "item": 1}
    assert expected.sentence == f"Undoing import {number} would remove this. Nothing was removed."
    assert expected.notes == ("Computed from it, and to be computed again from what is left: 1 truths.",)
    assert dump(study) == before
    assert undo(study, number).counts == expected.counts
    assert undo(study, parts[2]).counts
    assert dict(undo(study, parts[1]).counts) == {"image": 1, "collection": 1, "score": 1}
