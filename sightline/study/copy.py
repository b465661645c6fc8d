"""Copy: a study in another folder or database, compared row by row."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.init import DATABASE, IMAGES, refuse_images_alone
from sightline.study.running.progress import Listener, saying
from sightline.study.study import Study
from sightline.study.writing.transferring import transfer
from sightline.verbs import argument, verb


@dataclass(frozen=True)
class Copied(Result):
    """A copy that is complete: rows and digest of every table, both the same as in the study.

    `missing` are content hashes of images that the study itself lacks, `left` vectors that are on another
    machine. `resumed` says that an earlier copy was gone on with, and `changed` how many of its rows were
    changed in the study since.
    """

    study: str
    to: str
    rows: Mapping[str, int]
    digests: Mapping[str, str]
    images: int
    bytes: int
    missing: Sequence[str] = ()
    left: int = 0
    resumed: bool = False
    changed: int = 0

    @property
    def sentence(self) -> str:
        return (
            f"{self.to} is a complete copy of {self.study}: {sum(self.rows.values()):,} rows, compared one "
            f"by one, and {self.images:,} images."
        )

    @property
    def notes(self) -> Sequence[str]:
        notes = []
        if self.resumed:
            since = (
                f"{self.changed:,} rows that were changed since are as they are now" if self.changed else ""
            )
            notes.append(f"Went on with an earlier copy{since and ': '}{since}.")
        if self.left:
            notes.append(f"{self.left:,} vectors are on another machine and will be computed again.")
        if self.missing:
            notes.append(
                f"{len(self.missing):,} images are missing from the study or damaged in it, and so from the "
                f"copy, such as {self.missing[0][:12]}... Import them again."
            )
        return notes

    @property
    def exit_code(self) -> int:
        return 3 if self.missing else 0

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline status {shlex.quote(self.to)}",)

    def tables(self) -> dict[str, Table]:
        rows = [(name, n, self.digests.get(name, "")[:12]) for name, n in self.rows.items() if n]
        columns = [Column("table"), Column("rows"), Column("digest")]
        return {"": Table(columns, rows, "The same on both sides")}


@verb("set up")
def copy(
    study: Study,
    to: Annotated[str | Path, argument("The folder to create the copy in.", "TO")],
    *,
    database: Annotated[str, DATABASE] = "",
    images: Annotated[str, IMAGES] = "",
    listener: Listener | None = None,
) -> Copied:
    """Copy a study to another folder or database, and compare the two row by row.

    From a folder to PostgreSQL, back, or between two of a kind; records, images, vectors, settings, files and
    the key that links are signed with. Interrupted at any moment, the same command resumes it, and
    until it is done the copy does not open. The study may be written to meanwhile.
    """
    refuse_images_alone(images, database)
    done = transfer(study, Path(to), database, images, saying(listener))
    return Copied(
        study.address, str(to), done.rows, done.digests, done.images, done.bytes,
        done.missing, done.left, done.resumed, done.changed,
    )  # fmt: skip
