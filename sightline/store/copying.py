"""Copying a live study safely: the database as of one moment, then every file it refers to."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import func, insert, select

from sightline.errors import StudyError
from sightline.store import database, tables
from sightline.store.study import DATABASE_FILE, SETTINGS_FILE, Study, create_study, open_study

ROWS = 10_000


def copy_study(study: Study, folder: Path, progress: Callable[[str], None] | None = None) -> Study:
    """A copy as a folder of its own; writers may go on meanwhile, the copy is as of its start."""
    if folder.exists() and any(folder.iterdir()):
        raise StudyError(
            "there is something there already", where=str(folder), remedy="Choose an empty folder."
        )
    say = progress or (lambda told: None)
    settings = study.home / SETTINGS_FILE
    if study.engine.dialect.name == "sqlite":
        folder.mkdir(parents=True, exist_ok=True)
        say("database")
        _copy_sqlite(study.home / DATABASE_FILE, folder / DATABASE_FILE)
        if settings.exists():
            shutil.copyfile(settings, folder / SETTINGS_FILE)
    else:
        copied = create_study(folder)
        say("database")
        _copy_rows(study, copied)
        copied.close()
    copied = open_study(folder)
    say("images and vectors")
    _copy_files(study, copied)
    return copied


def _copy_sqlite(source: Path, target: Path) -> None:
    # SQLite's own backup takes a consistent picture while others write.
    with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as before, sqlite3.connect(target) as after:
        before.backup(after)
    before.close()
    after.close()


def _copy_rows(study: Study, copied: Study) -> None:
    with database.reading(study.engine) as before, database.writing(copied.engine) as after:
        # Keys go over as they are; a self-reference between rows of one table does not occur.
        for table in tables.metadata.sorted_tables:
            if table.name == "setting":
                continue
            order = list(table.primary_key.columns)
            rows = before.execution_options(yield_per=ROWS).execute(select(table).order_by(*order))
            for part in rows.partitions(ROWS):
                after.execute(insert(table), [dict(row._mapping) for row in part])
        same = before.execute(select(func.count()).select_from(tables.answer)).scalar()
        assert same == after.execute(select(func.count()).select_from(tables.answer)).scalar()


def _copy_files(study: Study, copied: Study) -> None:
    with database.reading(copied.engine) as connection:
        wanted = select(tables.image.c.sha256).where(tables.image.c.sha256.is_not(None)).distinct()
        for (sha256,) in connection.execute(wanted):
            copied.images.put(study.images.read(sha256))
        shards = connection.execute(
            select(tables.vector.c.encoder, tables.vector.c.shard).distinct()
        ).fetchall()
    for encoder, shard in shards:
        place = Path("vectors") / encoder / f"{shard:06d}.npy"
        (copied.home / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(study.home / place, copied.home / place)
