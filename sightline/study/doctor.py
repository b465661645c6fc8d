"""Doctor: is everything that a study holds whole, and what can be repaired."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import Connection

from sightline.errors import DataError, StudyError
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.files import image_place
from sightline.study.running.progress import Listener, Meter
from sightline.study.schema import database
from sightline.study.study import Study
from sightline.study.writing.entities import LOST_FILE
from sightline.study.writing.repairing import integrity, troubles
from sightline.study.writing.sweeping import contents_in_use, sweep, unused_files
from sightline.verbs import option, verb

EXAMPLES = 3
READING = 4
"""Image files that are read at the same time."""
REPAIR = "Repair it: sightline doctor STUDY --repair"
RESTORE = "Restore the study from a backup or a copy."
IMPORT = "Import these images again: sightline import STUDY PATH"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: how many things of one kind, the first of them, and what to do."""

    what: str
    n: int
    remedy: str
    examples: Sequence[str] = ()
    repaired: bool = False


@dataclass(frozen=True)
class Diagnosis(Result):
    """What is wrong with a study, and what of it was repaired; `images` files were read."""

    findings: Sequence[Finding]
    images: int
    repair: bool = False

    @property
    def sentence(self) -> str:
        read = f"the database and {self.images:,} image files were checked."
        if not self.findings:
            return f"Nothing is wrong: {read}"
        left = sum(not each.repaired for each in self.findings)
        if not left:
            return f"Everything that was wrong is repaired: {read}"
        return f"{left} {'thing is' if left == 1 else 'things are'} wrong: {read}"

    @property
    def exit_code(self) -> int:
        return int(any(not each.repaired for each in self.findings))

    @property
    def next(self) -> Sequence[str]:
        if any(each.remedy == REPAIR and not each.repaired for each in self.findings):
            return ("sightline doctor STUDY --repair",)
        return ("sightline import STUDY PATH",) if self.exit_code else ("sightline status STUDY",)

    def facts(self) -> Mapping[str, Any]:
        return {**super().facts(), "findings": [asdict(each) for each in self.findings]}

    def tables(self) -> dict[str, Table]:
        columns = [*map(Column, ("what", "n", "examples", "state", "remedy"))]
        rows = [
            (
                each.what,
                each.n,
                ", ".join(each.examples) + (", ..." if each.examples and each.n > len(each.examples) else ""),
                "repaired" if each.repaired else "wrong",
                "" if each.repaired else each.remedy,
            )
            for each in self.findings
        ]
        return {"": Table(columns, rows, "What was found")}


@verb("set up")
def doctor(
    study: Study,
    *,
    repair: Annotated[
        bool, option("Remove orphans and stale results, and mark damaged images to be imported again.")
    ] = False,
    listener: Listener | None = None,
) -> Diagnosis:
    """Check that a study is whole: its database, its image files and what was computed from them.

    With --repair, rows that refer to nothing, files that nothing refers to and results whose content has
    changed are removed. A damaged image is marked, and restored by importing it again.
    """
    try:
        with database.reading(study.engine) as connection:
            said = integrity(connection)
    except StudyError as error:
        said = [error.what]
    if said:
        damaged = Finding("damage of the database", len(said), RESTORE, said[:EXAMPLES])
        return Diagnosis([damaged], 0, repair)
    with database.reading(study.engine) as connection:
        found = [Finding(each.what, each.n, REPAIR) for each in troubles(connection) if each.n]
        contents = sorted(contents_in_use(connection))
    if found and repair:
        with database.writing(study.engine) as connection:
            # Looked for again, one after the other: a repair may leave others without their parents.
            for each in troubles(connection):
                if each.n:
                    each.repair(connection)
        with database.reading(study.engine) as connection:
            left = {each.what for each in troubles(connection) if each.n}
        found = [Finding(each.what, each.n, REPAIR, repaired=each.what not in left) for each in found]
    found += _images(study, contents, repair, listener)
    found += _vectors(study, repair)
    found += _unused(study, repair)
    return Diagnosis(found, len(contents), repair)


def _images(
    study: Study, contents: Sequence[str], repair: bool, listener: Listener | None
) -> Iterator[Finding]:
    meter = Meter("image files", len(contents), listener)
    bad: dict[str, str] = {}
    with ThreadPoolExecutor(READING) as pool:
        for sha256, wrong in zip(contents, pool.map(lambda each: _wrong(study, each), contents), strict=True):
            meter.add(computed=1)
            if wrong:
                bad[sha256] = wrong
    meter.finish()
    if repair:
        with database.writing(study.engine) as connection:
            _mark(study, connection, [sha256 for sha256 in bad if _wrong(study, sha256)])
    with database.reading(study.engine) as connection:
        named = _names(connection, list(bad))
    for wrong in ("missing", "damaged"):
        names = [name for sha256, name in named if bad[sha256] == wrong]
        if names:
            yield Finding(f"images whose file is {wrong}", len(names), IMPORT, names[:EXAMPLES])


def _wrong(study: Study, sha256: str) -> str:
    """Whether the file of an image is missing or damaged; empty where it is neither."""
    folder = study.files.folder
    if folder is None:
        try:
            study.files.read(sha256)
        except DataError as error:
            return "missing" if "missing" in error.what else "damaged"
        return ""
    try:
        with (folder / image_place(sha256)).open("rb") as file:
            return "" if hashlib.file_digest(file, "sha256").hexdigest() == sha256 else "damaged"
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "damaged"


def _mark(study: Study, connection: Connection, bad: Sequence[str]) -> None:
    """Note which images have lost their file and remove what is left of it; unmark those that have it."""
    for sha256 in bad:
        study.files.remove(sha256)
    marked = "UPDATE image SET defect = ? WHERE sha256 = ?"
    database.execute_many(connection, marked, [(LOST_FILE, sha256) for sha256 in bad])
    query = "SELECT DISTINCT sha256 FROM image WHERE defect = ?"
    noted = [row[0] for row in database.fetch(connection, query, [LOST_FILE])]
    intact = [(sha256, LOST_FILE) for sha256 in noted if not _wrong(study, sha256)]
    database.execute_many(
        connection, "UPDATE image SET defect = NULL WHERE sha256 = ? AND defect = ?", intact
    )


def _names(connection: Connection, contents: Sequence[str]) -> list[tuple[str, str]]:
    database.matching(connection, [("sha256", "TEXT")], [(each,) for each in contents])
    rows = database.fetch(
        connection,
        "SELECT i.sha256, c.name, i.name FROM wanted w JOIN image i ON i.sha256 = w.sha256 "
        "JOIN collection c ON c.id = i.collection_id ORDER BY i.id",
    )
    return [(sha256, f"{collection}/{name}") for sha256, collection, name in rows]


def _vectors(study: Study, repair: bool) -> Iterator[Finding]:
    lost = study.vectors.lost()
    if lost:
        n = sum(lost.values())
        if repair:
            study.vectors.forget(list(lost))
        examples = [f"{encoder[:12]}/{shard:06d}.npy" for encoder, shard in list(lost)[:EXAMPLES]]
        yield Finding("vectors whose file is missing or damaged", n, REPAIR, examples, repair)


def _unused(study: Study, repair: bool) -> Iterator[Finding]:
    files = unused_files(study)
    if files:
        if repair:
            sweep(study)
        examples = [str(Path(*path.parts[-3:])) for path in files[:EXAMPLES]]
        left = unused_files(study) if repair else files
        yield Finding("files that nothing refers to", len(files), REPAIR, examples, not left)
