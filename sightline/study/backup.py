"""Backup and restore: a checked copy of a study while people work on it, and a new study from such a copy."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from sightline.errors import SightlineError, UsageError
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.init import DATABASE, IMAGES, refuse_images_alone
from sightline.study.running.progress import Listener, Progress, saying
from sightline.study.study import Study
from sightline.study.writing import backing
from sightline.verbs import argument, option, verb

COUNTED = ("prompt", "system", "image", "answer", "annotator", "judgement", "truth", "score", "round", "task")


@dataclass(frozen=True)
class Backup(Result):
    """A backup that was written and checked; `missing` are content hashes of images that are not in it.

    `rows` has the rows of every table, `removed` the older backups that went; `number` counts those that a
    schedule made.
    """

    study: str
    path: str
    rows: Mapping[str, int]
    images: int
    copied: int
    bytes: int
    missing: Sequence[str] = ()
    removed: Sequence[str] = ()
    number: int = 1

    @property
    def sentence(self) -> str:
        size = f"{self.bytes / 1e6:,.1f} MB"
        return (
            f"{self.path} is complete and was checked: {sum(self.rows.values()):,} rows, "
            f"{self.images:,} images ({size}, {self.copied:,} new)."
        )

    @property
    def notes(self) -> Sequence[str]:
        notes = [f"Removed {each}." for each in self.removed]
        if self.missing:
            notes.append(
                f"{len(self.missing):,} images are missing from the study or damaged in it, and so from the "
                f"backup, such as {self.missing[0][:12]}... Import them again."
            )
        return notes

    @property
    def exit_code(self) -> int:
        return 3 if self.missing else 0

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline restore {shlex.quote(self.path)} drill   # shows that you can",)

    def tables(self) -> dict[str, Table]:
        return {"": _counted(self.rows)}


@dataclass(frozen=True)
class Restored(Result):
    """A study that was made from a backup, and checked against it."""

    study: str
    backup: str
    rows: Mapping[str, int]
    images: int
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        size = f"{sum(self.rows.values()):,} rows and {self.images:,} images"
        return f"{self.study} was restored from {self.backup} and checked: {size}."

    @property
    def exit_code(self) -> int:
        return 3 if self.missing else 0

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline status {shlex.quote(self.study)}",)

    def tables(self) -> dict[str, Table]:
        return {"": _counted(self.rows)}


@verb("set up")
def backup(
    study: Study,
    to: Annotated[
        str | Path, argument("The folder for backups: each gets a folder of its own there.", "DIR")
    ],
    *,
    every: Annotated[
        float | None,
        option("Repeat this after so many minutes, until stopped.", metavar="MINUTES", shown="once", least=0),
    ] = None,
    keep: Annotated[
        int | None,
        option("Keep this many backups of the study there, and remove older ones.", shown="all", least=1),
    ] = None,
    listener: Listener | None = None,
) -> Backup:
    """Back up a study, also while people work on it, and check the backup by opening it.

    A backup is a study of its own as of one moment: all rows, images, settings, files of its folder and the
    key that links are signed with. It restores in a folder or in PostgreSQL, whatever it came from. Images
    are copied once; later backups in the same place share them.
    """
    if every is not None and every <= 0:
        raise UsageError(f"every {every:g} minutes is no schedule", remedy="More than 0, such as 60.")
    root = Path(to)
    done = _once(study, root, keep, listener)
    if every is None:
        return done
    # Only the first failure ends a schedule: of the later ones each is reported, and tried again.
    try:
        while True:
            _tell(listener, "backups made", done.number)
            time.sleep(60 * every)
            try:
                done = replace(_once(study, root, keep, listener), number=done.number + 1)
            except SightlineError as error:
                _tell(listener, f"a backup failed, and is tried again: {error}", done.number)
    except KeyboardInterrupt:
        return done


@verb("set up")
def restore(
    path: Annotated[str | Path, argument("The backup; or the folder of backups, for the newest.", "BACKUP")],
    to: Annotated[str | Path, argument("The folder to create the study in.", "STUDY")],
    *,
    database: Annotated[str, DATABASE] = "",
    images: Annotated[str, IMAGES] = "",
    listener: Listener | None = None,
) -> Restored:
    """Make a new study from a backup, and check it.

    The integrity of the records, their numbers and the content of every image are checked. The backup stays
    as it is. Links of annotators remain valid.
    """
    refuse_images_alone(images, database)
    chosen = backing.newest(Path(path))
    made, done, notes = backing.bring_back(chosen, Path(to), database, images, saying(listener))
    made.close()
    if done.missing:
        notes.append(
            f"{len(done.missing):,} images are not in the backup or damaged in it, such as "
            f"{done.missing[0][:12]}... Import them again, or look into an earlier backup."
        )
    return Restored(str(to), str(chosen), done.rows, done.images, done.missing, notes)


def _once(study: Study, root: Path, keep: int | None, listener: Listener | None) -> Backup:
    done = backing.back_up(study, root, saying(listener))
    old = backing.backups(root, study.address)[:-keep] if keep is not None else []
    for path in old:
        backing.drop(path)
    removed = [str(path) for path in old]
    return Backup(
        study.name, str(done.path), done.rows, done.images, done.copied, done.bytes, done.missing, removed
    )


def _tell(listener: Listener | None, what: str, number: int) -> None:
    if listener is not None:
        listener(Progress(what, number, 0, 0.0, None))


def _counted(rows: Mapping[str, int]) -> Table:
    shown = [(name + "s", rows[name]) for name in COUNTED if rows.get(name)]
    return Table([Column("what"), Column("n")], shown, "In the backup")
