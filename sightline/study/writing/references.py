"""Reference samples of distances, kept whole."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sightline.errors import ConflictError, DataError
from sightline.records import Reference
from sightline.study.schema import database, tables
from sightline.study.schema.storable import finite, refuse_bad_text
from sightline.study.study import Study
from sightline.study.writing.keeping import Keeper


def keep_references(keeper: Keeper, records: Sequence[Reference]) -> int:
    """Write reference samples; one of the same name must be the same sample."""
    wanted: dict[tuple[str], tuple[object, ...]] = {}
    places: dict[tuple[str], str] = {}
    for record in records:
        refuse_bad_text([(record.name, record.at), (record.distance, record.at)])
        values = sorted(finite(value, "distance", record.at) for value in record.values)
        if not values or not record.name:
            raise DataError("a reference needs a name and at least one distance", where=record.at)
        row = (record.distance, int(record.squared), len(values), database.as_json(values))
        places.setdefault((record.name,), record.at)
        if wanted.setdefault((record.name,), row) != row:
            raise _another(record.name, record.at)
    columns = ["distance", "squared", "n", "json"]
    return keeper.keep(
        tables.reference, ["name"], columns, wanted, lambda key, _: _another(key[0], places[key])
    )


def _another(name: str, at: str) -> ConflictError:
    return ConflictError(
        f"the study has another reference called {name!r}",
        where=at,
        remedy="Give it another name: --option name=NAME.",
    )


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
