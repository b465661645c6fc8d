"""Cache: what is stored so that it need not be computed again, and clearing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from sightline import registry
from sightline.errors import SightlineError, UsageError, near
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import reading, scores
from sightline.study.study import Study
from sightline.study.writing.sweeping import DiskUse, disk_use, sweep
from sightline.verbs import option, verb


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
    """The scores of each measure, and the disk use of images and of what was made from them.

    `removed` is what was cleared, None where nothing was to be.
    """

    measures: Sequence[MeasureCache]
    files: Mapping[str, DiskUse]
    removed: Removed | None = None

    @property
    def sentence(self) -> str:
        if self.removed is not None:
            size = f"{self.removed.bytes / 1e6:,.1f} MB"
            return f"Removed {self.removed.scores:,} scores and {self.removed.files:,} files ({size})."
        if all(each.current for each in self.measures):
            return ""
        return (
            "What is not current was computed by an earlier version, or by an extension not installed here."
        )

    @property
    def next(self) -> Sequence[str]:
        return ("sightline score STUDY" if self.removed else "sightline cache STUDY --clear MEASURE",)

    def facts(self) -> Mapping[str, Any]:
        return {"removed": None if self.removed is None else asdict(self.removed)}

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
        return {"measures": Table(columns, rows, "Scores"), "files": Table(sizes, files, "On disk")}


@verb("set up")
def cache(
    study: Study,
    *,
    clear: Annotated[str | None, option("Delete the scores of this measure.", metavar="MEASURE")] = None,
    clean: Annotated[bool, option("Remove files that nothing refers to any more.")] = False,
) -> Cache:
    """Show what is cached of computed things, or clear it.

    A bare name stands for the measure with any parameters and of any version. Imported scores are not
    cleared: undo their import instead.
    """
    removed = None
    if clear is not None or clean:
        cleared = 0 if clear is None else sum(scores.clear(study, each) for each in _meant(study, clear))
        swept = sweep(study) if clean else DiskUse(0, 0)
        removed = Removed(cleared, swept.files, swept.bytes)
    measures = [
        MeasureCache(current=_current(row["kind"], row["measure"]) == row["identity"], **row)
        for row in reading.measures(study).drop("measure_id", "direction").iter_rows(named=True)
    ]
    return Cache(measures, disk_use(study), removed)


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
