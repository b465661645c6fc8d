"""Reference samples of distances, kept whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from sqlalchemy import Connection, select

from sightline.errors import ConflictError, DataError
from sightline.records import Reference
from sightline.study.schema import database, tables
from sightline.study.schema.storable import finite, refuse_bad_text
from sightline.study.study import Study


def keep_references(
    connection: Connection,
    source_id: int,
    records: Sequence[Reference],
    lean_on: Callable[[int | None], None],
) -> int:
    """Write reference samples; one of the same name must be the same sample."""
    made = 0
    table = tables.reference
    for record in records:
        refuse_bad_text([(record.name, record.at), (record.distance, record.at)])
        values = sorted(finite(value, "distance", record.at) for value in record.values)
        if not values or not record.name:
            raise DataError("a reference needs a name and at least one distance", where=record.at)
        row = (record.distance, int(record.squared), len(values), values)
        known = connection.execute(select(table).where(table.c.name == record.name)).first()
        if known is None:
            columns = ["name", "distance", "squared", "n", "json", "source_id"]
            new = (record.name, *row[:-1], database.as_json(values), source_id)
            database.insert(connection, table, columns, [new])
            made += 1
        elif (known.distance, known.squared, known.n, known.json) != row:
            raise ConflictError(
                f"the study has another reference called {record.name!r}",
                where=record.at,
                remedy="Give it another name: --option name=NAME.",
            )
        else:
            lean_on(known.source_id)
    return made


def references(study: Study) -> list[Reference]:
    """Every reference sample of the study by name, its distances rising."""
    with database.reading(study.engine) as connection:
        rows = database.fetch(
            connection, "SELECT name, distance, CAST(json AS TEXT), squared FROM reference ORDER BY name"
        )
    return [
        Reference(name, distance, json.loads(values), bool(squared))
        for name, distance, values, squared in rows
    ]
