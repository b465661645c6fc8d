"""Copies of a live study: one moment of it, with every file it refers to."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import WRITER, start

from sightline.errors import DataError, StudyError
from sightline.records import Answer, Image, ImageKey, Item, Judgement, Prompt, PromptKey, Truth
from sightline.study import reading
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.copying import copy_study
from sightline.study.writing.loading import undo

Put = Callable[..., Any]
Dumped = Callable[[Study], dict[str, list[Any]]]
P1 = PromptKey("s", "1")


@pytest.fixture
def full(study: Study, put: Put, tmp_path: Path, png: Callable[..., bytes]) -> Study:
    (tmp_path / "a.png").write_bytes(png())
    put(
        study,
        [
            Prompt(P1, "one 🐕", {"split": "test"}, [("self", P1)], {"n": [1, 2.5, None]}),
            Prompt(PromptKey("s", "2"), "two", translations={"de": "zwei"}),
            Image(ImageKey("c", "a"), str(tmp_path / "a.png"), ["a dog"]),
            Answer(P1, "sd", 0, ImageKey("c", "a"), 0.1, 2**62, {"steps": 3}),
            Answer(P1, "sd", 1, None, failure="x"),
            Judgement("q", Item(P1), 1 / 3, n=3),
            Truth("q", Item(P1), 1e-300, n=2),
        ],
    )
    study.vectors.put("clip", ["x", "y"], np.arange(6, dtype=np.float32).reshape(2, 3))
    study.vectors.put("clip", ["z"], np.ones((1, 3), np.float32))
    return study


def test_a_copy_holds_everything(full: Study, tmp_path: Path, dump: Dumped) -> None:
    said: list[str] = []
    with copy_study(full, tmp_path / "copy", said.append) as copy:
        ours, theirs = dump(full), dump(copy)
        ours["setting"] = [row for row in ours["setting"] if row[0] in ("schema", "vectors:clip")]
        assert theirs == ours
        (sha,) = reading.images(copy)["sha256"]
        assert copy.files.read(sha) == full.files.read(sha)
        found, known = copy.vectors.get("clip", ["z", "y"])
        assert known.all()
        assert found.tolist() == [[1, 1, 1], [3, 4, 5]]
    assert said == ["database", "images and vectors"]
    assert (tmp_path / "copy" / "study.sqlite").exists()


def test_a_copy_goes_on_by_itself(full: Study, put: Put, tmp_path: Path, dump: Dumped) -> None:
    before = dump(full)
    with copy_study(full, tmp_path / "copy") as copy:
        put(copy, [Prompt(PromptKey("s", "3"), "three")], "more")
        undo(copy, 1)
        assert reading.prompts(copy)["text"].to_list() == ["three"]
    assert dump(full) == before


def test_settings_go_along_but_not_the_place(full: Study, tmp_path: Path) -> None:
    with (full.home / "study.toml").open("a") as file:
        file.write('\n[question.fit]\nscale = "ordinal"\n')
    with copy_study(full, tmp_path / "copy") as copy:
        assert copy.settings["question"] == {"fit": {"scale": "ordinal"}}
        assert "store" not in copy.settings
        assert copy.settings["study"]["name"] == "s"
        assert copy.engine.dialect.name == "sqlite"


def test_a_copy_does_not_overwrite(full: Study, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "note.txt").write_text("mine")
    (tmp_path / "file").touch()
    for name in ("taken", "file"):
        with pytest.raises(StudyError, match="something there already"):
            copy_study(full, tmp_path / name)
    assert (tmp_path / "taken" / "note.txt").read_text() == "mine"


def test_half_a_copy_does_not_stay(full: Study, tmp_path: Path) -> None:
    (sha,) = [sha for sha in reading.images(full)["sha256"] if sha]
    (full.home / "images" / sha[:2] / sha).unlink()
    with pytest.raises(DataError, match="missing from the study"):
        copy_study(full, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_copy_of_a_study_that_is_being_written_to(study: Study, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    writer = start(WRITER, study.home, tmp_path / "scratch")
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        sizes = []
        for i in range(3):
            time.sleep(0.1)
            with copy_study(study, tmp_path / f"copy{i}") as copy:
                sizes.append(whole(copy))
        assert writer.poll() is None, "the writer must have been at it all the time"
    finally:
        writer.kill()
        writer.communicate()
    assert 0 < sizes[0] <= sizes[1] <= sizes[2]
    assert sizes[0] < reading.counts(study)["source"]


def whole(copy: Study) -> int:
    """The number of rounds in a copy; every one is whole, and its file is there."""
    counts = reading.counts(copy)
    rounds = counts["source"]
    expected = [rounds, rounds, 10 * rounds, rounds]
    assert [counts[name] for name in ("prompt", "image", "answer", "image_file")] == expected
    for sha in reading.images(copy)["sha256"]:
        assert copy.files.picture(sha).rgb.shape == (4, 4, 3)
    if copy.engine.dialect.name == "sqlite":
        with database.reading(copy.engine) as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            assert list(connection.exec_driver_sql("PRAGMA foreign_key_check")) == []
    return rounds


def test_a_copy_of_an_empty_study(study: Study, tmp_path: Path) -> None:
    with copy_study(study, tmp_path / "deep" / "copy") as copy:
        assert sum(reading.counts(copy).values()) == 0
    with open_study(tmp_path / "deep" / "copy") as copy, database.reading(copy.engine) as connection:
        assert database.version(connection) == tables.VERSION
    with pytest.raises(StudyError, match="already"):
        create_study(tmp_path / "deep" / "copy")
