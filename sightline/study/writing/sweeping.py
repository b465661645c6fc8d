"""How much disk a study's files use, and removing those that nothing refers to any more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select, text

from sightline.study.indexes import INDEXES, folders_in_use
from sightline.study.schema import database, tables
from sightline.study.study import Study

PREPARED = "prepared"
"""The folder of images as annotators get them."""


@dataclass(frozen=True)
class DiskUse:
    """How many files there are, and their bytes."""

    files: int
    bytes: int


def disk_use(study: Study) -> dict[str, DiskUse]:
    """The disk use of images and what was made from them; images on another machine are not counted."""
    with database.reading(study.engine) as connection:
        known = contents_in_use(connection)
        seen = database.fetch(
            connection, "SELECT coalesce(sum(length(CAST(json AS TEXT))), 0) FROM detection"
        )
    images = list(_below(study, "images"))
    return {
        "images": _size(images),
        "unused": _size(path for path in images if _content(path) not in known),
        "thumbnails": _size(_below(study, "thumbnails")),
        "prepared": _size(_files(study.home / PREPARED)),
        "vectors": _size(_files(study.vectors.folder)),
        "indexes": _size(_files(study.home / INDEXES)),
        # In the database, so that no file is theirs.
        "detections": DiskUse(0, int(seen[0][0])),
    }


def sweep(study: Study) -> DiskUse:
    """Remove image files, what was made of or seen in them, vectors and indexes that nothing refers to."""
    # An import puts files down before it commits their rows: as the one writer we can meet none half-way.
    with database.writing(study.engine) as connection:
        unused = _unused(study, connection)
        gone = _size(unused)
        for path in unused:
            path.unlink(missing_ok=True)
        images = "SELECT sha256 FROM image WHERE sha256 IS NOT NULL"
        connection.execute(text(f"DELETE FROM detection WHERE content NOT IN ({images})"))
    return gone


def unused_files(study: Study) -> list[Path]:
    """The files that `sweep` would remove; while something is being imported also those it puts down."""
    with database.reading(study.engine) as connection:
        return _unused(study, connection)


def _unused(study: Study, connection: Connection) -> list[Path]:
    known = contents_in_use(connection)
    made = [*_below(study, "thumbnails"), *_files(study.home / PREPARED)]
    # These are made by readers too: one under way has a name that begins with a dot.
    made = [path for path in made if not path.name.startswith(".")]
    files = [path for path in (*_below(study, "images"), *made) if _content(path) not in known]
    shards = database.fetch(connection, "SELECT DISTINCT encoder, shard FROM vector")
    held = {study.vectors.file(encoder, int(shard)) for encoder, shard in shards}
    files += [path for path in _files(study.vectors.folder) if path not in held]
    return files + _unused_indexes(study.home / INDEXES, connection)


def _unused_indexes(folder: Path, connection: Connection) -> list[Path]:
    """Indexes of collections that have changed, and what a build that was stopped left a day ago."""
    if not folder.is_dir():
        return []
    used, yesterday = folders_in_use(connection), time.time() - 24 * 3600
    return [
        path
        for path in _files(folder)
        if path.relative_to(folder).parts[0] not in used
        or (path.name.startswith(".part-") and path.stat().st_mtime < yesterday)
    ]


def contents_in_use(connection: Connection) -> set[str]:
    """The contents of all images."""
    query = select(tables.image.c.sha256).where(tables.image.c.sha256.is_not(None)).distinct()
    return set(connection.execute(query).scalars())


def _content(path: Path) -> str:
    return path.name.partition(".")[0]


def _below(study: Study, name: str) -> Iterator[Path]:
    if study.files.local:
        yield from _files(Path(study.files.root.removeprefix("file://")) / name)


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file())


def _size(paths: Iterator[Path] | list[Path]) -> DiskUse:
    sizes = [path.stat().st_size for path in paths]
    return DiskUse(len(sizes), sum(sizes))
