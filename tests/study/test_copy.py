"""Copies between databases: every row the same, broken off at any moment, and never half a study."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import WRITER, environment, start
from sqlalchemy import text

from sightline.errors import DataError, SightlineError, StudyError, UsageError
from sightline.records import Answer, Image, ImageKey, Item, Judgement, Prompt, PromptKey, Truth
from sightline.study import copy, reading
from sightline.study.schema import database, tables
from sightline.study.study import Study, open_study
from sightline.study.writing import copying, transferring
from sightline.study.writing.loading import undo

Put = Callable[..., Any]
Dumped = Callable[[Study], dict[str, list[Any]]]
P1 = PromptKey("s", "1")


@pytest.fixture
def full(study: Study, put: Put, tmp_path: Path, png: Callable[..., bytes]) -> Study:
    """A study with something of everything, and values that databases like to disagree on."""
    (tmp_path / "a.png").write_bytes(png())
    put(
        study,
        [
            Prompt(P1, "one 🐕", {"split": "test", "Ärger": "x", "zebra": "y"}, [], {"n": [1, 2.5, None]}),
            Prompt(PromptKey("s", "2"), "two", translations={"de": "zwei"}),
            *(Prompt(PromptKey(suite, "x"), "same") for suite in ("a", "B", "ä", "_", "Z", "1")),
            Image(ImageKey("c", "a"), str(tmp_path / "a.png"), ["a dog"]),
            *(Image(ImageKey("c", f"b{n}")) for n in range(30)),
            Answer(P1, "sd", 0, ImageKey("c", "a"), 0.1, 2**62, {"steps": 3, "cfg": 7.0}),
            Answer(P1, "sd", 1, None, failure="x"),
            Answer(P1, "sd", 2, ImageKey("c", "b1"), -0.0),
            Judgement("q", Item(P1), 1 / 3, n=3),
            Truth("q", Item(P1), 1e-300, n=2),
        ],
    )
    study.vectors.put("clip", ["x", "y"], np.arange(6, dtype=np.float32).reshape(2, 3))
    with database.writing(study.engine) as connection:
        connection.execute(tables.event.insert().values(at="", actor="", what="x", json=None))
        row = {"at": "", "actor": "", "what": "y", "json": '{"b": 1, "a": [1e20, "ü"]}'}
        database.insert_one(connection, tables.event, row)
        columns = ["id", "kind", "spec", "version", "direction", "identity"]
        database.insert(connection, tables.measure, columns, [(1, "of_prompt", "m", 1, "higher", "m")])
        columns = ["measure_id", "prompt_id", "system_id", "image_id", "inputs", "value"]
        numbers = (5e-324, 1.6e308, -0.0, 0.1 + 0.2)
        scores = [(1, n, 0, 0, -(2**63) + n, value) for n, value in enumerate(numbers, 1)]
        database.insert(connection, tables.score, columns, scores)
        database.upsert(connection, tables.setting, ["name", "value"], [("secret", "s")], replace=True)
    (study.home / "controls.csv").write_text("mine")
    return study


@pytest.fixture
def target(request: pytest.FixtureRequest, address: str) -> Iterator[str]:
    """The address of an empty database to copy to, of the other kind than the study's; "" for a file."""
    if bool(address) != (getattr(request, "param", "another kind") == "the same kind"):
        yield ""
        return
    import psycopg

    server, name = str(request.getfixturevalue("postgres")), f"target_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield server.replace("/postgres?", f"/{name}?", 1)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def same(full: Study, copied: Study, dump: Dumped) -> bool:
    ours, theirs = dump(full), dump(copied)
    for dumped in (ours, theirs):
        dumped["setting"] = [row for row in dumped["setting"] if row[0] not in copying.ELSEWHERE]
    return ours == theirs


@pytest.mark.parametrize("target", ["another kind", "the same kind"], indirect=True)
def test_a_copy_is_the_same_row_by_row(full: Study, target: str, tmp_path: Path, dump: Dumped) -> None:
    said: list[Any] = []
    done = copy(full, tmp_path / "t", database=target, listener=said.append)
    assert done.rows["prompt"] == 8 and done.images == 1 and not done.missing and done.exit_code == 0
    assert "8" in str(done.tables()[""]) and done.digests.keys() == done.rows.keys()
    assert {each.what for each in said} >= {"rows of prompt", "images", "comparing score"}
    with open_study(tmp_path / "t") as copied:
        assert same(full, copied, dump)
        assert copied.engine.dialect.name == ("postgresql" if target else "sqlite")
        (sha,) = {sha for sha in reading.images(copied)["sha256"] if sha}
        assert copied.files.read(sha) == full.files.read(sha)
        assert copied.vectors.get("clip", ["y"])[0].tolist() == [[3, 4, 5]]
        assert (copied.home / "controls.csv").read_text() == "mine"
        assert not (copied.home / transferring.NOTE).exists()


def test_a_copy_gives_out_no_key_twice(full: Study, target: str, tmp_path: Path, put: Put) -> None:
    put(full, [Prompt(PromptKey("t", "1"), "gone")], "more")
    gone = int(reading.prompts(full)["prompt_id"].max())  # type: ignore[arg-type]
    undo(full, 2)
    copy(full, tmp_path / "t", database=target)
    with open_study(tmp_path / "t") as copied:
        put(copied, [Prompt(PromptKey("t", "2"), "new")], "again")
        assert int(reading.prompts(copied)["prompt_id"].max()) > gone  # type: ignore[arg-type]


def stop_after(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """Let a copy fail at its n-th write to the target, as a disk that is full does."""
    writes, real = iter(range(10_000)), transferring.database.insert

    def insert(*given: Any) -> None:
        if next(writes) >= n:
            raise OSError(28, "No space left on device")
        real(*given)

    monkeypatch.setattr(transferring.database, "insert", insert)


@pytest.mark.parametrize(
    "n", [6, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 4, 8, 10, 12, 14))]
)
def test_a_copy_that_failed_goes_on(
    full: Study, target: str, tmp_path: Path, dump: Dumped, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_after(patch, n)
        with pytest.raises(StudyError, match="No space left") as caught:
            copy(full, tmp_path / "t", database=target)
        assert "Run the same command again" in caught.value.remedy
    for place in filter(None, (tmp_path / "t", target)):
        with pytest.raises(StudyError, match=r"half a copy|lost its tables|is empty|no study|not a study"):
            open_study(place)
    done = copy(full, tmp_path / "t", database=target)
    assert done.resumed and done.changed == 0
    with open_study(tmp_path / "t") as copied:
        assert same(full, copied, dump)


def test_what_was_changed_between_is_brought_over(
    full: Study, target: str, tmp_path: Path, dump: Dumped, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are new, changed and gone, in tables that were copied already."""
    put(full, [Prompt(PromptKey("t", "1"), "to go", {"b": "x"})], "goes")
    with monkeypatch.context() as patch:
        patch.setattr(transferring, "_compare", lambda *_: (_ for _ in ()).throw(OSError(5, "cable")))
        with pytest.raises(StudyError, match="cable"):
            copy(full, tmp_path / "t", database=target)
    undo(full, 2)
    put(full, [Prompt(PromptKey("t", "1"), "came", {"a": "y"}), Image(ImageKey("c", "new"))], "comes")
    with database.writing(full.engine) as connection:
        connection.execute(text("UPDATE prompt SET text = 'other' WHERE ref = '2'"))
        connection.execute(text("UPDATE prompt_tag SET value = 'other' WHERE name = 'zebra'"))
    done = copy(full, tmp_path / "t", database=target)
    assert done.resumed and done.changed >= 4
    with open_study(tmp_path / "t") as copied:
        assert same(full, copied, dump)


def test_a_row_that_came_out_wrong_is_named(
    full: Study, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = transferring.database.insert

    def insert(connection: Any, table: Any, columns: Any, rows: Any) -> None:
        if table.name == "prompt_tag":
            at = columns.index("value")
            rows = [(*row[:at], "bad", *row[at + 1 :]) if "zebra" in row else row for row in rows]
        real(connection, table, columns, rows)

    with monkeypatch.context() as patch:
        patch.setattr(transferring.database, "insert", insert)
        with pytest.raises(DataError, match=r"prompt_tag.*'prompt_id': 1, 'name': 'zebra'"):
            copy(full, tmp_path / "t", database=target)
    assert copy(full, tmp_path / "t", database=target).changed == 1


def test_what_a_copy_refuses(full: Study, tmp_path: Path, target: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "note.txt").write_text("mine")
    with pytest.raises(StudyError, match="something there already"):
        copy(full, tmp_path / "taken", database=target)
    with pytest.raises(UsageError, match="--images goes with --database"):
        copy(full, tmp_path / "t", images="s3://bucket")
    with pytest.raises(StudyError, match=r"does not answer|connection"):
        copy(full, tmp_path / "t", database="postgresql://nobody@127.0.0.1:1/none")
    assert not (tmp_path / "t").exists()
    copy(full, tmp_path / "t", database=target)
    if target:
        with pytest.raises(StudyError, match="a study in this database already"):
            copy(full, tmp_path / "u", database=target)
        assert not (tmp_path / "u").exists()
    with pytest.raises(StudyError, match="something there already"):
        copy(full, tmp_path / "t", database=target)


def test_a_copy_goes_on_only_as_it_was_begun(
    full: Study, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop_after(patch, 6)
        with pytest.raises(StudyError):
            copy(full, tmp_path / "t", database=target)
    note = tmp_path / "t" / transferring.NOTE
    begun = json.loads(note.read_text())
    note.write_text(json.dumps({**begun, "schema": 1}))
    with pytest.raises(StudyError, match="another copy was begun here, with schema 1"):
        copy(full, tmp_path / "t", database=target)
    note.write_text(json.dumps(begun))
    with note.open() as held:
        transferring._lock(held, note.parent)
        with pytest.raises(StudyError, match="another process is copying"):
            copy(full, tmp_path / "t", database=target)
    assert copy(full, tmp_path / "t", database=target).resumed


def test_a_copy_killed_at_its_very_end_is_complete(full: Study, tmp_path: Path, dump: Dumped) -> None:
    copy(full, tmp_path / "t")
    wanted = {"from": full.address, "database": "", "images": "", "schema": tables.VERSION}
    (tmp_path / "t" / transferring.NOTE).write_text(json.dumps(wanted))
    assert copy(full, tmp_path / "t").rows["prompt"] == 8
    with open_study(tmp_path / "t") as copied:
        assert same(full, copied, dump)


def test_images_that_the_study_lacks_are_listed(full: Study, tmp_path: Path) -> None:
    (sha,) = {sha for sha in reading.images(full)["sha256"] if sha}
    (full.home / "images" / sha[:2] / sha).unlink()
    done = copy(full, tmp_path / "t")
    assert list(done.missing) == [sha] and done.exit_code == 3 and "missing" in " ".join(done.notes)


@pytest.mark.slow
def test_memory_is_bounded_by_the_part(tmp_path: Path, study: Study, target: str) -> None:
    """90,000 rows, read and written in parts of 10,000."""
    n = 90_000
    with database.writing(study.engine, durable=False) as connection:
        ids = database.fresh_ids(connection, tables.event, n)
        rows = [(i, "now", "me", "w") for i in ids]
        database.insert(connection, tables.event, ["id", "at", "actor", "what"], rows)
        del ids, rows
    tracemalloc.start()
    copy(study, tmp_path / "t", database=target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All rows at once, five cells each, would be more than 30 MB.
    assert peak < 15_000_000


def run(full: Study, to: Path, target: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    program = "import sys; from sightline.cli import main; sys.exit(main())"
    given = [*(["--database", target] if target else [])]
    return subprocess.Popen(
        [sys.executable, "-c", program, "copy", str(full.home), str(to), *given],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def killed_and_gone_on_with(full: Study, to: Path, target: str, kills: int, chance: random.Random) -> int:
    """Kill the command at random moments, then let it end; gives how often it was really killed."""
    hit = 0
    for _ in range(kills):
        process = run(full, to, target)
        deadline = time.monotonic() + 60
        while not (to / transferring.NOTE).exists() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(chance.random() * 0.8)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            hit += 1
        process.communicate()
        if not (to / transferring.NOTE).exists():
            break
        with pytest.raises(SightlineError):
            open_study(to).close()
    process = run(full, to, target)
    told = process.communicate()[0]
    assert process.returncode == 0 or "something there already" in told, told
    return hit


def many(study: Study, n: int) -> None:
    """Rows enough for several parts of several tables."""
    with database.writing(study.engine, durable=False) as connection:
        columns = ["id", "suite", "ref", "text", "text_sha"]
        prompts = [(i, "many", str(i), f"text {i}", i) for i in range(1_000, 1_000 + n)]
        database.insert(connection, tables.prompt, columns, prompts)
        tags = [(i, "kind", str(i % 7)) for i in range(1_000, 1_000 + n)]
        database.insert(connection, tables.prompt_tag, ["prompt_id", "name", "value"], tags)


@pytest.mark.parametrize(
    "address", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
def test_a_copy_that_is_killed_goes_on(full: Study, target: str, tmp_path: Path, dump: Dumped) -> None:
    many(full, 12_000)
    killed_and_gone_on_with(full, tmp_path / "t", target, 1, random.Random(7))
    with open_study(tmp_path / "t") as copied:
        assert same(full, copied, dump)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["another kind", "the same kind"], indirect=True)
def test_a_copy_that_is_killed_over_and_over_goes_on(
    full: Study, target: str, tmp_path: Path, dump: Dumped
) -> None:
    many(full, 60_000)
    assert killed_and_gone_on_with(full, tmp_path / "t", target, 12, random.Random(1))
    with open_study(tmp_path / "t") as copied:
        assert same(full, copied, dump)


@pytest.mark.slow
def test_a_study_that_is_written_to_while_it_is_copied(study: Study, target: str, tmp_path: Path) -> None:
    """Every round of the writer is whole in the copy, also of one that was broken off and gone on with."""
    (tmp_path / "scratch").mkdir()
    writer = start(WRITER, study.home, tmp_path / "scratch")
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        killed_and_gone_on_with(study, tmp_path / "t", target, 3, random.Random(3))
        assert writer.poll() is None, "the writer must have been at it all the time"
    finally:
        writer.kill()
        writer.communicate()
    with open_study(tmp_path / "t") as copied:
        counts = reading.counts(copied)
        rounds = counts["source"]
        assert rounds > 0
        assert [counts[name] for name in ("prompt", "image", "answer", "image_file")] == [
            rounds, rounds, 10 * rounds, rounds,
        ]  # fmt: skip
        for sha in reading.images(copied)["sha256"]:
            assert copied.files.picture(sha).rgb.shape == (4, 4, 3)
