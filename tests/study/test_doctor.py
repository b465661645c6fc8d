"""Doctor: what is damaged, orphaned or stale is found, repaired where it can be, and said where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
    Record,
)
from sightline.registry import find_measure
from sightline.study import reading
from sightline.study.doctor import Diagnosis, doctor
from sightline.study.files import image_place
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import Loaded, undo

Put = Callable[..., Loaded]
Png = Callable[..., bytes]
COLOURS = ("red", "blue", "green")


@pytest.fixture
def records(tmp_path: Path, png: Png) -> list[Record]:
    made: list[Record] = [Question("q", "ordinal", 0, 1, 1)]
    for name in COLOURS:
        (tmp_path / f"{name}.png").write_bytes(png(name))
        key, image = PromptKey("s", name), ImageKey("c", f"{name}.png")
        made += [Prompt(key, f"a {name} ball"), Image(image, str(tmp_path / f"{name}.png"))]
        made += [
            Answer(key, "sys", 0, image),
            Judgement("q", Item(key, image=image), 1.0, AnnotatorKey("p", "a")),
        ]
    return made


@pytest.fixture
def whole(study: Study, put: Put, records: list[Record]) -> Study:
    put(study, records)
    score(study, ["words", "brightness", "colour_match"])
    truth(study, "q")
    study.vectors.put("e" * 64, ["x", "y"], np.ones((2, 3), dtype=np.float32))
    return study


def found(study: Study, **how: bool) -> dict[str, int]:
    return {each.what: each.n for each in doctor(study, **how).findings}


def sound(study: Study) -> None:
    result = doctor(study)
    assert (list(result.findings), result.exit_code) == ([], 0)


def unguarded(study: Study, *statements: str) -> None:
    """Damage a study as only somebody else's program can: without the checks of its database."""
    study.close()
    with study.engine.connect() as connection:
        if study.engine.dialect.name == "sqlite":
            connection.rollback()
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA foreign_keys = OFF")
            names = [
                row[0] for row in driver.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            ]
            for statement in (*(f"DROP TRIGGER {name}" for name in names), *statements):
                driver.execute(statement)
        else:
            connection.exec_driver_sql("SET session_replication_role = replica")
            for statement in statements:
                connection.exec_driver_sql(statement)
            connection.exec_driver_sql("SET session_replication_role = DEFAULT")
            connection.commit()
    study.close()


def test_nothing_is_wrong_with_a_sound_study(whole: Study) -> None:
    result = doctor(whole)
    assert (result.exit_code, result.images) == (0, 3)
    assert result.sentence == "Nothing is wrong: the database and 3 image files were checked."
    assert doctor(whole, repair=True).findings == []


def test_damaged_and_missing_images_are_found_marked_and_restored(
    whole: Study, put: Put, records: list[Record], tmp_path: Path, png: Png
) -> None:
    before = reading.images(whole).rows()
    paths = [whole.home / image_place(sha256) for sha256 in reading.images(whole)["sha256"]]
    whole.files.thumbnail(paths[0].name)
    paths[0].write_bytes(paths[1].read_bytes())
    paths[2].unlink()
    wrong = {"images whose file is missing": 1, "images whose file is damaged": 1}
    result = doctor(whole)
    assert {each.what: each.n for each in result.findings} == wrong
    assert [each.examples for each in result.findings] == [["c/green.png"], ["c/red.png"]]
    assert result.exit_code == 1 and paths[0].exists()
    repaired = doctor(whole, repair=True)
    assert repaired.exit_code == 1 and {each.what: each.n for each in repaired.findings} == wrong
    assert not paths[0].exists()
    assert not [path for path in whole.home.rglob("*.jpg")]
    marked = reading.images(whole).filter(reading.images(whole)["defect"].is_not_null())
    assert marked["name"].to_list() == ["red.png", "green.png"]
    again = put(whole, records)
    assert (again.already, again.restored) == (True, 2)
    assert reading.images(whole).rows() == before
    sound(whole)


def test_a_damaged_image_has_no_score_but_a_reason_that_is_tried_again(whole: Study) -> None:
    path = whole.home / image_place(reading.images(whole)["sha256"][0])
    good = path.read_bytes()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    (run,) = score(whole, "noise").runs
    assert [reason.partition("... ")[2] for reason in run.reasons] == ["is damaged"]
    path.write_bytes(good)
    (run,) = score(whole, "noise").runs
    assert (run.computed, run.reasons) == (1, {})


def test_files_that_nothing_refers_to(whole: Study, put: Put, tmp_path: Path, png: Png) -> None:
    (tmp_path / "more.png").write_bytes(png("white"))
    more = put(whole, [Image(ImageKey("c", "more"), str(tmp_path / "more.png"))], "more")
    undo(whole, more.source_id)
    (whole.home / "images" / "00").mkdir(exist_ok=True)
    (whole.home / "images" / "00" / ".part-1").write_bytes(b"x")
    (whole.home / "vectors" / ("e" * 64) / "000007.npy").write_bytes(b"x")
    assert found(whole) == {"files that nothing refers to": 3}
    assert doctor(whole, repair=True).exit_code == 0
    sound(whole)


def test_vectors_that_were_lost_are_computed_again(whole: Study) -> None:
    path = whole.home / "vectors" / ("e" * 64) / "0000000000-0000000002.npy"
    path.write_bytes(b"")
    assert found(whole) == {"files of vectors that are damaged": 1}
    assert doctor(whole, repair=True).exit_code == 0
    assert whole.vectors.known("e" * 64, ["x", "y"]) == set()
    sound(whole)
    whole.vectors.put("e" * 64, ["x"], np.ones((1, 3), np.float32))
    (path.parent / "0000000002-0000000003.npy").unlink()
    assert found(whole) == {"vectors whose file is missing or damaged": 1}
    assert doctor(whole, repair=True).exit_code == 0
    sound(whole)


def test_results_of_contents_that_changed(whole: Study) -> None:
    prompt = reading.prompts(whole)["prompt_id"][0]
    with database.writing(whole.engine) as connection:
        text = tables.prompt.update().where(tables.prompt.c.id == prompt)
        connection.execute(text.values(text="another text"))
        connection.execute(tables.judgement.delete().where(tables.judgement.c.id == 3))
    changed = {
        f"scores of {find_measure(name)} of contents that have changed": 1
        for name in ("words", "colour_match")
    }
    assert found(whole) == {**changed, "truth of judgements that were removed since": 1}
    assert doctor(whole, repair=True).exit_code == 0
    sound(whole)
    assert reading.counts(whole)["score"] == 7 and reading.counts(whole)["truth"] == 0


def test_rows_without_parents(whole: Study) -> None:
    unguarded(
        whole,
        "UPDATE judgement SET source_id = 99 WHERE id = 1",
        "DELETE FROM prompt WHERE id = 1",
        "INSERT INTO mention (kind, entity_id, source_id) VALUES ('image', 77, 1)",
    )
    wrong = found(whole)
    assert wrong["rows of judgement whose source_id names no source"] == 1
    assert wrong["rows of answer whose prompt_id names no prompt"] == 1
    assert wrong["rows of item whose prompt_id names no prompt"] == 1
    assert wrong["mentions of images that do not exist"] == 1
    assert doctor(whole).exit_code == 1
    repaired = doctor(whole, repair=True)
    assert repaired.exit_code == 0
    sound(whole)
    counts = reading.counts(whole)
    assert (counts["prompt"], counts["answer"], counts["judgement"], counts["image"]) == (2, 2, 2, 3)


def test_triggers_that_were_lost_are_made_again(whole: Study) -> None:
    with database.writing(whole.engine) as connection:
        on = "" if whole.engine.dialect.name == "sqlite" else " ON item"
        connection.exec_driver_sql(f"DROP TRIGGER item_insert{on}")
    assert found(whole) == {"triggers that check references and are missing": 1}
    assert doctor(whole, repair=True).exit_code == 0
    sound(whole)


def test_a_missing_table_is_said(whole: Study) -> None:
    unguarded(whole, "DROP TABLE evidence")
    result = doctor(whole, repair=True)
    assert [each.examples for each in result.findings] == [["the table evidence is missing"]]
    assert result.exit_code == 1 and "Restore" in result.findings[0].remedy


def test_a_damaged_database_is_said(tmp_path: Path, put: Put) -> None:
    with create_study(tmp_path / "s") as study:
        put(study, [Prompt(PromptKey("s", str(i)), f"text {i} " + "x" * 300) for i in range(500)], batch=1000)
    file = tmp_path / "s" / "study.sqlite"
    whole = bytearray(file.read_bytes())
    page = whole.index(b"text 250 x") // 4096 * 4096
    whole[page : page + 8] = b"\xff" * 8
    file.write_bytes(whole)
    with open_study(tmp_path / "s") as study:
        result: Diagnosis = doctor(study, repair=True)
    assert result.exit_code == 1
    assert [each.what for each in result.findings] == ["damage of the database"]


def test_the_result_is_shown_like_any_other(whole: Study) -> None:
    (whole.home / image_place(reading.images(whole)["sha256"][0])).unlink()
    result = doctor(whole)
    assert "c/red.png" in result.text() and "Import these images again" in result.text(200)
    assert '"what": "images whose file is missing"' in result.to_json()
