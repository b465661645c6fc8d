"""Prompts in other languages: kept once, told by any number of imports, and gone with the last of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline
from sightline.errors import ConflictError, DataError
from sightline.records import Prompt, PromptKey
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import undo
from sightline.study.writing.translations import language_code, translations

Put = Callable[..., Any]
Dumped = Callable[[Study], dict[str, list[Any]]]
BALL, DOG = PromptKey("s", "1"), PromptKey("s", "2")
GERMAN = {"de": "ein roter Ball"}


def ball(told: dict[str, str] | None = None, at: str = "") -> Prompt:
    return Prompt(BALL, "a red ball", at=at, translations=told or {})


def told_by(study: Study) -> dict[str, dict[str, str]]:
    """Translations by the prompt's own text."""
    texts = {key: prompt.text for key, prompt in reading.prompt_records(study).items()}
    return {texts[key]: found for key, found in translations(study).items()}


def test_translations_come_back_by_prompt_and_language(study: Study, put: Put) -> None:
    loaded = put(study, [ball({"zh-hant": "一個紅球", **GERMAN}), Prompt(DOG, "a dog")])
    assert loaded.counts == {"prompts": 2, "translations": 2}
    assert told_by(study) == {"a red ball": {"de": "ein roter Ball", "zh-Hant": "一個紅球"}}


def test_some_prompts_can_be_asked_for(study: Study, put: Put) -> None:
    put(study, [ball(GERMAN), Prompt(DOG, "a dog", translations={"de": "ein Hund"})])
    ball_id, dog_id = reading.prompt_records(study)
    assert translations(study, [dog_id]) == {dog_id: {"de": "ein Hund"}}
    assert translations(study, [ball_id, dog_id]) == translations(study)
    assert translations(study, []) == {}


def test_a_later_import_may_add_a_language(study: Study, put: Put) -> None:
    put(study, [ball(GERMAN)], "a")
    loaded = put(study, [ball({"fr": "une balle rouge", **GERMAN})], "b")
    assert loaded.counts == {"translations": 1}
    assert told_by(study) == {"a red ball": {"de": "ein roter Ball", "fr": "une balle rouge"}}


@pytest.mark.parametrize("same_import", [True, False])
@pytest.mark.parametrize("language", ["de", "DE"])
def test_another_translation_is_a_conflict_that_names_its_row(
    study: Study, put: Put, dump: Dumped, same_import: bool, language: str
) -> None:
    first, second = ball(GERMAN, "p.csv:2"), ball({language: "ein rotes Bällchen"}, "p.csv:7")
    if not same_import:
        put(study, [first], "a")
    before = dump(study)
    with pytest.raises(ConflictError, match="'ein rotes Bällchen' here but 'ein roter Ball'") as caught:
        put(study, [first, second] if same_import else [second], "b")
    assert caught.value.where == "p.csv:7"
    assert dump(study) == before


@pytest.mark.parametrize(
    ("language", "text", "what"),
    [
        # The last has 17 letters; 16 fit.
        *(
            (code, "ein Ball", "not the code of a language")
            for code in ("deutsch", "d", "de_AT", "de-", "de\n", "dé", "", "de-12345678-12345")
        ),
        ("de", " ", "is empty"),
        ("de", "ein\0Ball", "NUL"),
        ("de", "ein \ud800 Ball", "Unicode"),
    ],
)
def test_what_is_no_translation_is_refused_with_its_row(
    study: Study, put: Put, dump: Dumped, language: str, text: str, what: str
) -> None:
    before = dump(study)
    with pytest.raises(DataError, match=what) as caught:
        put(study, [ball({language: text}, "p.csv:3")])
    assert caught.value.where == "p.csv:3"
    assert dump(study) == before


def test_undo_takes_translations_along(study: Study, put: Put, dump: Dumped) -> None:
    empty = dump(study)
    first = put(study, [ball()], "a").source_id
    bare = dump(study)
    second = put(study, [ball(GERMAN)], "b").source_id
    assert undo(study, second) == {"translation": 1}
    assert dump(study) == bare
    undo(study, first)
    assert dump(study) == empty


def test_a_translation_keeps_its_prompt(study: Study, put: Put) -> None:
    """The import that brought the prompt goes; the one that translated it needs it still."""
    first = put(study, [ball(), Prompt(DOG, "a dog")], "a").source_id
    second = put(study, [ball(GERMAN)], "b").source_id
    assert undo(study, first) == {"prompt": 1}
    assert told_by(study) == {"a red ball": GERMAN}
    assert undo(study, second) == {"translation": 1, "prompt": 1}


def test_a_newer_file_may_replace_a_translation(study: Study, put: Put) -> None:
    put(study, [ball(GERMAN)], "a", path="p.csv")
    put(study, [ball({"de": "ein rotes Bällchen"})], "b", path="p.csv", replace=True)
    assert told_by(study) == {"a red ball": {"de": "ein rotes Bällchen"}}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_translations_go_out_and_come_back(study: Study, put: Put, tmp_path: Path, form: str) -> None:
    records = [
        ball({"de": "=ein roter Ball, \nrund", "zh-Hant": "一個紅球"}),
        Prompt(DOG, "a dog", {"de": "a tag of that name"}, translations={"fr": "un chien"}),
        Prompt(PromptKey("other", "1"), "a cat"),
    ]
    put(study, records)
    sightline.export(study, tmp_path / "out", form=form)
    with create_study(tmp_path / "whole") as whole:
        sightline.import_(whole, tmp_path / "out")
        assert told_by(whole) == told_by(study)
        assert len(told_by(whole)) == 2
    with create_study(tmp_path / "alone") as alone:
        sightline.import_(alone, tmp_path / "out" / f"prompts.{form}")
        assert told_by(alone) == told_by(study)
        assert [p.tags for p in reading.prompt_records(alone).values()][1] == {"de": "a tag of that name"}


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ("DE", "de"),
        ("pt-br", "pt-BR"),
        ("ZH-HANT", "zh-Hant"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("de-CH-1996", "de-CH-1996"),
        ("sl-ROZAJ", "sl-rozaj"),
        ("yue", "yue"),
        ("EN-CA-X-CA", "en-CA-x-ca"),
        ("az-latn-x-LATN", "az-Latn-x-latn"),
    ],
)
def test_a_language_has_one_spelling(told: str, written: str) -> None:
    """The spellings are those of RFC 5646, section 2.1.1."""
    assert language_code(told) == written


@given(st.from_regex(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", fullmatch=True).filter(lambda c: len(c) <= 16))
def test_spelling_changes_case_alone_and_settles(told: str) -> None:
    written = language_code(told)
    assert written.lower() == told.lower()
    assert language_code(written) == language_code(told.swapcase()) == written
