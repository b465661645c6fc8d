"""Copying a live study safely: the database as of one moment, then every file it refers to."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sqlalchemy import JSON, select

from sightline.errors import StudyError
from sightline.study.schema import database, tables
from sightline.study.study import DATABASE_FILE, SETTINGS_FILE, Study, create_study, open_study

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
            _copy_sqlite(study.home / DATABASE_FILE, folder / DATABASE_FILE)
        if settings:
            (folder / SETTINGS_FILE).write_text(settings, "utf-8")
        return
    with create_study(folder, settings=settings) as copied:
        _copy_rows(study, copied)


def portable_settings(study: Study) -> str:
    """The settings file without its [store] table: whoever takes it elsewhere has a database of its own."""
    file = study.home / SETTINGS_FILE
    kept, inside = [], False
    for line in file.read_text("utf-8").splitlines(keepends=True) if file.exists() else ():
        if line.lstrip().startswith("["):
            inside = line.replace(" ", "").startswith("[store")
        if not inside:
            kept.append(line)
    return "".join(kept)


def _copy_sqlite(source: Path, target: Path) -> None:
    # SQLite's own backup takes a consistent picture while others write.
    address = f"{source.resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=database.WAIT_SECONDS)) as before,
        closing(sqlite3.connect(target)) as after,
    ):
        before.backup(after)


def _copy_rows(study: Study, copied: Study) -> None:
    with database.reading(study.engine) as before, database.writing(copied.engine) as after:
        # Keys go over as they are; a self-reference between rows of one table does not occur.
        taken = select(tables.setting).where(tables.setting.c.name == "last_import")
        numbers = [tuple(row) for row in before.execute(taken)]
        database.upsert(after, tables.setting, ["name", "value"], numbers, replace=True)
        for table in tables.metadata.sorted_tables:
            if table.name == "setting":
                continue
            names = [column.name for column in table.columns]
            texts = {i for i, column in enumerate(table.columns) if isinstance(column.type, JSON)}
            order = list(table.primary_key.columns)
            found = before.execution_options(yield_per=ROWS).execute(select(table).order_by(*order))
            for part in found.partitions(ROWS):
                rows = [
                    tuple(database.as_json(cell) if i in texts else cell for i, cell in enumerate(row))
                    for row in part
                ]
                database.insert(after, table, names, rows)


def _copy_files(study: Study, copied: Study) -> None:
    with database.reading(copied.engine) as connection:
        wanted = select(tables.image.c.sha256).where(tables.image.c.sha256.is_not(None)).distinct()
        for (sha256,) in connection.execute(wanted):
            copied.files.put(study.files.read(sha256))
        copied.files.sync()
        shards = connection.execute(
            select(tables.vector.c.encoder, tables.vector.c.shard).distinct()
        ).fetchall()
    for encoder, shard in shards:
        place = Path("vectors") / encoder / f"{shard:06d}.npy"
        (copied.home / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(study.home / place, copied.home / place)
