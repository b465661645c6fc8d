"""Copying a live study safely: the database as of one moment, then every file it refers to."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Connection, String, Table, select, text

from sightline.errors import StudyError
from sightline.study.schema import database, tables
from sightline.study.study import DATABASE_FILE, SETTINGS_FILE, Study, create_study, open_study
from sightline.study.vectors import MOVED

ROWS = 10_000


def copy_study(study: Study, folder: Path, progress: Callable[[str], None] | None = None) -> Study:
    """A copy as a folder of its own; writers may go on meanwhile, the copy is as of its start."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            "there is something there already", where=str(folder), remedy="Choose an empty folder."
        )
    say = progress or (lambda _: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        say("database")
        _copy_database(study, folder)
        copied = open_study(folder)
        say("images and vectors")
        _copy_files(study, copied)
    except BaseException as error:
        # Half a copy must not pass for one.
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise StudyError(
                f"cannot copy ({error.strerror})",
                where=str(folder),
                remedy="Check free space and permissions.",
            ) from None
        raise
    return copied


def _copy_database(study: Study, folder: Path) -> None:
    settings = portable_settings(study)
    if study.engine.dialect.name == "sqlite":
        with database.explained(study.engine):
            copy_sqlite(study.home / DATABASE_FILE, folder / DATABASE_FILE)
        if settings:
            (folder / SETTINGS_FILE).write_text(settings, "utf-8")
        return
    with create_study(folder, settings=settings) as copied:
        copy_rows(study, copied)


def portable_settings(study: Study) -> str:
    """The settings file without its [store] table: whoever takes it elsewhere has a database of its own."""
    file = study.home / SETTINGS_FILE
    return without_store(file.read_text("utf-8")) if file.exists() else ""


def without_store(settings: str) -> str:
    """These settings without the [store] table."""
    kept, inside = [], False
    for line in settings.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = line.replace(" ", "").startswith("[store")
        if not inside:
            kept.append(line)
    return "".join(kept)


def copy_sqlite(source: Path, target: Path) -> dict[str, int]:
    """Copy a SQLite database as of one moment, while others write to it; gives its rows by table."""
    address = f"{source.resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=database.WAIT_SECONDS)) as before,
        closing(sqlite3.connect(target)) as after,
    ):
        # Rows are counted in the transaction that SQLite's own backup then copies.
        before.execute("BEGIN")
        rows = count_rows(before)
        before.backup(after)
        # Where the files were moved to belongs to the study, not to its copy.
        rows["setting"] -= after.execute("DELETE FROM setting WHERE name = ?", [MOVED]).rowcount
        after.commit()
        return rows


def count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    """How many rows each table of a SQLite database has."""
    found = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    names = [str(row[0]) for row in connection.execute(found).fetchall()]
    return {name: int(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]) for name in names}


ELSEWHERE = (database.SCHEMA, database.COPYING, "files", "name", MOVED)
"""Settings that belong to where a study is."""


def copy_rows(study: Study, copied: Study, *, secrets: bool = False) -> dict[str, int]:
    """Copy every row as of one moment into a new study, from either database to either; gives their number.

    With `secrets` the key that links are signed with goes along.
    """
    written: dict[str, int] = {}
    with database.reading(study.engine) as before, database.writing(copied.engine) as after:
        # Keys go over as they are; a self-reference between rows of one table does not occur.
        left = {*ELSEWHERE} if secrets else {*ELSEWHERE, "secret"}
        settings = [tuple(row) for row in before.execute(select(tables.setting)) if row[0] not in left]
        database.upsert(after, tables.setting, ["name", "value"], settings, replace=True)
        for table in tables.metadata.sorted_tables:
            if table.name == "setting":
                continue
            names = [column.name for column in table.columns]
            written[table.name] = 0
            for rows in rows_in_order(before, table):
                database.insert(after, table, names, rows)
                written[table.name] += len(rows)
            keep_keys(before, after, table)
    return written


def rows_in_order(
    connection: Connection, table: Table, columns: Sequence[str] | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a table in parts, in the order of their keys, which is the same on both databases.

    JSON is its text, so that it goes over as it was written.
    """
    cells = []
    for column in table.columns if columns is None else (table.c[name] for name in columns):
        cell = f'"{column.name}"'
        cells.append(f"CAST({cell} AS TEXT)" if isinstance(column.type, JSON) else cell)
    # PostgreSQL would order texts by the rules of a language, SQLite by their bytes.
    order = [
        f'"{key.name}"'
        + (' COLLATE "C"' if isinstance(key.type, String) and connection.dialect.name != "sqlite" else "")
        for key in table.primary_key
    ]
    query = f'SELECT {", ".join(cells)} FROM "{table.name}" ORDER BY {", ".join(order)}'
    return database.stream(connection, query, size=ROWS)


def keep_keys(before: Connection, after: Connection, table: Table) -> None:
    """Have the copy give out only keys that the study has never given out."""
    if "id" not in table.columns:
        return
    largest = _largest_key(before, table)
    if not largest:
        return
    if after.dialect.name == "postgresql":
        database.fetch(after, f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {largest})")
    elif _has_sequences(after):
        after.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        row = {"name": table.name, "seq": largest}
        after.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"), row)


def _largest_key(connection: Connection, table: Table) -> int:
    newest = f'SELECT coalesce(max(id), 0) FROM "{table.name}"'
    ((largest,),) = database.fetch(connection, newest)
    if connection.dialect.name == "postgresql":
        drawn = f"SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('{table.name}', 'id')), 0)"
    elif _has_sequences(connection):
        drawn = f"SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table.name}'"
    else:
        return int(largest)
    return max(int(largest), int(database.fetch(connection, drawn)[0][0]))


def _has_sequences(connection: Connection) -> bool:
    return bool(database.fetch(connection, "SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'"))


def _copy_files(study: Study, copied: Study) -> None:
    for sha256 in contents_of(copied):
        copied.files.put(study.files.read(sha256))
    copied.files.sync()
    study.vectors.copy_to(copied.vectors)


def contents_of(study: Study) -> list[str]:
    """The content hashes of all images whose bytes a study has, in order."""
    with database.reading(study.engine) as connection:
        wanted = select(tables.image.c.sha256).where(tables.image.c.sha256.is_not(None)).distinct()
        return sorted(connection.execute(wanted).scalars())
