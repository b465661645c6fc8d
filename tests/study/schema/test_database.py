"""Opening, locking, versions, and what a user is told when a database refuses."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import start
from sqlalchemy import Connection

from sightline.errors import DataError, StudyError, UsageError
from sightline.records import Answer, ImageKey, Prompt, PromptKey
from sightline.study import reading
from sightline.study.schema import database, tables
from sightline.study.schema.migrations import steps
from sightline.study.study import Study, create_study, open_study

Put = Callable[..., Any]

# -- two processes ------------------------------------------------------------------------------------------

IMPORTER = """
import sys, time
from sightline.errors import StudyError
from sightline.records import Answer, ImageKey, Prompt, PromptKey
from sightline.study.schema import database
from sightline.study.writing.loading import load
from sightline.study.study import open_study

folder, mark, wait, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
database.WAIT_SECONDS = wait

def records():
    for i in range(n):
        key = PromptKey("s", str(i))
        if i == 5:
            print("under way", flush=True)
            sys.stdin.readline()
        yield Prompt(key, f"text {i}")
        yield Answer(key, mark, 0, ImageKey("c", str(i)))
        yield Answer(key, "both", "ab".index(mark), ImageKey("c", str(i)))

try:
    with open_study(folder) as study:
        done = load(study, records(), importer="test", path=mark, digest=mark, batch=7)
    print("answers", done.counts["answers"], flush=True)
except StudyError as error:
    print("refused:", error.what, flush=True)
"""


def start_import(study: Study, mark: str, wait: int, n: int = 40) -> subprocess.Popen[str]:
    return start(IMPORTER, study.home, mark, wait, n)


def test_two_imports_at_once_both_end_well(study: Study) -> None:
    first, second = start_import(study, "a", 30), start_import(study, "b", 30)
    # Whichever comes first holds the lock until it is done; the other waits.
    for process in (first, second):
        assert process.stdin is not None
        process.stdin.write("go on\n")
        process.stdin.flush()
    told = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert told == ["under way\nanswers 80\n"] * 2
    counts = reading.counts(study)
    assert [counts[name] for name in ("prompt", "image", "answer", "system", "source")] == [40, 40, 160, 3, 2]


def test_an_import_that_waits_too_long_is_told_so(study: Study) -> None:
    first = start_import(study, "a", 30)
    assert first.stdout is not None
    assert first.stdout.readline() == "under way\n"
    told, _ = start_import(study, "b", 1).communicate(timeout=60)
    assert told == "refused: another process has been writing to the study for 1 seconds\n"
    assert reading.counts(study)["answer"] == 0  # readers are not kept waiting, and see nothing half-written
    assert first.communicate("go on\n", timeout=60)[0] == "answers 80\n"
    assert reading.counts(study)["answer"] == 80


def test_a_killed_import_leaves_nothing(study: Study, dump: Callable[[Study], Any]) -> None:
    empty = dump(study)
    first = start_import(study, "a", 30)
    assert first.stdout is not None
    assert first.stdout.readline() == "under way\n"
    first.kill()
    first.communicate()
    assert dump(study) == empty
    assert start_import(study, "b", 30).communicate("go on\n", timeout=60)[0] == "under way\nanswers 80\n"


def test_a_reader_sees_one_moment(study: Study, put: Put) -> None:
    with database.reading(study.engine) as connection:
        before = connection.execute(tables.prompt.select()).all()
        with open_study(study.home) as other:
            put(other, [Prompt(PromptKey("s", "1"), "x")])
        assert connection.execute(tables.prompt.select()).all() == before == []
    assert reading.counts(study)["prompt"] == 1


# -- folders that are no studies, or cannot be used ----------------------------------------------------------


def test_what_is_not_a_study_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no such study") as caught:
        open_study(tmp_path / "none")
    assert "sightline init" in caught.value.remedy
    (tmp_path / "folder").mkdir()
    with pytest.raises(StudyError, match="not a study"):
        open_study(tmp_path / "folder")
    assert list((tmp_path / "folder").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="this is a file"):
        open_study(tmp_path / "file")
    with pytest.raises(StudyError, match="file of that name"):
        create_study(tmp_path / "file")
    with pytest.raises(UsageError, match="not an address"):
        open_study("mysql://host/database")
    with pytest.raises(UsageError, match="starts as a folder"):
        create_study("postgresql://host/database")


def test_a_study_is_not_made_twice(study: Study, address: str, put: Put, tmp_path: Path) -> None:
    put(study, [Prompt(PromptKey("s", "1"), "x")])
    with pytest.raises(StudyError, match="a study already"):
        create_study(study.home)
    if address:
        with pytest.raises(StudyError, match="a study in this database already"):
            create_study(tmp_path / "other", database_address=address)
        assert not (tmp_path / "other").exists()
    assert reading.counts(study)["prompt"] == 1


@pytest.mark.parametrize("name", ["what? 100% #1 & más", "back\\slash", 'a "quoted" name', "{braces}"])
def test_any_folder_name_will_do(tmp_path: Path, name: str, put: Put) -> None:
    from sightline.study.writing.copying import copy_study

    with create_study(tmp_path / name) as study:
        put(study, [Prompt(PromptKey("s", "1"), "x")])
        assert study.settings["study"]["name"] == name
    with open_study(tmp_path / name) as study, copy_study(study, tmp_path / f"{name} copy") as copy:
        assert reading.counts(copy)["prompt"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name} copy"]


@pytest.mark.parametrize(
    ("content", "said"),
    [("[study\n", "line 1"), ("name = 1\n", "bare value 'name'"), ("a = '\xff'", "cannot be read")],
)
def test_broken_settings_are_named(tmp_path: Path, content: str, said: str) -> None:
    create_study(tmp_path / "s").close()
    (tmp_path / "s" / "study.toml").write_text(content, "latin-1")
    with pytest.raises(StudyError, match=said) as caught:
        open_study(tmp_path / "s")
    assert caught.value.where.endswith("study.toml")


def test_a_damaged_file_is_called_damaged(tmp_path: Path) -> None:
    create_study(tmp_path / "s").close()
    file = tmp_path / "s" / "study.sqlite"
    file.write_bytes(b"not a database at all, but long enough to be taken for one" * 100)
    with pytest.raises(StudyError, match="is damaged") as caught:
        open_study(tmp_path / "s")
    assert caught.value.where == str(file)
    assert "copy" in caught.value.remedy


@pytest.mark.parametrize("lost", ["every byte", "every table", "the settings", "the version", "its number"])
def test_an_emptied_database_is_no_new_study(study: Study, put: Put, lost: str) -> None:
    put(study, [Prompt(PromptKey("s", "1"), "x")])
    file = study.home / "study.sqlite"
    if lost == "every byte":
        if study.engine.dialect.name != "sqlite":
            pytest.skip("not needed here: a server's database has no file of ours")
        study.close()
        for each in study.home.glob("study.sqlite*"):
            each.write_bytes(b"")
    else:
        with database.writing(study.engine) as connection:
            if lost == "every table":
                tables.metadata.drop_all(connection)
            elif lost == "the settings":
                tables.setting.drop(connection)
            elif lost == "the version":
                connection.execute(tables.setting.delete())
            else:
                connection.execute(tables.setting.update().values(value="abc"))
    with pytest.raises(StudyError, match=r"is (empty|damaged)") as caught:
        open_study(study.home)
    assert caught.value.where == database.place(study.engine)
    assert "Restore it" in caught.value.remedy
    if lost == "every byte":
        assert file.stat().st_size == 0
    with pytest.raises(StudyError, match="a study already"):
        create_study(study.home)


def test_a_file_with_a_torn_page_is_called_damaged(tmp_path: Path, put: Put) -> None:
    with create_study(tmp_path / "s") as study:
        put(study, [Prompt(PromptKey("s", str(i)), "x" * 500) for i in range(500)], batch=1000)
    file = tmp_path / "s" / "study.sqlite"
    whole = bytearray(file.read_bytes())
    whole[20 * 4096 :] = b"\xff" * (len(whole) - 20 * 4096)
    file.write_bytes(whole)
    with pytest.raises(StudyError, match="is damaged"), open_study(tmp_path / "s") as study:
        reading.prompts(study)


# -- studies that cannot be written to -----------------------------------------------------------------------


def test_a_connection_that_may_only_read_is_explained(study: Study, put: Put) -> None:
    with (
        pytest.raises(StudyError, match="cannot be written to") as caught,
        database.writing(study.engine) as connection,
    ):
        if study.engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA query_only=ON")
        else:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        database.insert(connection, tables.setting, ["name", "value"], [("a", "b")])
    assert caught.value.where == database.place(study.engine)
    assert caught.value.exit_code == 3


READER = """
import os, sys
from pathlib import Path
from sightline.errors import StudyError
from sightline.records import Prompt, PromptKey
from sightline.study import reading
from sightline.study.writing.loading import load
from sightline.study.study import open_study, create_study

def visit(folder):
    with open_study(folder) as study:
        (prompt,) = reading.prompts(study)["text"]
        (sha,) = reading.images(study)["sha256"]
        yield f"{prompt} {len(study.files.thumbnail(sha)) > 0}"
        try:
            load(study, [Prompt(PromptKey("s", "2"), "y")], importer="t", path="p", digest="e")
        except StudyError as error:
            yield error.what
    try:
        create_study(folder / "inner")
    except StudyError as error:
        yield error.what

home = Path(sys.argv[1])
# Root may write anywhere: be somebody else, who perhaps cannot read Python's own folders. So once before.
if os.getuid() == 0:
    assert list(visit(home / "writable")) == ["x True"]
    os.setgid(65534)
    os.setuid(65534)
print(*visit(home / "s"), sep=chr(10))
"""


def test_a_study_on_a_read_only_disk_can_be_read(tmp_path: Path, put: Put, png: Callable[..., bytes]) -> None:
    import tempfile

    from sightline.records import Image

    # Another user cannot look into pytest's own folders.
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        (tmp_path / "a.png").write_bytes(png())
        for name in ("s", "writable"):
            with create_study(home / name) as study:
                image = Image(ImageKey("c", "a"), str(tmp_path / "a.png"))
                put(study, [Prompt(PromptKey("s", "1"), "x"), image])
        home.chmod(0o755)
        for path in (home / "s").rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        (home / "s").chmod(0o555)
        process = start(READER, home, HOME=str(home))
        told, complaint = process.communicate()
        for path in [home / "s", *(home / "s").rglob("*")]:
            path.chmod(0o755)
    assert complaint == ""
    assert told.splitlines() == [
        "x True",
        "the study cannot be written to",
        "cannot make a study here (Permission denied)",
    ]


def test_a_full_disk_is_explained(tmp_path: Path, put: Put, dump: Callable[[Study], Any]) -> None:
    with create_study(tmp_path / "s") as study:
        before = dump(study)
        with study.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}")
        records = [Prompt(PromptKey("s", str(i)), "x" * 200) for i in range(500)]
        with pytest.raises(StudyError, match="the disk is full"):
            put(study, records, batch=100)
        assert dump(study) == before


# -- versions ------------------------------------------------------------------------------------------------


def set_version(study: Study, number: int) -> None:
    with database.writing(study.engine) as connection:
        connection.execute(
            tables.setting.update().where(tables.setting.c.name == database.SCHEMA).values(value=str(number))
        )


def test_a_newer_study_is_refused_and_left_alone(study: Study, dump: Callable[[Study], Any]) -> None:
    set_version(study, tables.VERSION + 1)
    before = dump(study)
    with pytest.raises(StudyError, match=f"newer Sightline .tables version {tables.VERSION + 1}") as caught:
        open_study(study.home)
    assert "Upgrade" in caught.value.remedy
    assert dump(study) == before


def test_an_older_study_runs_every_step_in_order(study: Study, put: Put) -> None:
    put(study, [Prompt(PromptKey("s", "1"), "x")])
    ran: list[int] = []

    def step(number: int) -> Callable[[Any], None]:
        def upgrade(connection: Connection) -> None:
            ran.append(number)
            connection.exec_driver_sql(
                f"ALTER TABLE prompt ADD COLUMN extra{number} INTEGER DEFAULT {number}"
            )

        return upgrade

    now = tables.VERSION
    known = {number: step(number) for number in (now + 3, now + 1, now + 2, now)}
    database.prepare(study.engine, known, now + 3)
    assert ran == [now + 1, now + 2, now + 3]
    with database.reading(study.engine) as connection:
        assert database.version(connection) == now + 3
        row = connection.exec_driver_sql("SELECT * FROM prompt").mappings().one()
    assert [row[f"extra{number}"] for number in ran] == ran
    database.prepare(study.engine, known, now + 3)
    assert len(ran) == 3


def test_a_step_that_fails_takes_all_back(study: Study) -> None:
    def good(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE prompt ADD COLUMN extra INTEGER")
        connection.exec_driver_sql("CREATE TABLE more (id INTEGER)")

    def bad(connection: Connection) -> None:
        raise RuntimeError("step two breaks")

    now = tables.VERSION
    with pytest.raises(RuntimeError, match="step two breaks"):
        database.prepare(study.engine, {now + 1: good, now + 2: bad}, now + 2)
    with database.reading(study.engine) as connection:
        assert database.version(connection) == now
        assert "extra" not in connection.exec_driver_sql("SELECT * FROM prompt").keys()  # noqa: SIM118
        assert not study.engine.dialect.has_table(connection, "more")


def test_every_version_has_its_step() -> None:
    assert sorted(steps()) == list(range(2, tables.VERSION + 1))


# -- PostgreSQL addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("postgresql://ann:secret@host:5433/db", "postgresql://ann@host:5433/db"),
        ("postgres://ann:se%40cret@host/db", "postgresql://ann@host/db"),
        (
            "postgresql+psycopg://host/db?password=secret&sslmode=require",
            "postgresql://host/db?sslmode=require",
        ),
        ("postgresql://ann@/db?host=/run/pg", "postgresql://ann@/db?host=%2Frun%2Fpg"),
    ],
)
def test_an_address_is_written_down_without_its_password(given: str, kept: str) -> None:
    assert database.without_password(given) == kept


def test_a_password_is_not_part_of_a_message(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as caught:
        create_study(tmp_path / "s", database_address="postgresql://ann:secret@127.0.0.1:1/db")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_a_password_is_not_part_of_the_settings(address: str, tmp_path: Path) -> None:
    # This server trusts whoever reaches its socket, so that any password opens it.
    with_password = address.replace("postgres:@", "postgres:secret@")
    assert "secret" in with_password
    with create_study(tmp_path / "s", database_address=with_password) as study:
        assert study.engine.url.password == "secret"
        assert "secret" not in database.place(study.engine)
    told = (tmp_path / "s" / "study.toml").read_text()
    assert "secret" not in told
    assert "PGPASSWORD" in told
    with open_study(tmp_path / "s") as study:
        assert reading.counts(study)["prompt"] == 0
    with open_study(address) as study:
        assert (study.name, study.home) == ("s", tmp_path / "s")


def test_a_wrong_password_says_where_to_put_the_right_one() -> None:
    class OperationalError(sqlite3.OperationalError):
        pass

    engine = database.connect("postgresql://ann@host/db")
    with pytest.raises(StudyError) as caught, database.explained(engine):
        raise OperationalError("connection failed: fe_sendauth: no password supplied")
    assert "PGPASSWORD" in caught.value.remedy
    assert caught.value.where == "postgresql://ann@host/db"


def test_a_server_that_is_not_there_is_explained() -> None:
    with pytest.raises(StudyError, match="does not answer") as caught:
        open_study("postgresql://127.0.0.1:1/nothing")
    assert caught.value.remedy


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_an_empty_database_is_no_study(address: str) -> None:
    with pytest.raises(StudyError, match="no study in this database"):
        open_study(address)


def test_a_stranger_s_table_called_wanted_survives(study: Study, put: Put) -> None:
    with database.writing(study.engine) as connection:
        connection.exec_driver_sql("CREATE TABLE wanted (poster INTEGER)")
    put(study, [Prompt(PromptKey("s", "1"), "x"), Answer(PromptKey("s", "1"), "sd", 0, ImageKey("c", "a"))])
    study.engine.dispose()
    with database.reading(study.engine) as connection:
        assert list(connection.exec_driver_sql("SELECT poster FROM wanted")) == []


def test_errors_of_the_program_itself_pass_through(study: Study) -> None:
    with pytest.raises(DataError, match="mine"), database.writing(study.engine):
        raise DataError("mine")
    with pytest.raises(ZeroDivisionError), database.reading(study.engine):
        raise ZeroDivisionError


def test_statements_take_values_by_name_and_lists_on_both(study: Study) -> None:
    with database.writing(study.engine) as connection:
        rows = [("a", "50 %"), ("b", "x:y"), ("c", "")]
        database.insert(connection, tables.setting, ["name", "value"], rows)
        query = "SELECT name FROM setting WHERE name IN :names AND value <> :value ORDER BY name"
        assert database.fetch(connection, query, {"names": ["a", "b", "c"], "value": ""}) == [("a",), ("b",)]
        assert database.fetch(connection, query, {"names": [], "value": ""}) == []
        like = "SELECT name FROM setting WHERE value LIKE '50 %' OR value = :value ORDER BY name"
        assert database.fetch(connection, like, {"value": "x:y"}) == [("a",), ("b",)]
        database.execute(
            connection, "UPDATE setting SET value = :to WHERE name = :name", {"name": "c", "to": "z"}
        )
        found = "SELECT value FROM setting WHERE name = :name"
        assert database.fetch(connection, found, {"name": "c"}) == [("z",)]


def test_an_inserted_row_tells_its_key(study: Study) -> None:
    row = {"panel": "p", "role": "annotator"}
    with database.writing(study.engine) as connection:
        keys = [database.insert_one(connection, tables.annotator, {**row, "name": name}) for name in "ab"]
        found = "SELECT id FROM annotator WHERE name IN :names ORDER BY name"
        assert [key for (key,) in database.fetch(connection, found, {"names": ["a", "b"]})] == keys
