"""Cache: what is stored and where; clearing, verifying, moving and pruning it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sightline import registry
from sightline.errors import SightlineError, UsageError, near
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import reading, scores
from sightline.study.running.progress import Listener
from sightline.study.schema import database
from sightline.study.study import Study
from sightline.study.verifying import (
    EXAMPLES,
    Finding,
    findings_table,
    image_findings,
    vector_findings,
    wrong_images,
)
from sightline.study.writing.moving import Moved, move
from sightline.study.writing.sweeping import (
    DiskUse,
    contents_in_use,
    disk_use,
    shrink,
    sweep,
    unused_files,
)
from sightline.verbs import option, verb

PRUNE = "Remove them: sightline cache STUDY --prune"


@dataclass(frozen=True)
class MeasureCache:
    """The scores of one measure; `current` if the program still computes it this way."""

    measure: str
    kind: str
    version: int
    values: int
    without: int
    current: bool
    identity: str


@dataclass(frozen=True)
class Removed:
    """What was cleared: scores, and files with their bytes."""

    scores: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Cache(Result):
    """The scores of each measure, and the room that images and what was made from them use.

    `removed` is what was cleared, `moved` what was moved, `findings` what verifying found, each None where
    that was not asked for; `where` is where the files are.
    """

    measures: Sequence[MeasureCache]
    files: Mapping[str, DiskUse]
    where: str = ""
    removed: Removed | None = None
    moved: Moved | None = None
    findings: Sequence[Finding] | None = None

    @property
    def exit_code(self) -> int:
        return 3 if any(each.remedy != PRUNE for each in self.findings or ()) else 0

    @property
    def sentence(self) -> str:
        return " ".join(filter(None, (self._moved(), self._verified(), self._removed())))

    def _moved(self) -> str:
        if self.moved is None:
            return ""
        lost = self.moved.vectors_lost
        again = f" {lost:,} vectors were damaged and will be computed again." if lost else ""
        gone = self.moved.source_removed
        left = (
            f"Removed {gone:,} files there." if gone else f"What was in {self.moved.source} is still there."
        )
        return (
            f"The files are in {self.moved.target} now: {self.moved.copied:,} copied and checked "
            f"({self.moved.bytes / 1e6:,.1f} MB of images), {self.moved.already:,} images were there before. "
            f"{left}{again}"
        )

    def _verified(self) -> str:
        if self.findings is None:
            return ""
        n = f"{self.files['images'].files:,} images and {self.files['vectors'].files:,} files of vectors"
        if self.exit_code:
            return f"Something is damaged or missing among {n}."
        return f"Nothing is damaged or missing: {n} were read and have their hashes."

    def _removed(self) -> str:
        if self.removed is not None:
            size = f"{self.removed.bytes / 1e6:,.1f} MB"
            return f"Removed {self.removed.scores:,} scores and {self.removed.files:,} files ({size})."
        if self.moved or self.findings is not None or all(each.current for each in self.measures):
            return ""
        return (
            "What is not current was computed by an earlier version, or by an extension not installed here."
        )

    @property
    def next(self) -> Sequence[str]:
        if self.exit_code:
            return ("sightline doctor STUDY --repair",)
        if self.moved is not None:
            return ("sightline cache STUDY --verify",)
        return ("sightline score STUDY" if self.removed else "sightline cache STUDY --clear MEASURE",)

    def facts(self) -> Mapping[str, Any]:
        return {
            "where": self.where,
            "removed": None if self.removed is None else asdict(self.removed),
            "moved": None if self.moved is None else asdict(self.moved),
            "findings": None if self.findings is None else [asdict(each) for each in self.findings],
        }

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("measure"),
            Column("kind", "target"),
            Column("version"),
            Column("values"),
            Column("without", "without a value"),
            Column("current"),
        ]
        rows = [
            (
                each.measure,
                each.kind.replace("_", " "),
                str(each.version),
                each.values,
                each.without,
                each.current,
            )
            for each in self.measures
            if each.values or each.without
        ]
        files = [(name.replace("_", " "), each.files, each.bytes / 1e6) for name, each in self.files.items()]
        sizes = [Column("what"), Column("files"), Column("megabytes", "MB")]
        found = {"findings": findings_table(self.findings)} if self.findings else {}
        scores_table = Table(columns, rows, "Scores")
        return {**found, "measures": scores_table, "files": Table(sizes, files, f"Files in {self.where}")}


@verb("set up")
def cache(
    study: Study,
    *,
    clear: Annotated[str | None, option("Delete the scores of this measure.", metavar="MEASURE")] = None,
    verify: Annotated[bool, option("Read every image and vector, and compare it with its hash.")] = False,
    move_to: Annotated[
        str | None,
        option(
            "Move images, thumbnails and vectors to this folder or address, such as s3://bucket/path.",
            metavar="ADDRESS",
        ),
    ] = None,
    remove_source: Annotated[bool, option("After --move-to: remove the files from where they were.")] = False,
    prune: Annotated[
        bool, option("Remove files that nothing refers to any more, and join small ones.")
    ] = False,
    megabytes: Annotated[
        float | None,
        option(
            "With --prune: keep at most so much of thumbnails, and as much of local copies.",
            shown="all of them",
            least=0,
        ),
    ] = None,
    listener: Listener | None = None,
) -> Cache:
    """Show what is stored of computed things and where the files are; clear, verify, move or prune it.

    A bare name of a measure stands for any parameters and version. Imported scores are not cleared: undo
    their import instead. A move that is broken off leaves the study as it was; repeated, it resumes.
    """
    if remove_source and move_to is None:
        raise UsageError("--remove-source goes with --move-to", remedy="To remove what is unused: --prune.")
    if megabytes is not None and not prune:
        raise UsageError(
            "--megabytes goes with --prune", remedy="sightline cache STUDY --prune --megabytes 500"
        )
    removed = None
    if clear is not None or prune:
        cleared = 0 if clear is None else sum(scores.clear(study, each) for each in _meant(study, clear))
        swept = _pruned(study, megabytes) if prune else DiskUse(0, 0)
        removed = Removed(cleared, swept.files, swept.bytes)
    moved = None
    if move_to is not None:
        moved = move(study, move_to, remove_source=remove_source, listener=listener)
    findings = list(_findings(study, listener)) if verify else None
    measures = [
        MeasureCache(current=_current(row["kind"], row["measure"]) == row["identity"], **row)
        for row in reading.measures(study).drop("measure_id", "direction").iter_rows(named=True)
    ]
    return Cache(measures, disk_use(study), study.files.root, removed, moved, findings)


def _pruned(study: Study, megabytes: float | None) -> DiskUse:
    study.vectors.renumber()
    gone = sweep(study)
    return gone if megabytes is None else gone + shrink(study, int(megabytes * 1e6))


def _findings(study: Study, listener: Listener | None) -> Iterator[Finding]:
    with database.reading(study.engine) as connection:
        contents = sorted(contents_in_use(connection))
    wrong = wrong_images(study, contents, listener)
    with database.reading(study.engine) as connection:
        yield from image_findings(connection, wrong)
    yield from vector_findings(study, False, listener)
    names = unused_files(study).names
    if names:
        yield Finding("files that nothing refers to", len(names), PRUNE, names[:EXAMPLES])


def _meant(study: Study, measure: str) -> list[str]:
    known = {row["identity"]: row["measure"] for row in reading.measures(study).iter_rows(named=True)}
    asked = "".join(measure.split())
    meant = [
        identity
        for identity, printed in known.items()
        if asked in ("".join(printed.split()), printed.partition("(")[0])
    ]
    if not meant and ("(" in measure or "@" in measure):
        meant = [identity for identity in known if identity == registry.find_measure(measure).identity]
    if not meant:
        names = sorted({printed.partition("(")[0] for printed in known.values()})
        raise UsageError(
            f"no scores of {measure!r} are stored in this study",
            remedy=near(measure, names) or "There are no scores yet.",
        )
    return meant


def _current(kind: str, printed: str) -> str | None:
    try:
        return registry.configure(kind, printed).identity
    except SightlineError:
        return None  # the measure, or a parameter of it, no longer exists
