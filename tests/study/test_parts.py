"""Tables are read in parts, on both databases: no part is longer than it may be, and none is lost."""

from __future__ import annotations

import polars as pl
import pytest
from studies import put

from sightline.records import Prompt, PromptKey
from sightline.study import reading
from sightline.study.study import Study

QUERY, COLUMNS = "SELECT id, ref FROM prompt ORDER BY id", "prompt_id:int ref"


def test_a_table_is_read_in_parts(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    put(study, [Prompt(PromptKey("s", str(n)), f"prompt {n}") for n in range(25)], "prompts")
    whole = reading.frame(study, QUERY, COLUMNS)
    monkeypatch.setattr(reading, "ROWS", 10)
    parts = list(reading.frames(study, QUERY, COLUMNS))
    assert [part.height for part in parts] == [10, 10, 5]
    assert pl.concat(parts).equals(whole) and reading.frame(study, QUERY, COLUMNS).equals(whole)


def test_an_empty_table_has_one_part_with_its_columns(study: Study) -> None:
    (part,) = reading.frames(study, QUERY, COLUMNS)
    assert part.is_empty() and part.schema == {"prompt_id": pl.Int64, "ref": pl.String}


def test_a_reader_that_stops_early_lets_go_of_the_study(study: Study) -> None:
    put(study, [Prompt(PromptKey("s", "1"), "a prompt")], "first")
    parts = reading.frames(study, QUERY, COLUMNS)
    next(parts)
    parts.close()  # type: ignore[attr-defined]
    put(study, [Prompt(PromptKey("s", "2"), "another")], "second")
    assert reading.counts(study)["prompt"] == 2
