"""Copying a study to another place, on either database: it may be broken off, and is checked row by row.

Rows go over table by table in the order of their keys, and every part is committed: what the target holds is
how far the copy is. Broken off, the next one compares both, from the beginning, and brings over what is
missing or was changed meanwhile. In the end the digest of every table must be the same on both sides.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sqlalchemy import JSON, Connection, Double, Table
from sqlalchemy.exc import DBAPIError

from sightline.errors import DataError, StudyError
from sightline.study.files import ImageFiles
from sightline.study.schema import database, explaining, tables
from sightline.study.study import (
    DATABASE_FILE,
    SETTINGS_FILE,
    Study,
    adopt_settings,
    create_study,
    read_settings,
)
from sightline.study.writing.backing import OWN, other_files
from sightline.study.writing.copying import ELSEWHERE, keep_keys, portable_settings, rows_in_order

NOTE = ".copying.json"
"""In the target's folder from before anything is made there until all of it is checked."""
PAGE = 500
"""Images after which the target notes how far it is."""
AGAIN = "Run the same command again: it resumes."
Say = Callable[[str, int, int], None]
Row = tuple[Any, ...]


@dataclass
class Transfer:
    """What was copied: rows and digest of each table, images and their bytes, and what is not there.

    `resumed` says that an earlier copy was gone on with, `changed` how many rows of it were no longer right;
    `missing` are hashes of images that the study lacks, `left` vectors that are on another machine.
    """

    rows: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    images: int = 0
    bytes: int = 0
    missing: list[str] = field(default_factory=list)
    left: int = 0
    resumed: bool = False
    changed: int = 0


def transfer(study: Study, to: Path, address: str, images: str, say: Say) -> Transfer:
    """Copy a study into a new folder, or an empty PostgreSQL database, or go on with such a copy."""
    done = Transfer()
    try:
        with _claimed(study, to, address, images) as note:
            target, done.resumed = _target(study, to, address, images)
            with target:
                if _is_complete(target, done):
                    note.unlink()  # the copy before this one was killed right before it would have been
                    return done
                _copy_rows(study, target, done, say)
                _copy_images(study, target, done, say)
                done.left = study.vectors.copy_to(target.vectors)
                _copy_others(study, target)
                # What is not on the disk must not be called complete.
                os.sync()
                with database.writing(target.engine) as connection:
                    gone = tables.setting.delete().where(tables.setting.c.name == database.COPYING)
                    connection.execute(gone)
            note.unlink()
    except OSError as error:
        raise StudyError(
            f"cannot copy ({error.strerror or error})",
            where=str(to),
            remedy=f"Check free space and permissions. {AGAIN}",
        ) from None
    return done


def _is_complete(target: Study, done: Transfer) -> bool:
    with database.reading(target.engine) as connection:
        if database.copying(connection):
            return False
        for table in tables.metadata.sorted_tables:
            done.rows[table.name] = _count(connection, table)
        contents = "SELECT count(DISTINCT sha256) FROM image"
        done.images = int(database.fetch(connection, contents)[0][0])
    return True


# -- the target ---------------------------------------------------------------------------------------------


@contextmanager
def _claimed(study: Study, to: Path, address: str, images: str) -> Iterator[Path]:
    """The note of a copy, which one process at a time holds."""
    place = database.without_password(address)
    wanted = {"from": study.address, "database": place, "images": images, "schema": tables.VERSION}
    note = to / NOTE
    if not note.exists():
        _refuse_taken(to, address)
        to.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = to / f"{NOTE}.{uuid.uuid4().hex}"
        draft.write_text(json.dumps(wanted), "utf-8")
        with suppress(FileExistsError):
            os.link(draft, note)  # whole, and of two processes one's
        draft.unlink()
    with note.open("r", encoding="utf-8") as opened:
        _lock(opened, to)
        begun = json.load(opened)
        other = [name for name in wanted if begun.get(name) != wanted[name]]
        if other:
            raise StudyError(
                f"another copy was begun here, with {other[0]} {begun.get(other[0])!r}",
                where=str(to),
                remedy=f"Go on with that one, or remove {to} and what it wrote, and copy again.",
            )
        yield note


def _lock(note: IO[str], to: Path) -> None:
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StudyError(
            "another process is copying to this place", where=str(to), remedy="Wait until it is done."
        ) from None


def _refuse_taken(to: Path, address: str) -> None:
    """Both must be empty before anything is written to either."""
    if to.exists() and (not to.is_dir() or any(not each.name.startswith(NOTE) for each in to.iterdir())):
        raise StudyError("there is something there already", where=str(to), remedy="Choose an empty folder.")
    if address:
        engine = database.connect(address)
        try:
            with database.reading(engine) as connection:
                if database.version(connection) is not None:
                    raise StudyError(
                        "there is a study in this database already",
                        where=database.place(engine),
                        remedy="Make another database: createdb NAME",
                    )
        finally:
            engine.dispose()


def _target(study: Study, to: Path, address: str, images: str) -> tuple[Study, bool]:
    """The study to copy into, and whether a copy into it was begun before."""
    engine = database.connect(address) if address else None
    if engine is None and (to / DATABASE_FILE).exists():
        engine = database.connect_file(to / DATABASE_FILE)
    if engine is not None:
        with database.reading(engine) as connection:
            begun = database.version(connection) is not None
        if begun:
            files = ImageFiles(images if address and images else str(to))
            return Study(to.resolve().name, engine, files, to, read_settings(to / SETTINGS_FILE)), True
        engine.dispose()
    # Of a study that was being made nothing is in the database: all of it or nothing is.
    for file in (*to.glob(f"{DATABASE_FILE}*"), to / SETTINGS_FILE):
        file.unlink(missing_ok=True)
    note = json.dumps({"images": ""})
    made = create_study(to, database_address=address, images=images, copying=note)
    settings = portable_settings(study)
    if settings:
        adopt_settings(made, settings)
    return made, False


# -- rows ---------------------------------------------------------------------------------------------------


def _copy_rows(study: Study, target: Study, done: Transfer, say: Say) -> None:
    """Copy what the study holds at this moment, whatever is written to it meanwhile, and compare."""
    with database.reading(study.engine) as before:
        if done.resumed:
            for table in reversed(tables.metadata.sorted_tables):
                done.changed += _drop_extra(before, target, table)
        total = sum(_count(before, table) for table in tables.metadata.sorted_tables)
        copied = 0
        for table in tables.metadata.sorted_tables:
            say(f"rows of {table.name}", copied, total)
            for n in _bring_over(before, target, table, done):
                copied += n
                say(f"rows of {table.name}", copied, total)
        with database.writing(target.engine) as after:
            for table in tables.metadata.sorted_tables:
                keep_keys(before, after, table)
        for table in tables.metadata.sorted_tables:
            say(f"comparing {table.name}", 0, 0)
            _compare(before, target, table, done)


def _count(connection: Connection, table: Table) -> int:
    return int(database.fetch(connection, f'SELECT count(*) FROM "{table.name}"')[0][0])


def rows_of(connection: Connection, table: Table, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a table that a copy has, in the order of their keys."""
    for part in rows_in_order(connection, table, columns):
        if table.name == "setting":
            part = [row for row in part if row[0] not in ELSEWHERE]
        yield from part


def _drop_extra(before: Connection, target: Study, table: Table) -> int:
    """Delete what an earlier part of the copy has and the study no longer."""
    keys = [column.name for column in table.primary_key]
    same = " AND ".join(f'"{name}" = ?' for name in keys)
    dropped = 0
    with database.reading(target.engine) as after:
        pairs = _merged(rows_of(before, table, keys), rows_of(after, table, keys), lambda row: row)
        extra = (theirs for ours, theirs in pairs if ours is None)
        for part in _parts(extra):
            with _writing(target, table) as connection:
                database.execute_many(connection, f'DELETE FROM "{table.name}" WHERE {same}', part)
            dropped += len(part)
    return dropped


def _bring_over(before: Connection, target: Study, table: Table, done: Transfer) -> Iterator[int]:
    """Insert what the target lacks and replace what is otherwise; gives how many rows were looked at."""
    names = [column.name for column in table.columns]
    key, digest = _key_of(table), Digest(table)
    changed: list[Row] = []
    with database.reading(target.engine) as after:
        there = rows_of(after, table) if done.resumed else iter(())
        pairs = _merged(digest.read(rows_of(before, table)), there, key)
        for part in _parts(pairs):
            fresh = [ours for ours, theirs in part if theirs is None]
            for ours, theirs in part:
                if ours is not None and theirs is not None and ours != theirs:
                    changed += [ours] if digest.canonical(ours) != digest.canonical(theirs) else []
            with _writing(target, table) as connection:
                database.insert(connection, table, names, fresh)
                database.upsert(connection, table, names, changed, replace=True)
            if done.resumed and table.name == "image" and (fresh or changed):
                _note_images(target, "")
            done.changed += len(changed)
            changed.clear()
            yield len(part)
    done.rows[table.name], done.digests[table.name] = digest.n, digest.hexdigest()


@contextmanager
def _writing(target: Study, table: Table) -> Iterator[Connection]:
    """A transaction of the target; what it refuses is said with the table."""
    try:
        with database.writing(target.engine, durable=False) as connection:
            yield connection
    except StudyError as error:
        raise StudyError(error.what, where=error.where, remedy=f"{error.remedy} {AGAIN}") from None
    except Exception as error:
        raw = error.orig if isinstance(error, DBAPIError) else error
        if not explaining.from_driver(raw):
            raise
        raise DataError(
            f"the target refuses rows of the table {table.name}: {str(raw).splitlines()[0]}",
            where=target.address,
            remedy="If the study was changed since the copy was begun, remove the target and copy again; "
            "otherwise look for the fault with sightline doctor STUDY.",
        ) from None


def _merged(
    ours: Iterator[Row], theirs: Iterator[Row], key: Callable[[Row], Row]
) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows of two sides by their keys, both in order; None where a side has none."""
    a, b = next(ours, None), next(theirs, None)
    while a is not None or b is not None:
        if b is None or (a is not None and key(a) < key(b)):
            yield a, None
            a = next(ours, None)
        elif a is None or key(b) < key(a):
            yield None, b
            b = next(theirs, None)
        else:
            yield a, b
            a, b = next(ours, None), next(theirs, None)


def _parts(rows: Iterator[Any], size: int = 10_000) -> Iterator[list[Any]]:
    part = []
    for row in rows:
        part.append(row)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _key_of(table: Table) -> Callable[[Row], Row]:
    names = [column.name for column in table.columns]
    at = [names.index(column.name) for column in table.primary_key]
    return lambda row: tuple(row[n] for n in at)


class Digest:
    """The hash over all rows of a table in the order of their keys, the same on both databases."""

    def __init__(self, table: Table) -> None:
        kinds = [column.type for column in table.columns]
        self._json = [n for n, kind in enumerate(kinds) if isinstance(kind, JSON)]
        self._numbers = [n for n, kind in enumerate(kinds) if isinstance(kind, Double)]
        self._hash = hashlib.sha256()
        self.n = 0

    def canonical(self, row: Row) -> Row:
        """The row with JSON as we write it, and 0.0 for -0.0, whose sign SQLite does not keep."""
        cells = list(row)
        for n in self._numbers:
            cells[n] = cells[n] if cells[n] is None else float(cells[n]) + 0.0
        for n in self._json:
            value = cells[n] if cells[n] is None else json.loads(cells[n])
            cells[n] = "null" if cells[n] is not None and value is None else database.as_json(value)
        return tuple(cells)

    def read(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The same rows, each counted and hashed."""
        for row in rows:
            self._hash.update(repr(self.canonical(row)).encode())
            self.n += 1
            yield row

    def hexdigest(self) -> str:
        """The hash of what was read."""
        return self._hash.hexdigest()


def _compare(before: Connection, target: Study, table: Table, done: Transfer) -> None:
    """Read the target's table again, and raise at its first row that is not the study's."""
    digest, key = Digest(table), _key_of(table)
    with database.reading(target.engine) as after:
        for _ in digest.read(rows_of(after, table)):
            pass
        if digest.hexdigest() == done.digests[table.name]:
            return
        for ours, theirs in _merged(rows_of(before, table), rows_of(after, table), key):
            if ours is None or theirs is None or digest.canonical(ours) != digest.canonical(theirs):
                wrong = dict(zip(table.primary_key.columns.keys(), key(ours or theirs or ()), strict=True))
                raise DataError(
                    f"the copy is not the same as the study: table {table.name}, row {wrong}",
                    where=target.address,
                    remedy=f"{AGAIN} If it happens again, check the disk of the target.",
                )


# -- files --------------------------------------------------------------------------------------------------


def _note_images(target: Study, last: str, missing: Sequence[str] = ()) -> None:
    with database.writing(target.engine) as connection:
        row = (database.COPYING, json.dumps({"images": last, "missing": [*missing]}))
        database.upsert(connection, tables.setting, ["name", "value"], [row], replace=True)


def _copy_images(study: Study, target: Study, done: Transfer, say: Say) -> None:
    """Copy every image that the target refers to, in the order of their hashes; notes how far it is."""
    page = "SELECT DISTINCT sha256 FROM image WHERE sha256 > ? ORDER BY sha256 LIMIT ?"
    counts = "SELECT count(DISTINCT sha256), count(DISTINCT CASE WHEN sha256 <= ? THEN sha256 END) FROM image"
    with database.reading(target.engine) as connection:
        noted = json.loads(database.copying(connection))
        last, done.missing = str(noted["images"]), list(noted.get("missing", ()))
        ((total, before),) = database.fetch(connection, counts, [last])
    done.images = before - len(done.missing)
    while True:
        with database.reading(target.engine) as connection:
            contents = [str(sha256) for (sha256,) in database.fetch(connection, page, [last, PAGE])]
        if not contents:
            return
        for sha256 in contents:
            _copy_image(study, target, sha256, done)
            say("images", done.images + len(done.missing), total)
        target.files.sync()
        last = contents[-1]
        _note_images(target, last, done.missing)


def _copy_image(study: Study, target: Study, sha256: str, done: Transfer) -> None:
    try:
        data = study.files.read(sha256)
    except DataError:
        data = None
    if data is None or hashlib.sha256(data).hexdigest() != sha256:
        done.missing.append(sha256)
        return
    target.files.put(data)
    done.images, done.bytes = done.images + 1, done.bytes + len(data)


def _copy_others(study: Study, target: Study) -> None:
    """The files that people put into the study's folder: control answers, examples, bridges, notes."""
    if study.home.is_dir():
        for place in other_files(study.home, {*OWN, SETTINGS_FILE, f"{SETTINGS_FILE}.part"}, target.home):
            _copy_file(study.home / place, target.home / place)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".part-{target.name}")
    shutil.copy2(source, draft)
    draft.replace(target)
