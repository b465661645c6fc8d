"""How much room a study's files use, and removing those that nothing refers to any more."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select, text

from sightline.study.files import content_of
from sightline.study.indexes import INDEXES, folders_in_use
from sightline.study.read_cache import STALE_SECONDS
from sightline.study.roots import Entry
from sightline.study.schema import database, tables
from sightline.study.study import Study
from sightline.study.vectors import HOME as VECTORS

PREPARED = "prepared"
"""The folder of images as annotators get them."""


@dataclass(frozen=True)
class DiskUse:
    """How many files there are, and their bytes."""

    files: int
    bytes: int

    def __add__(self, other: DiskUse) -> DiskUse:
        return DiskUse(self.files + other.files, self.bytes + other.bytes)


@dataclass(frozen=True)
class Unused:
    """Files that nothing refers to: below the root of the files, and what is made in the study's folder."""

    places: Mapping[str, Entry]
    local: Collection[Path]

    @property
    def names(self) -> list[str]:
        return [*self.places, *(str(Path(*path.parts[-4:])) for path in self.local)]


def disk_use(study: Study) -> dict[str, DiskUse]:
    """The room that images and what was made from them use, wherever they are."""
    with database.reading(study.engine) as connection:
        known = contents_in_use(connection)
        seen = database.fetch(
            connection, "SELECT coalesce(sum(length(CAST(json AS TEXT))), 0) FROM detection"
        )
    images = study.files.below.listing("images")
    use = {
        "images": _size(images.values()),
        "unused": _size(entry for place, entry in images.items() if content_of(place) not in known),
        "thumbnails": _size(study.files.below.listing("thumbnails").values()),
        "prepared": _size(_entries(_files(study.home / PREPARED))),
        "vectors": _size(study.files.below.listing(VECTORS).values()),
        "indexes": _size(_entries(_files(study.home / INDEXES))),
        # In the database, so that no file is theirs.
        "detections": DiskUse(0, int(seen[0][0])),
    }
    if study.files.copies is not None:
        use["local copies"] = DiskUse(*study.files.copies.use())
    return use


def sweep(study: Study) -> DiskUse:
    """Remove image files, what was made of or seen in them, vectors and indexes that nothing refers to."""
    before = _listed(study)
    # An import puts files down before it commits their rows: as the one writer we can meet none half-way.
    # What was put down since the files were listed is not among them.
    with database.writing(study.engine) as connection:
        unused = _unused(study, connection, before)
        gone = _size([*unused.places.values(), *_entries(unused.local)])
        study.files.below.remove(unused.places)
        for path in unused.local:
            path.unlink(missing_ok=True)
        images = "SELECT sha256 FROM image WHERE sha256 IS NOT NULL"
        connection.execute(text(f"DELETE FROM detection WHERE content NOT IN ({images})"))
    return gone


def shrink(study: Study, most: int) -> DiskUse:
    """Remove the oldest thumbnails, and the longest unused local copies, until each use at most that much."""
    small = study.files.below.listing("thumbnails")
    left = sum(entry.size for entry in small.values())
    chosen: dict[str, Entry] = {}
    for place, entry in sorted(small.items(), key=lambda each: each[1].modified):
        if left <= most:
            break
        chosen[place] = entry
        left -= entry.size
    study.files.below.remove(chosen)
    copies = study.files.copies
    return _size(chosen.values()) + DiskUse(*(copies.shrink(most) if copies is not None else (0, 0)))


def unused_files(study: Study) -> Unused:
    """The files that `sweep` would remove; while something is being imported also those it puts down."""
    before = _listed(study)
    with database.reading(study.engine) as connection:
        return _unused(study, connection, before)


def _listed(study: Study) -> dict[str, Entry]:
    root = study.files.below
    return {**root.listing("images"), **root.listing("thumbnails"), **root.listing(VECTORS)}


def _unused(study: Study, connection: Connection, listed: Mapping[str, Entry]) -> Unused:
    known = contents_in_use(connection)
    held = study.vectors.used_places(connection)
    now = time.time()

    def unused(place: str, entry: Entry) -> bool:
        if place.startswith("images/"):
            return content_of(place) not in known
        # The others are made by readers too: one under way has a name that begins with a dot.
        if "/." in place:
            return now - entry.modified > STALE_SECONDS
        return place not in held if place.startswith(f"{VECTORS}/") else content_of(place) not in known

    local = [
        path
        for path in _files(study.home / PREPARED)
        if not path.name.startswith(".") and content_of(path.name) not in known
    ]
    local += _unused_indexes(study.home / INDEXES, connection)
    return Unused({place: entry for place, entry in listed.items() if unused(place, entry)}, local)


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


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file())


def _entries(paths: Iterable[Path]) -> list[Entry]:
    seen = [path.stat() for path in paths]
    return [Entry(each.st_size, each.st_mtime) for each in seen]


def _size(entries: Iterable[Entry]) -> DiskUse:
    sizes = [entry.size for entry in entries]
    return DiskUse(len(sizes), sum(sizes))
