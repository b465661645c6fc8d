"""Backups: a study as of one moment in a folder of its own, checked by opening it, and brought back from it.

A backup is a study in a SQLite file, whatever database it came from. Images are copied once: a later backup
in the same place links to those of the one before, which it checks, so that each is complete by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sightline.errors import DataError, StudyError
from sightline.study.files import ImageFiles
from sightline.study.indexes import INDEXES
from sightline.study.schema import database, tables
from sightline.study.study import (
    DATABASE_FILE,
    SETTINGS_FILE,
    Study,
    adopt_settings,
    create_study,
    open_study,
)
from sightline.study.vectors import Vectors
from sightline.study.writing.copying import (
    contents_of,
    copy_rows,
    copy_sqlite,
    count_rows,
    portable_settings,
)
from sightline.version import __version__

NOTE = "backup.json"
FORM = 1
SAMPLE = 1000
"""So many of the images that an earlier backup holds are read and hashed again; the new ones all are."""
STALE_SECONDS = 24 * 3600
OWN = ("images", "thumbnails", "vectors", INDEXES, NOTE)
Say = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Written:
    """A backup: where it is, its rows by table, and its images; `missing` are hashes of those it lacks."""

    path: Path
    rows: Mapping[str, int]
    images: int
    copied: int
    bytes: int
    missing: Sequence[str]


def back_up(study: Study, root: Path, say: Say) -> Written:
    """Write a backup below `root`; it has its name once it is complete and checked."""
    draft = root / f".part-{uuid.uuid4().hex}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        _clear_stale(root)
        draft.mkdir(mode=0o700)
        say("database", 0, 0)
        rows = _copy_database(study, draft)
        _copy_others(study, draft, root)
        earlier = backups(root, study.address)[-1:]
        with open_study(draft) as copy:
            made = _copy_images(study, copy, earlier, say)
            rows["vector"] -= study.vectors.copy_to(copy.vectors, earlier[0] if earlier else None)
        _one_file(draft / DATABASE_FILE)
        check_rows(draft, rows)
        path = root / _name(study, root)
        note = {
            "sightline_backup": FORM, "study": study.name, "from": study.address, "at": _stamp(),
            "sightline": __version__, "schema": tables.VERSION, "database": _digest(draft / DATABASE_FILE),
            "rows": rows, "images": made.images, "missing": list(made.missing),
        }  # fmt: skip
        (draft / NOTE).write_text(json.dumps(note, ensure_ascii=False, indent=1) + "\n", "utf-8")
        (draft / DATABASE_FILE).chmod(0o600)
        # Before it gets its name, all of it must be on the disk.
        os.sync()
        draft.rename(path)
    except OSError as error:
        raise StudyError(
            f"cannot write the backup ({error.strerror or error})",
            where=str(root),
            remedy="Check free space and permissions. Earlier backups are as they were.",
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Written(path, rows, made.images, made.copied, made.bytes, made.missing)


def backups(root: Path, address: str | None = None) -> list[Path]:
    """The complete backups below a folder, the oldest first; of the study at an address, if given."""
    found: dict[Path, str] = {}
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        note = _note(path)
        if note is not None and address in (None, note["from"]):
            found[path] = str(note["at"])
    return sorted(found, key=lambda path: (found[path], path.name))


def drop(path: Path) -> None:
    """Remove a backup; half of one never has a backup's name."""
    gone = path.with_name(f".part-{uuid.uuid4().hex}")
    path.rename(gone)
    shutil.rmtree(gone)


def newest(path: Path) -> Path:
    """The backup at a path: itself, or the newest of a study's backups below it."""
    if _note(path) is not None:
        return path
    found = backups(path)
    origins = {str((_note(each) or {})["from"]) for each in found}
    if len(origins) > 1:
        raise StudyError(
            f"there are backups of {len(origins)} studies",
            where=str(path),
            remedy=f"Name the one to restore, such as {found[-1]}.",
        )
    if not found:
        raise StudyError(
            "there is no backup", where=str(path), remedy="Name a folder that sightline backup wrote to."
        )
    return found[-1]


def bring_back(path: Path, to: Path, address: str, images: str, say: Say) -> tuple[Study, Written, list[str]]:
    """Make a new study from a backup, in a folder or in PostgreSQL; gives also what a reader should know."""
    note = _note(path)
    assert note is not None
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StudyError("there is something there already", where=str(to), remedy="Choose an empty folder.")
    notes = []
    if _digest(path / DATABASE_FILE) != note["database"]:
        notes.append(
            "The database file is not as it was written: it was opened since, or has changed. Its integrity "
            "and its numbers of rows are as they should be."
        )
    above = next(parent for parent in to.absolute().parents if parent.exists())
    aside = above / f".sightline-{uuid.uuid4().hex}"
    try:
        aside.mkdir(mode=0o700)
        say("database", 0, 0)
        try:
            copy_sqlite(path / DATABASE_FILE, aside / DATABASE_FILE)
        except sqlite3.DatabaseError as error:
            raise _not_whole(path, str(error)) from None
        check_rows(aside, note["rows"])
        for place in other_files(path, {*OWN}):
            _copy_file(path / place, aside / place)
        if address:
            study = _into_postgres(aside, to, address, images)
            made = _restore_files(path, study, say)
        else:
            with open_study(aside) as copy:
                made = _restore_files(path, copy, say)
            to.parent.mkdir(parents=True, exist_ok=True)
            if to.exists():
                to.rmdir()
            aside.rename(to)
            study = open_study(to)
    except OSError as error:
        raise StudyError(
            f"cannot restore ({error.strerror or error})",
            where=str(to),
            remedy="Check free space and permissions. The backup is as it was.",
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return study, Written(path, note["rows"], made.images, made.copied, made.bytes, made.missing), notes


def check_rows(folder: Path, rows: Mapping[str, int]) -> None:
    """Open a copied database and compare: its integrity, its references, and its rows by table."""
    file = folder / DATABASE_FILE
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            fault = str(connection.execute("PRAGMA integrity_check").fetchone()[0])
            if fault == "ok" and connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                fault = "a row refers to one that is not there"
            if fault == "ok":
                query = 'SELECT count(*) FROM "{}"'
                found = {name: int(connection.execute(query.format(name)).fetchone()[0]) for name in rows}
                wrong = [name for name in rows if found[name] != rows[name]]
                fault = f"{wrong[0]}: {found[wrong[0]]:,} rows, not {rows[wrong[0]]:,}" if wrong else "ok"
        except sqlite3.DatabaseError as error:
            fault = str(error)
    if fault != "ok":
        raise _not_whole(folder, fault)


def _not_whole(folder: Path, fault: str) -> DataError:
    return DataError(
        f"the backup is not whole ({fault})",
        where=str(folder / DATABASE_FILE),
        remedy="Use another backup; if it was being written, try again.",
    )


# -- the parts of a backup --------------------------------------------------------------------------------


def _copy_database(study: Study, draft: Path) -> dict[str, int]:
    settings = portable_settings(study)
    if study.engine.dialect.name == "sqlite":
        with database.explained(study.engine):
            rows = copy_sqlite(study.home / DATABASE_FILE, draft / DATABASE_FILE)
        if settings:
            (draft / SETTINGS_FILE).write_text(settings, "utf-8")
        return rows
    with create_study(draft, settings=settings) as copied:
        rows = copy_rows(study, copied, secrets=True)
    with closing(sqlite3.connect(draft / DATABASE_FILE)) as connection:
        # Some settings belong to where the study was, so the copy's own are what counts.
        rows["setting"] = count_rows(connection)["setting"]
    return rows


def _copy_others(study: Study, draft: Path, root: Path) -> None:
    """The files that people put into the study's folder: control answers, examples, bridges, notes."""
    for place in other_files(study.home, {*OWN, SETTINGS_FILE, f"{SETTINGS_FILE}.part"}, root):
        _copy_file(study.home / place, draft / place)


def other_files(home: Path, own: set[str], root: Path | None = None) -> Iterator[Path]:
    """The files that people put into a study's folder, below it; not what is its `own`, nor backups."""
    for folder, folders, files in os.walk(home):
        here = Path(folder)
        inside = here.relative_to(home)
        folders[:] = [
            name
            for name in sorted(folders)
            if not name.startswith(".")
            and (inside.parts or name not in own)
            and (root is None or not _same(here / name, root))
            and _note(here / name) is None
        ]
        for name in sorted(files):
            part = inside / name
            if not inside.parts and (name in own or name.startswith((DATABASE_FILE, "."))):
                continue
            if (home / part).is_file() and not (home / part).is_symlink():
                yield part


def _copy_images(study: Study, copy: Study, earlier: Sequence[Path], say: Say) -> Written:
    contents = contents_of(copy)
    held = {sha256 for sha256 in contents if _held(earlier, sha256)}
    chance = random.Random(time.time_ns())
    looked_at = set(chance.sample(sorted(held), min(SAMPLE, len(held))))
    copied = size = 0
    missing: list[str] = []
    for n, sha256 in enumerate(contents):
        target = copy.home / _image(sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = earlier[0] / _image(sha256) if sha256 in held else None
        if kept is not None and (sha256 not in looked_at or _digest(kept) == sha256):
            _link(kept, target)
        else:
            try:
                data = study.files.read(sha256)
                if hashlib.sha256(data).hexdigest() != sha256:
                    raise DataError("its bytes have changed")
            except DataError:
                missing.append(sha256)
                continue
            target.write_bytes(data)
            copied += 1
        size += target.stat().st_size
        say("images", n + 1, len(contents))
    return Written(copy.home, {}, len(contents) - len(missing), copied, size, missing)


def _restore_files(path: Path, study: Study, say: Say) -> Written:
    stored = ImageFiles(str(path))
    contents = contents_of(study)
    size, lost = 0, []
    for n, sha256 in enumerate(contents):
        try:
            data = stored.read(sha256)
        except DataError:
            data = b""
        if hashlib.sha256(data).hexdigest() != sha256:
            lost.append(sha256)
            continue
        study.files.put(data)
        size += len(data)
        say("images", n + 1, len(contents))
    study.files.sync()
    Vectors(study.engine, stored, path).copy_to(study.vectors)
    os.sync()
    kept = len(contents) - len(lost)
    return Written(path, {}, kept, kept, size, lost)


def _into_postgres(aside: Path, to: Path, address: str, images: str) -> Study:
    made = create_study(to, database_address=address, images=images)
    try:
        with open_study(aside) as copied:
            written = copy_rows(copied, made, secrets=True)
            settings = portable_settings(copied)
        with database.reading(made.engine) as connection:
            for name, n in written.items():
                ((found,),) = database.fetch(connection, f'SELECT count(*) FROM "{name}"')
                if found != n:
                    raise DataError(f"{name}: {found:,} rows, not {n:,}", where=made.address)
        if settings:
            adopt_settings(made, settings)
        for place in other_files(aside, {*OWN, SETTINGS_FILE}):
            _copy_file(aside / place, to / place)
    except BaseException:
        # The database was empty before: what is in it is ours to remove.
        tables.metadata.drop_all(made.engine)
        made.close()
        shutil.rmtree(to, ignore_errors=True)
        raise
    return made


# -- small things -----------------------------------------------------------------------------------------


def _one_file(file: Path) -> None:
    """Have the database be one file: nothing may depend on a journal next to it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def _note(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((path / NOTE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or "sightline_backup" not in content:
        return None
    if content["sightline_backup"] != FORM:
        raise StudyError(
            f"this backup was written by a newer Sightline (form {content['sightline_backup']!r})",
            where=str(path),
            remedy="Upgrade: pip install --upgrade sightline. The backup was not touched.",
        )
    return content


def _name(study: Study, root: Path) -> str:
    plain = re.sub(r"[^\w.+-]+", "_", study.name).lstrip(".")[:100] or "study"
    name = f"{plain}-{_stamp()}"
    number = 2
    while (root / name).exists():
        name, number = f"{plain}-{_stamp()}-{number}", number + 1
    return name


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def _image(sha256: str) -> Path:
    return Path("images") / sha256[:2] / sha256


def _held(earlier: Sequence[Path], sha256: str) -> bool:
    return any((path / _image(sha256)).is_file() for path in earlier)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return ""


def _same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve()


def _clear_stale(root: Path) -> None:
    """Remove what a killed backup left behind, once nobody can be at work on it any more."""
    for path in root.glob(".part-*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
