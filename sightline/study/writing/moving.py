"""Moving the files of a study to another folder or store while the study stays usable.

Everything is copied and checked where it arrived, the rest under the lock of the one writer, then the study
is switched over. Broken off before, it is as it was, and the same command copies only what is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from sightline.errors import StudyError, UsageError
from sightline.study.files import ImageFiles, content_of, image_place
from sightline.study.roots import Root, in_parallel
from sightline.study.running.progress import Listener, Meter
from sightline.study.schema import database, tables
from sightline.study.study import Study, note_images
from sightline.study.vectors import HOME as VECTORS
from sightline.study.vectors import MOVED, Vectors, refuse_moved
from sightline.study.writing.entities import LOST_FILE
from sightline.study.writing.sweeping import contents_in_use

NAMED = 5
"""So many of the images that cannot be moved are named."""


@dataclass(frozen=True)
class Moved:
    """Where files were and are, how many were copied now and found there already, and lost vectors."""

    source: str
    target: str
    copied: int
    already: int
    bytes: int
    vectors_lost: int
    source_removed: int


def move(study: Study, address: str, *, remove_source: bool, listener: Listener | None) -> Moved:
    """Move images, thumbnails and vectors to another address, and remove them where they were if asked to."""
    target = ImageFiles(address if "://" in address else str(Path(address).absolute()))
    source = study.files
    if target.root == source.root or (target.folder and target.folder.resolve() == _resolved(source)):
        raise UsageError("the files are there already", remedy="Name another folder or address.")
    target.below.check()
    study.vectors.renumber()
    vectors = Vectors(study.engine, target, study.home)
    copier = _Copier(study, target, vectors)
    with database.reading(study.engine) as connection:
        copier.images(contents_in_use(connection), listener)
    copier.thumbnails(listener)
    copier.vectors()
    with database.writing(study.engine) as connection:
        refuse_moved(connection, study.vectors.moved)
        # What came meanwhile; nobody else writes now. Thumbnails can be made again.
        copier.images(contents_in_use(connection), None)
        copier.refuse_incomplete(connection)
        copier.vectors()
        target.sync()
        # Back in its own folder, a study can be renamed again.
        own = study.engine.dialect.name == "sqlite" and target.folder is not None
        moved = "" if own and _resolved(target) == study.home.resolve() else target.root
        database.upsert(connection, tables.setting, ["name", "value"], [(MOVED, moved)], replace=True)
    note_images(study, target.root)
    study.files, study.vectors = target, Vectors(study.engine, target, study.home, moved)
    lost = sum(study.vectors.lost().values())
    if lost:
        study.vectors.forget_lost()
    removed = _remove(source.below) if remove_source else 0
    return Moved(source.root, target.root, copier.copied, copier.already, copier.bytes, lost, removed)


class _Copier:
    def __init__(self, study: Study, target: ImageFiles, vectors: Vectors) -> None:
        self._study = study
        self._source = study.files.below
        self._target = target.below
        self._vectors = vectors
        self._there: set[str] | None = None
        self.copied = self.already = self.bytes = 0
        self.missing: list[str] = []

    def images(self, contents: Collection[str], listener: Listener | None) -> None:
        """Copy the images that are not there yet, each read again where it arrived."""
        if self._there is None:
            here = self._source.listing("images")
            there = self._target.listing("images")
            places = [image_place(sha256) for sha256 in contents]
            self._there = {
                place
                for place in places
                if place in there and here.get(place, there[place]).size == there[place].size
            }
            self.already = len(self._there)
        wanted = sorted(sha256 for sha256 in contents if image_place(sha256) not in self._there)
        meter = Meter("images", len(wanted), listener)
        self.missing = []
        for sha256, size in zip(wanted, in_parallel(self._image, wanted), strict=True):
            if size is None:
                self.missing.append(sha256)
            else:
                self._there.add(image_place(sha256))
                self.copied += 1
                self.bytes += size
            meter.add(computed=1)
        meter.finish()

    def _image(self, sha256: str) -> int | None:
        place = image_place(sha256)
        data = self._source.read(place)
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            return None
        self._target.write(place, data)
        if self._target.read(place) != data:
            raise StudyError(
                f"the copy of the image {sha256[:12]}... is not what was written",
                where=self._target.address,
                remedy="Look at the disk or the store, and run the same command again.",
            )
        return len(data)

    def thumbnails(self, listener: Listener | None) -> None:
        """Copy the thumbnails of images that were moved."""
        there = self._target.listing("thumbnails")
        assert self._there is not None
        wanted = [
            place
            for place in self._source.listing("thumbnails")
            if place not in there and image_place(content_of(place)) in self._there and "/." not in place
        ]
        meter = Meter("thumbnails", len(wanted), listener)
        for size in in_parallel(self._plain, wanted):
            self.copied += size > 0
            self.bytes += size
            meter.add(computed=1)
        meter.finish()

    def _plain(self, place: str) -> int:
        data = self._source.read(place)
        if data is not None:
            self._target.write(place, data)
        return len(data or b"")

    def vectors(self) -> None:
        """Copy the files of vectors that are not there yet."""
        for encoder in self._study.vectors.encoders():
            self.copied += self._study.vectors.copy_files(self._vectors, encoder)

    def refuse_incomplete(self, connection: Connection) -> None:
        """Refuse to switch over while images are missing that nobody knows to be lost."""
        query = "SELECT DISTINCT sha256 FROM image WHERE defect = ?"
        noted = {row[0] for row in database.fetch(connection, query, [LOST_FILE])}
        missing = [sha256 for sha256 in self.missing if sha256 not in noted]
        if missing:
            named = ", ".join(f"{sha256[:12]}..." for sha256 in missing[:NAMED])
            raise StudyError(
                f"{len(missing):,} image files are missing or damaged where they are now ({named}); "
                "the study is as it was",
                where=self._source.address,
                remedy="Run sightline doctor STUDY --repair, import these images again, then move.",
            )


def _remove(root: Root) -> int:
    places = [place for below in ("images", "thumbnails", VECTORS) for place in root.listing(below)]
    root.remove(places)
    return len(places)


def _resolved(files: ImageFiles) -> Path | None:
    return None if files.folder is None else files.folder.resolve()
