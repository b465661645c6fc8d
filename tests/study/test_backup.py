"""Backups of a live study on both databases: complete, checked, shared between times, and brought back."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import WRITER, start

import sightline
from sightline.errors import DataError, StudyError, UsageError
from sightline.judging.store import tokens
from sightline.records import Answer, Image, ImageKey, Item, Judgement, Prompt, PromptKey
from sightline.study import reading
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing import backing
from sightline.study.writing.loading import undo

Put = Callable[..., Any]
Dumped = Callable[[Study], dict[str, list[Any]]]
P1 = PromptKey("s", "1")


@pytest.fixture
def full(study: Study, put: Put, tmp_path: Path, png: Callable[..., bytes]) -> Study:
    for name, colour in (("a", "red"), ("b", "blue")):
        (tmp_path / f"{name}.png").write_bytes(png(colour))
    put(
        study,
        [
            Prompt(P1, "one 🐕", {"split": "test"}, [("self", P1)], {"n": [1, 2.5, None]}),
            Image(ImageKey("c", "a"), str(tmp_path / "a.png"), ["a dog"]),
            Image(ImageKey("c", "b"), str(tmp_path / "b.png")),
            Answer(P1, "sd", 0, ImageKey("c", "a"), 0.1, 2**62, {"steps": 3}),
            Judgement("q", Item(P1), 1 / 3, n=3),
        ],
    )
    study.vectors.put("clip", ["x", "y"], np.arange(6, dtype=np.float32).reshape(2, 3))
    (study.home / "controls.csv").write_text("prompt,image\n")
    (study.home / "bridges").mkdir()
    (study.home / "bridges" / "mine.npz").write_bytes(b"numbers")
    tokens.signing_key(study)
    return study


def content(study: Study, dump: Dumped) -> dict[str, Any]:
    """All rows but the settings of the place, the files, and the key of the links."""
    rows: dict[str, Any] = dump(study)
    rows["setting"] = []
    rows["key"] = tokens.signing_key(study)
    rows["images"] = {sha: study.files.read(sha) for sha in reading.images(study)["sha256"] if sha}
    rows["files"] = [(study.home / name).read_bytes() for name in ("controls.csv", "bridges/mine.npz")]
    rows["vectors"] = study.vectors.get("clip", ["y"])[0].tolist()
    return rows


def test_a_backup_restores_on_either_database(
    full: Study, tmp_path: Path, dump: Dumped, postgres_url: str
) -> None:
    before = content(full, dump)
    done = sightline.backup(full, tmp_path / "backups")
    assert (done.images, done.copied, done.missing, done.exit_code) == (2, 2, [], 0)
    assert done.rows["judgement"] == 1 and done.rows["vector"] == 2
    for n, address in enumerate(("", postgres_url.replace("+psycopg", ""))):
        again = sightline.restore(tmp_path / "backups", tmp_path / f"again{n}", database=address)
        assert (again.images, again.missing, again.notes, again.exit_code) == (2, [], [], 0)
        with open_study(tmp_path / f"again{n}") as restored:
            assert restored.engine.dialect.name == ("postgresql" if address else "sqlite")
            assert content(restored, dump) == before
            # It goes on by itself: keys are those that were never given out.
            put_one(restored)
            undo(restored, 1)
            assert reading.prompts(restored)["ref"].to_list() == ["2"]
    assert content(full, dump) == before


def put_one(study: Study) -> None:
    from studies import put

    put(study, [Prompt(PromptKey("s", "2"), "two")], "more")


def test_a_backup_is_private_and_complete_by_itself(full: Study, tmp_path: Path) -> None:
    path = Path(sightline.backup(full, tmp_path / "backups").path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((path / "study.sqlite").stat().st_mode) == 0o600
    assert not [each.name for each in path.iterdir() if each.name.startswith("study.sqlite-")]
    assert "[store]" not in (path / "study.toml").read_text()
    shutil.rmtree(full.home)
    with open_study(path) as opened:
        assert reading.counts(opened)["image_file"] == 2


def test_images_are_copied_once_and_a_damaged_one_again(full: Study, tmp_path: Path) -> None:
    first = Path(sightline.backup(full, tmp_path / "backups").path)
    second = sightline.backup(full, tmp_path / "backups")
    assert second.copied == 0
    shas = [sha for sha in reading.images(full)["sha256"] if sha]
    places = [f"images/{sha[:2]}/{sha}" for sha in shas]
    assert all((first / place).stat().st_ino == (Path(second.path) / place).stat().st_ino for place in places)
    # Bytes that went bad on the disk of the backups: the next one copies the image from the study again.
    (first / places[0]).write_bytes(b"rot")
    third = sightline.backup(full, tmp_path / "backups")
    assert third.copied == 1
    assert (Path(third.path) / places[0]).read_bytes() == full.files.read(shas[0])


def test_what_the_study_lacks_is_said_and_the_rest_is_backed_up(full: Study, tmp_path: Path) -> None:
    shas = sorted(sha for sha in reading.images(full)["sha256"] if sha)
    (full.home / "images" / shas[0][:2] / shas[0]).write_bytes(b"changed")
    done = sightline.backup(full, tmp_path / "backups")
    assert (done.missing, done.images, done.exit_code) == ([shas[0]], 1, 3)
    assert "missing from the study or damaged" in done.notes[0]
    again = sightline.restore(done.path, tmp_path / "again")
    assert (again.missing, again.exit_code) == ([shas[0]], 3)


def test_old_backups_of_this_study_alone_go(full: Study, tmp_path: Path) -> None:
    with create_study(tmp_path / "other" / "s") as other:
        kept = sightline.backup(other, tmp_path / "backups").path
    paths = [sightline.backup(full, tmp_path / "backups", keep=2) for _ in range(3)]
    assert paths[2].removed == [paths[0].path] and paths[1].removed == []
    assert backing.backups(tmp_path / "backups", full.address) == [Path(each.path) for each in paths[1:]]
    assert Path(kept).is_dir()
    with pytest.raises(StudyError, match="backups of 2 studies"):
        sightline.restore(tmp_path / "backups", tmp_path / "again")
    assert not list((tmp_path / "backups").glob(".part-*"))


def test_a_damaged_backup_is_refused(full: Study, tmp_path: Path) -> None:
    path = Path(sightline.backup(full, tmp_path / "backups").path)
    with closing(sqlite3.connect(path / "study.sqlite")) as connection:
        connection.execute("DELETE FROM judgement")
        connection.commit()
    with pytest.raises(DataError, match="judgement: 0 rows, not 1"):
        sightline.restore(path, tmp_path / "again")
    data = (path / "study.sqlite").read_bytes()
    (path / "study.sqlite").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match="not whole"):
        sightline.restore(path, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not list(tmp_path.glob(".sightline-*"))


def test_a_backup_that_was_looked_into_restores_with_a_note(full: Study, tmp_path: Path) -> None:
    path = Path(sightline.backup(full, tmp_path / "backups").path)
    with open_study(path) as looked_into:
        reading.counts(looked_into)
    assert "was opened since" in sightline.restore(path, tmp_path / "again").notes[0]


def test_wrong_places_are_refused(full: Study, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="cannot write the backup"):
        sightline.backup(full, tmp_path / "file" / "backups")
    with pytest.raises(UsageError, match="no schedule"):
        sightline.backup(full, tmp_path / "backups", every=0)
    with pytest.raises(StudyError, match="there is no backup"):
        sightline.restore(tmp_path, tmp_path / "again")
    path = sightline.backup(full, tmp_path / "backups").path
    with pytest.raises(StudyError, match="something there already"):
        sightline.restore(path, full.home)
    note = Path(path) / "backup.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "sightline_backup": 2}))
    with pytest.raises(StudyError, match="newer Sightline"):
        sightline.restore(path, tmp_path / "again")


def test_backups_inside_the_study_do_not_hold_each_other(full: Study) -> None:
    sightline.backup(full, full.home / "backups")
    second = Path(sightline.backup(full, full.home / "backups").path)
    assert not (second / "backups").exists()


def test_vectors_of_another_machine_are_computed_again(full: Study, tmp_path: Path) -> None:
    shutil.rmtree(full.home / "vectors")
    done = sightline.backup(full, tmp_path / "backups")
    assert done.rows["vector"] == 0
    sightline.restore(done.path, tmp_path / "again")
    with open_study(tmp_path / "again") as again:
        assert again.vectors.known("clip", ["x"]) == set()


def test_a_backup_of_a_study_that_is_being_written_to(study: Study, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    writer = start(WRITER, study.home, tmp_path / "scratch")
    assert writer.stdout is not None
    made = []
    try:
        writer.stdout.readline()
        for _ in range(3):
            made.append(sightline.backup(study, tmp_path / "backups"))
            writer.stdout.readline()
        assert writer.poll() is None, "the writer must have been at it all the time"
    finally:
        writer.kill()
        writer.communicate()
    for done in made:
        rows = done.rows
        assert rows["prompt"] == rows["image"] == done.images == rows["source"] and not done.missing
        assert rows["answer"] == 10 * rows["prompt"]
    sizes = [done.rows["source"] for done in made]
    assert 0 < sizes[0] <= sizes[1] <= sizes[2] < reading.counts(study)["source"] + 1


SCHEDULE = """
import sys
import sightline
with sightline.open(sys.argv[1]) as study:
    try:
        said = lambda now: print(now.what, flush=True)
        sightline.backup(study, sys.argv[2], every=0.0005, keep=2, listener=said)
    finally:
        print("ended", flush=True)
"""


def test_a_schedule_goes_on_after_a_failure_and_ends_on_ctrl_c(tmp_path: Path, put: Put) -> None:
    with create_study(tmp_path / "s") as study:
        put(study, [Prompt(P1, "one")])
    backups = tmp_path / "backups"
    process = start(SCHEDULE, tmp_path / "s", backups)
    assert process.stdout is not None
    heard = []

    def wait_for(word: str, times: int) -> None:
        while sum(word in each for each in heard) < times:
            line = process.stdout.readline() if process.stdout else ""
            assert line, "it ended"
            heard.append(line)

    try:
        wait_for("backups made", 3)
        assert len(backing.backups(backups)) <= 3
        # The disk is full, or the folder is gone: a file stands where the backups were.
        shutil.move(backups, tmp_path / "aside")
        backups.touch()
        wait_for("a backup failed", 1)
        os.unlink(backups)
        wait_for("backups made", 5)
    finally:
        process.send_signal(2)
        process.communicate(timeout=60)
    assert process.returncode == 0


KILLED = """
import os, signal, sys
import sightline

def die(now):
    if now.what == "images":
        os.kill(os.getpid(), signal.SIGKILL)

with sightline.open(sys.argv[1]) as study:
    sightline.backup(study, sys.argv[2], listener=die)
"""


def test_a_backup_that_is_killed_is_no_backup(full: Study, tmp_path: Path) -> None:
    first = sightline.backup(full, tmp_path / "backups")
    process = start(KILLED, full.home, tmp_path / "backups")
    process.communicate(timeout=60)
    assert process.returncode == -9
    assert backing.backups(tmp_path / "backups") == [Path(first.path)]
    assert len(list((tmp_path / "backups").glob(".part-*"))) == 1
    assert sightline.restore(tmp_path / "backups", tmp_path / "again").backup == first.path


def test_the_leftovers_of_a_killed_backup_are_no_backup(full: Study, tmp_path: Path) -> None:
    stale = tmp_path / "backups" / ".part-1"
    stale.mkdir(parents=True)
    (stale / "backup.json").write_text("{}")
    fresh = tmp_path / "backups" / ".part-2"
    fresh.mkdir()
    long_ago = time.time() - 2 * backing.STALE_SECONDS
    os.utime(stale, (long_ago, long_ago))
    sightline.backup(full, tmp_path / "backups")
    assert not stale.exists() and fresh.exists()
    assert len(backing.backups(tmp_path / "backups")) == 1
