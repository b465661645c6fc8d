"""Columns with a prompt in other languages, in tables of prompts and of answers."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

import sightline
from sightline import registry
from sightline.data.import_ import recognise
from sightline.data.sources import Source
from sightline.errors import ConflictError, DataError
from sightline.records import Prompt, PromptKey, Record
from sightline.study.study import create_study
from sightline.study.writing.translations import translations

Run = Callable[..., list[Record]]
FORMS = {"prompts": {}, "answers": {"image": "x.png", "system": "s"}}


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        polars.DataFrame(rows).write_parquet(path)
    return path


def of(row: dict[str, str], form: str) -> dict[str, str]:
    return {**row, **FORMS[form]}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("form", FORMS)
def test_a_column_a_language(tmp_path: Path, run: Run, form: str, suffix: str) -> None:
    rows = [
        {"prompt_id": "1", "prompt": "a red ball", "prompt.de": "ein roter Ball", "prompt.pt-BR": ""},
        {"prompt_id": "2", "prompt": "a dog", "prompt.de": "", "prompt.pt-BR": "um cão"},
    ]
    file = written(tmp_path / f"t{suffix}", [of(row, form) for row in rows])
    assert recognise(file)[0].name == form
    found = [record for record in run(form, file) if isinstance(record, Prompt)]
    assert [(p.key.ref, p.text, p.translations) for p in found] == [
        ("1", "a red ball", {"de": "ein roter Ball"}),
        ("2", "a dog", {"pt-BR": "um cão"}),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_column_under_another_name(tmp_path: Path, run: Run, form: str) -> None:
    file = written(tmp_path / "t.csv", [of({"prompt": "a dog", "German": "ein Hund"}, form)])
    found = [r for r in run(form, file, **{"prompt.de": "German"}) if isinstance(r, Prompt)]
    assert [p.translations for p in found] == [{"de": "ein Hund"}]


@pytest.mark.parametrize("form", FORMS)
def test_no_such_column_no_translation(tmp_path: Path, run: Run, form: str) -> None:
    file = written(tmp_path / "t.csv", [of({"prompt": "a dog", "prompt.": "?"}, form)])
    (found,) = [record for record in run(form, file) if isinstance(record, Prompt)]
    assert found.translations == {}


@pytest.mark.parametrize("form", FORMS)
def test_translation_columns_are_not_noted_as_left_out(tmp_path: Path, form: str) -> None:
    row = of({"prompt": "a dog", "prompt.de": "ein Hund", "text.fr": "un chien"}, form)
    source = Source(written(tmp_path / "t.csv", [row]))
    assert list(registry.configure("importer", form).load()(source))
    assert [column for columns in source.skipped.values() for column in columns] == ["text.fr"]


@pytest.mark.parametrize("form", FORMS)
def test_a_repeated_prompt_may_bring_its_translation_later(tmp_path: Path, run: Run, form: str) -> None:
    rows = [{"prompt": "a dog", "prompt.de": ""}, {"prompt": "a dog", "prompt.de": "ein Hund"}]
    told = [of(row, form) for row in rows]
    file = written(tmp_path / "t.csv", told)
    with create_study(tmp_path / "study") as study:
        sightline.import_(study, file)
        assert list(translations(study).values()) == [{"de": "ein Hund"}]


@pytest.mark.parametrize("form", FORMS)
def test_two_translations_of_one_prompt_are_told_with_their_row(tmp_path: Path, form: str) -> None:
    rows = [{"prompt": "a dog", "prompt.de": "ein Hund"}, {"prompt": "a dog", "prompt.de": "der Hund"}]
    file = written(tmp_path / "t.csv", [of(row, form) for row in rows])
    with create_study(tmp_path / "study") as study:
        with pytest.raises(ConflictError, match="'der Hund' here but 'ein Hund'") as caught:
            sightline.import_(study, file)
        assert caught.value.where == "t.csv:3"
        assert translations(study) == {}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", ["prompt.length", "prompt.de_AT", "prompt.1"])
def test_a_column_of_no_language_is_told_with_its_row(tmp_path: Path, form: str, column: str) -> None:
    rows = [{"prompt": "a dog", column: ""}, {"prompt": "a cat", column: "7"}]
    file = written(tmp_path / "t.csv", [of(row, form) for row in rows])
    with create_study(tmp_path / "study") as study:
        with pytest.raises(DataError, match="not the code of a language") as caught:
            sightline.import_(study, file)
        assert caught.value.where == "t.csv:3" and "tags.NAME" in caught.value.remedy


def test_the_same_prompt_is_named_by_its_own_text_alone(tmp_path: Path, run: Run) -> None:
    """A translation does not take part in the id of a prompt that comes without one."""
    plain = written(tmp_path / "a.csv", [{"prompt": "a dog"}])
    told = written(tmp_path / "b.csv", [{"prompt": "a dog", "prompt.de": "ein Hund"}])
    keys = {
        record.key for file in (plain, told) for record in run("prompts", file) if isinstance(record, Prompt)
    }
    assert len(keys) == 1 and all(isinstance(key, PromptKey) for key in keys)
