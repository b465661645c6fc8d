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
from sightline.verbs import argument, option, verb

COMPUTED = {"computed_truth": "truths", "score": "scores", "prediction": "predictions"}


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
    """What undoing an import removed, or would remove (`dry_run`): how many rows of each kind."""

    number: int
    counts: Mapping[str, int]
    dry_run: bool = False

    @property
    def sentence(self) -> str:
        if self.dry_run:
            return f"Undoing import {self.number} would remove this. Nothing was removed."
        return f"Import {self.number} is undone."

    @property
    def notes(self) -> Sequence[str]:
        lost = [f"{self.counts[kind]:,} {name}" for kind, name in COMPUTED.items() if self.counts.get(kind)]
        if not lost:
            return ()
        what = ", ".join(lost)
        return (f"Computed from it, and to be computed again from what is left: {what}.",)

    @property
    def next(self) -> Sequence[str]:
        return (f"sightline undo STUDY {self.number}" if self.dry_run else "sightline status STUDY",)

    def tables(self) -> dict[str, Table]:
        return {"": counted(self.counts, "To be removed" if self.dry_run else "Removed")}


@verb("collect")
def imports(study: Study) -> Imports:
    """List the imports of a study with their numbers."""
    return Imports(loading.sources(study))


@verb("collect")
def undo(
    study: Study,
    number: Annotated[int, argument("The number of the import: see sightline imports.", "NUMBER")],
    *,
    dry_run: Annotated[bool, option("Show what would be removed, and remove nothing.")] = False,
) -> Undone:
    """Undo an import, or the answers that a command created.

    What other imports contain as well stays. What was computed from it is removed, and can be computed again.
    An import whose prompts or images people judge in a round is not undone.
    """
    check_writable(study)
    return Undone(number, loading.undo(study, number, dry_run=dry_run), dry_run)
