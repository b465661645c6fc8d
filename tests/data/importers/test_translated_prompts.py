"""Columns with a prompt in other languages, in tables of prompts and of answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sightline
from sightline.data.import_ import recognise
from sightline.errors import ConflictError, DataError
from sightline.records import Prompt
from sightline.study.study import Study
from sightline.study.writing.translations import translations

Run = Callable[..., list[Any]]
Table = Callable[..., Path]
FORMS = {"prompts": {}, "answers": {"image": "x", "system": "s"}}


def of(row: dict[str, str], form: str) -> dict[str, str]:
    return {**row, **FORMS[form]}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("form", FORMS)
def test_a_column_a_language(tmp_path: Path, table: Table, run: Run, form: str, suffix: str) -> None:
    rows = [
        {"prompt_id": "1", "prompt": "a red ball", "prompt.de": "ein roter Ball", "prompt.pt-BR": ""},
        {"prompt_id": "2", "prompt": "a dog", "prompt.de": "", "prompt.pt-BR": "um cão"},
    ]
    file = table(tmp_path / f"t{suffix}", [of(row, form) for row in rows])
    assert recognise(file)[0].name == form
    found = run(form, file, Prompt)
    assert [(p.key.ref, p.text, p.translations) for p in found] == [
        ("1", "a red ball", {"de": "ein roter Ball"}),
        ("2", "a dog", {"pt-BR": "um cão"}),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_column_under_another_name(tmp_path: Path, table: Table, run: Run, form: str) -> None:
    file = table(tmp_path / "t.csv", [of({"prompt": "a dog", "German": "ein Hund"}, form)])
    found = run(form, file, Prompt, **{"prompt.de": "German"})
    assert [p.translations for p in found] == [{"de": "ein Hund"}]


@pytest.mark.parametrize("form", FORMS)
def test_no_such_column_no_translation(tmp_path: Path, table: Table, run: Run, form: str) -> None:
    file = table(tmp_path / "t.csv", [of({"prompt": "a dog", "prompt.": "?"}, form)])
    (found,) = run(form, file, Prompt)
    assert found.translations == {}


@pytest.mark.parametrize("form", FORMS)
def test_translation_columns_are_not_noted_as_left_out(
    tmp_path: Path, table: Table, left_out: Callable[..., Any], form: str
) -> None:
    row = of({"prompt": "a dog", "prompt.de": "ein Hund", "text.fr": "un chien"}, form)
    assert list(left_out(form, table(tmp_path / "t.csv", [row])).values()) == [["text.fr"]]


@pytest.mark.parametrize("form", FORMS)
def test_a_repeated_prompt_may_bring_its_translation_later(
    tmp_path: Path, table: Table, study: Study, run: Run, form: str
) -> None:
    rows = [{"prompt": "a dog", "prompt.de": ""}, {"prompt": "a dog", "prompt.de": "ein Hund"}]
    sightline.import_(study, table(tmp_path / "t.csv", [of(row, form) for row in rows]))
    assert list(translations(study).values()) == [{"de": "ein Hund"}]


@pytest.mark.parametrize("form", FORMS)
def test_two_translations_of_one_prompt_are_told_with_their_row(
    tmp_path: Path, table: Table, study: Study, form: str
) -> None:
    rows = [{"prompt": "a dog", "prompt.de": "ein Hund"}, {"prompt": "a dog", "prompt.de": "der Hund"}]
    file = table(tmp_path / "t.csv", [of(row, form) for row in rows])
    with pytest.raises(ConflictError, match="'der Hund' here but 'ein Hund'") as caught:
        sightline.import_(study, file)
    assert caught.value.where == "t.csv:3" and translations(study) == {}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", ["prompt.length", "prompt.de_AT", "prompt.1"])
def test_a_column_of_no_language_is_told_with_its_row(
    tmp_path: Path, table: Table, study: Study, form: str, column: str
) -> None:
    rows = [{"prompt": "a dog", column: ""}, {"prompt": "a cat", column: "7"}]
    file = table(tmp_path / "t.csv", [of(row, form) for row in rows])
    with pytest.raises(DataError, match="not the code of a language") as caught:
        sightline.import_(study, file)
    assert caught.value.where == "t.csv:3" and "tags.NAME" in caught.value.remedy


def test_the_same_prompt_is_named_by_its_own_text_alone(tmp_path: Path, table: Table, run: Run) -> None:
    """A translation does not take part in the id of a prompt that comes without one."""
    plain = table(tmp_path / "a.csv", [{"prompt": "a dog"}])
    translated = table(tmp_path / "b.csv", [{"prompt": "a dog", "prompt.de": "ein Hund"}])
    assert [prompt.key for prompt in run("prompts", plain)] == [
        prompt.key for prompt in run("prompts", translated)
    ]
