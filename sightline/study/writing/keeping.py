"""One import at work: what it adds to the tables, and whose facts it repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table

from sightline.study.schema import database

Cells = tuple[Any, ...]


class Keeper:
    """Writes under the number of one source; None where what is written belongs to no import."""

    def __init__(self, connection: Connection, source_id: int | None) -> None:
        self.connection = connection
        self.source_id = source_id
        self.leans_on: set[int] = set()

    def lean_on(self, owner: int | None) -> None:
        """Note that this import repeats a fact of another, which cannot be undone before this one."""
        if owner is not None and owner != self.source_id:
            self.leans_on.add(owner)

    def add(self, table: Table, columns: Sequence[str], rows: Sequence[Cells]) -> Sequence[int]:
        """Insert rows under fresh keys; gives the keys, in order."""
        owned = [(*row, self.source_id) for row in rows]
        return database.add(self.connection, table, [*columns, "source_id"], owned)

    def keep(
        self,
        table: Table,
        by: Sequence[str],
        columns: Sequence[str],
        wanted: Mapping[Any, Cells],
        conflict: Callable[[Any, Cells], Exception] | None = None,
    ) -> int:
        """Write facts by their keys; gives how many are new.

        One that the study holds must be the same: `conflict` is given its key and what is held otherwise.
        A fact that is all key has no other values.
        """
        if not wanted:
            return 0
        fresh = dict(wanted)
        for row in database.look_up(self.connection, table, by, list(wanted), [*columns, "source_id"]):
            key, held, owner = row[: len(by)], row[len(by) : -1], row[-1]
            if fresh.pop(key) != held and conflict is not None:
                raise conflict(key, held)
            self.lean_on(owner)
        rows = [(*key, *values, self.source_id) for key, values in fresh.items()]
        database.insert(self.connection, table, [*by, *columns, "source_id"], rows)
        return len(rows)
