"""The imports of a study: list them, undo one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from sightline.data.import_ import check_writable, counted
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.verbs import argument, verb


@dataclass(frozen=True)
class Imports(Result):
    """Every import of a study, oldest first: its id, importer, path, time and counts."""

    rows: Sequence[Mapping[str, Any]]

    @property
    def sentence(self) -> str:
        return "" if self.rows else "Nothing was imported yet."

    @property
    def next(self) -> Sequence[str]:
        return ("sightline undo STUDY NUMBER" if self.rows else "sightline import STUDY PATH",)

    def tables(self) -> dict[str, Table]:
        columns = [Column("number"), Column("layout"), Column("path"), Column("at"), Column("imported")]
        rows = [
            (
                row["id"],
                row["importer"],
                row["path"],
                row["at"],
                ", ".join(f"{n:,} {kind}" for kind, n in (row["counts"] or {}).items()),
            )
            for row in self.rows
        ]
        return {"": Table(columns, rows, "Imports, oldest first")}


@dataclass(frozen=True)
class Undone(Result):
    """What undoing an import removed: how many rows of each kind."""

    number: int
    counts: Mapping[str, int]

    @property
    def sentence(self) -> str:
        return f"Import {self.number} is undone."

    @property
    def next(self) -> Sequence[str]:
        return ("sightline status STUDY",)

    def tables(self) -> dict[str, Table]:
        return {"": counted(self.counts, "Removed")}


@verb("collect")
def imports(study: Study) -> Imports:
    """List the imports of a study with their numbers."""
    return Imports(loading.sources(study))


@verb("collect")
def undo(
    study: Study,
    number: Annotated[int, argument("The number of the import: see sightline imports.", "NUMBER")],
) -> Undone:
    """Undo an import, or the answers that a command created.

    What other imports contain as well stays. What was computed from it is removed, and can be computed again.
    """
    check_writable(study)
    return Undone(number, loading.undo(study, number))
