"""Studies of earlier versions are led to this one without losing a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import Column, Connection, MetaData, Table, inspect

from sightline.errors import ConflictError, StudyError
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Record,
    Reference,
    Truth,
)
from sightline.study.schema import database, tables
from sightline.study.study import Study, open_study
from sightline.study.writing import settling
from sightline.study.writing.loading import Loaded, undo
from sightline.study.writing.scenes import scenes

HERE = Path(__file__).resolve().parent
Put = Callable[..., Loaded]
Dump = Callable[[Study], dict[str, list[tuple[Any, ...]]]]
P1, A = PromptKey("s", "1"), ImageKey("c", "a.png")
DOG = {"objects": [{"kind": "dog", "box": [0.0, 0.25, 0.5, 1.0]}]}
OLD: list[Record] = [
    Prompt(P1, "a dog", {"split": "train"}),
    Image(A, captions=["a hound"]),
    Answer(P1, "sd", 0, A, 0.5, 7, {"steps": 3}),
    Judgement("q", Item(P1, image=A), 1.0, n=3),
    Truth("q", Item(P1, "sd"), 0.25),
]
NEW: list[Record] = [Image(A, scene=DOG), Reference("r", "ssim", [0.5, 0.25])]


def shape(connection: Connection) -> dict[str, Any]:
    """What the database says its tables are."""
    found = inspect(connection)
    return {
        table: {
            "columns": [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)],
            "key": found.get_pk_constraint(table)["constrained_columns"],
            "foreign": sorted(
                (k["constrained_columns"], k["referred_table"]) for k in found.get_foreign_keys(table)
            ),
            "unique": sorted(u["column_names"] for u in found.get_unique_constraints(table)),
            "indexes": sorted(str(i["name"]) for i in found.get_indexes(table)),
        }
        for table in sorted(found.get_table_names())
    }


def triggers(connection: Connection) -> list[str]:
    """The names of the triggers that guard references."""
    held = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
        if connection.dialect.name == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname"
    )
    return [str(name) for (name,) in connection.exec_driver_sql(held)]


def remake(study: Study, snapshot: str, later: Mapping[str, Collection[str]] = MappingProxyType({})) -> None:
    """Replace the tables by those of a snapshot, with the same rows where it has the same tables.

    `later` names the columns of a table that the snapshot does not have.
    """
    dialect = study.engine.dialect.name
    statements = (HERE / f"{snapshot}.{dialect}.sql").read_text("utf-8").split("\n;\n")
    with database.writing(study.engine) as connection:
        kept = {
            table: connection.execute(table.select()).mappings().all()
            for table in tables.metadata.sorted_tables
        }
        tables.metadata.drop_all(connection)
        for statement in filter(str.strip, statements):
            connection.exec_driver_sql(statement)
        for table, rows in kept.items():
            if not rows or not snapshot.startswith("schema"):
                continue
            left = [{key: row[key] for key in row if key not in later.get(table.name, ())} for row in rows]
            as_it_was = Table(table.name, MetaData(), *(Column(key, table.c[key].type) for key in left[0]))
            connection.execute(as_it_was.insert(), left)
        version = tables.setting.update().where(tables.setting.c.name == database.SCHEMA)
        connection.execute(version.values(value=snapshot.rpartition("_")[2]))


@pytest.mark.parametrize(("version", "later"), [(1, {"prediction": ("image_id",)}), (2, {})])
def test_an_older_study_is_migrated_without_losing_a_row(
    study: Study, put: Put, dump: Dump, version: int, later: Mapping[str, Collection[str]]
) -> None:
    put(study, [*OLD, *NEW])
    row = (1, 0, 0, None, 0.5, 0.25, 0.75, None)
    settling.keep_predictions(study, "ridge", 1, "5-fold", "0" * 64, 0, [row])
    before = dump(study)
    with database.reading(study.engine) as connection:
        fresh, guarded = shape(connection), triggers(connection)
    remake(study, f"schema_{version}", later)
    with database.reading(study.engine) as connection:
        assert database.version(connection) == version and shape(connection) != fresh
    database.prepare(study.engine)
    with database.reading(study.engine) as connection:
        assert database.version(connection) == tables.VERSION
        assert shape(connection) == fresh and triggers(connection) == guarded
    assert dump(study) == before


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_study_made_by_0_1_is_refused_with_the_way_to_keep_it(study: Study, version: int) -> None:
    remake(study, "sightline_0_1")
    with database.writing(study.engine) as connection:
        connection.execute(tables.setting.insert().values(name="version", value=str(version)))
        before = shape(connection)
    with pytest.raises(StudyError, match=r"made by Sightline 0\.1") as caught:
        open_study(study.home)
    assert "sightline export" in caught.value.remedy and "sightline import" in caught.value.remedy
    with database.reading(study.engine) as connection:
        assert shape(connection) == before


def test_scenes_and_references_are_told_once(study: Study, put: Put, dump: Dump) -> None:
    first = put(study, NEW, "one")
    assert first.counts == {"images": 1, "collections": 1, "scenes": 1, "references": 1}
    kept = dump(study)
    second = put(study, NEW, "two")
    assert second.counts == {}
    again = dump(study)
    assert again["scene"] == kept["scene"] and again["reference"] == kept["reference"]
    with pytest.raises(ConflictError, match="import 2 repeats rows of import 1"):
        undo(study, first.source_id)
    undo(study, second.source_id)
    assert dump(study) == kept


@pytest.mark.parametrize(
    "record",
    [
        Image(A, scene={"objects": []}, at="x:1"),
        Reference("r", "ssim", [0.5, 0.3], at="x:1"),
        Reference("r", "dreamsim", [0.25, 0.5], at="x:1"),
        Reference("r", "ssim", [0.25, 0.5], squared=True, at="x:1"),
    ],
)
def test_another_scene_or_reference_is_a_conflict(study: Study, put: Put, dump: Dump, record: Record) -> None:
    put(study, NEW, "one")
    before = dump(study)
    with pytest.raises(ConflictError) as caught:
        put(study, [record], "two")
    assert caught.value.where == "x:1"
    assert dump(study) == before


def test_an_image_kept_for_its_scene_outlives_who_told_of_it_first(study: Study, put: Put) -> None:
    first = put(study, [Image(A)], "one")
    put(study, [Image(A, scene=DOG)], "two")
    undo(study, first.source_id)
    assert scenes(study) == {A: DOG}
