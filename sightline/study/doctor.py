"""Doctor: is everything that a study holds whole, and what can be repaired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sqlalchemy import Connection

from sightline.errors import StudyError
from sightline.rendering.result import Result
from sightline.rendering.tables import Table
from sightline.study.running.progress import Listener
from sightline.study.schema import database
from sightline.study.study import Study
from sightline.study.verifying import (
    EXAMPLES,
    REPAIR,
    Finding,
    findings_table,
    image_findings,
    vector_findings,
    what_is_wrong,
    wrong_images,
)
from sightline.study.writing.entities import LOST_FILE
from sightline.study.writing.repairing import integrity, troubles
from sightline.study.writing.sweeping import contents_in_use, sweep, unused_files
from sightline.verbs import option, verb

RESTORE = "Restore the study from a backup or a copy."


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
        return {"": findings_table(self.findings)}


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
    found += vector_findings(study, repair, listener)
    found += _unused(study, repair)
    return Diagnosis(found, len(contents), repair)


def _images(
    study: Study, contents: Sequence[str], repair: bool, listener: Listener | None
) -> Iterator[Finding]:
    wrong = wrong_images(study, contents, listener)
    if repair:
        with database.writing(study.engine) as connection:
            _mark(study, connection, [sha256 for sha256 in wrong if what_is_wrong(study, sha256)])
    with database.reading(study.engine) as connection:
        yield from image_findings(connection, wrong)


def _mark(study: Study, connection: Connection, bad: Sequence[str]) -> None:
    """Note which images have lost their file and remove what is left of it; unmark those that have it."""
    if bad:
        study.files.remove(bad)
    marked = "UPDATE image SET defect = ? WHERE sha256 = ?"
    database.execute_many(connection, marked, [(LOST_FILE, sha256) for sha256 in bad])
    query = "SELECT DISTINCT sha256 FROM image WHERE defect = ?"
    noted = [row[0] for row in database.fetch(connection, query, [LOST_FILE])]
    intact = [(sha256, LOST_FILE) for sha256 in noted if not what_is_wrong(study, sha256)]
    database.execute_many(
        connection, "UPDATE image SET defect = NULL WHERE sha256 = ? AND defect = ?", intact
    )


def _unused(study: Study, repair: bool) -> Iterator[Finding]:
    names = unused_files(study).names
    if names:
        if repair:
            sweep(study)
        left = unused_files(study).names if repair else names
        yield Finding("files that nothing refers to", len(names), REPAIR, names[:EXAMPLES], not left)
