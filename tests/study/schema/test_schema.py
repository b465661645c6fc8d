"""The tables as they were published: changing them takes a new version and a step that leads there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, String, Table, inspect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from sightline.errors import StudyError
from sightline.measures.score import score
from sightline.records import Item, Prompt, PromptKey, Truth
from sightline.study.schema import database, guards, tables
from sightline.study.study import Study
from sightline.study.writing.loading import load

SOURCE: dict[str, Any] = {"importer": "t", "path": "p", "digest": "1"}
HERE = Path(__file__).resolve().parent
DIALECTS: dict[str, Any] = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}
WHAT_TO_DO = """
tables.py in sightline/study/schema no longer makes the tables of version {version}. Such studies exist, so:
  1. raise VERSION in tables.py to {next},
  2. write migrations/m{next:04d}_what_changes.py next to it: upgrade(connection), in SQL both take,
  3. print the new tables: python tests/study/schema/test_schema.py {next}
     (it writes schema_{next}.sqlite.sql and .postgresql.sql next to it; keep the old files),
  4. test the step on a study of version {version} in tests/study/schema/test_migrations.py.
"""


def written(dialect: str) -> str:
    """Every table and index as one dialect makes them."""
    made = []
    for table in tables.metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=DIALECTS[dialect])))
        ordered = sorted(table.indexes, key=lambda index: str(index.name))
        made += [str(CreateIndex(index).compile(dialect=DIALECTS[dialect])) for index in ordered]
    made += guards.triggers(dialect)
    lines = "\n;\n".join(part.strip() for part in made).splitlines()
    return "\n".join(line.replace("\t", "    ").rstrip() for line in lines) + "\n;\n"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_tables_are_those_of_their_version(dialect: str) -> None:
    golden = HERE / f"schema_{tables.VERSION}.{dialect}.sql"
    assert golden.exists(), WHAT_TO_DO.format(version=tables.VERSION - 1, next=tables.VERSION)
    if written(dialect) != golden.read_text("utf-8"):
        pytest.fail(WHAT_TO_DO.format(version=tables.VERSION, next=tables.VERSION + 1), pytrace=False)


def test_a_change_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import Column, Integer

    before = {dialect: written(dialect) for dialect in DIALECTS}
    metadata = tables.metadata
    Table("newcomer", metadata, Column("id", Integer, primary_key=True))
    try:
        assert all(written(dialect) != before[dialect] for dialect in DIALECTS)
    finally:
        metadata.remove(metadata.tables["newcomer"])


def test_a_new_study_has_exactly_these_tables(study: Study) -> None:
    with database.reading(study.engine) as connection:
        found = inspect(connection)
        assert sorted(found.get_table_names()) == sorted(tables.metadata.tables)
        for table in tables.metadata.sorted_tables:
            columns = {column["name"] for column in found.get_columns(table.name)}
            assert columns == {column.name for column in table.columns}


def test_deleting_never_scans_a_large_table() -> None:
    """Each foreign key from a table that grows is led by an index, or points to a table of few rows."""
    few = {"source", "collection", "question", "measure", "settlement", "fit", "task", "control", "round"}
    led = set()
    for table in tables.metadata.sorted_tables:
        keys = [[c.name for c in index.columns] for index in table.indexes]
        keys += [[c.name for c in each.columns] for each in table.constraints if hasattr(each, "columns")]
        for column in table.columns:
            for key in column.foreign_keys:
                target = key.column.table.name
                if target not in few and not any(names and names[0] == column.name for names in keys):
                    led.add(f"{table.name}.{column.name}")
    # Annotators have few tokens and tasks.
    assert led <= {"token.annotator_id"}


def test_every_column_that_names_a_row_is_a_reference() -> None:
    held = {(each.table, each.column) for each in guards.references()}
    named = {
        (table.name, column.name)
        for table in tables.metadata.sorted_tables
        for column in table.columns
        if column.name.endswith("_id") or column.name in ("image_b", "image_c", "system_b", "again_of")
    }
    # What a mention names may be of any table: its kind says which.
    assert named - held == {("mention", "entity_id")}


def test_no_row_refers_to_one_that_is_not_there(study: Study) -> None:
    targets = {each.target for each in guards.references()}
    with database.writing(study.engine) as connection:
        for table in tables.metadata.sorted_tables:
            row = _row(table, 1)
            if table.name in targets:
                database.insert(connection, table, list(row), [tuple(row.values())])
    for reference in guards.references():
        table = tables.metadata.tables[reference.table]
        row = _row(table, 2) | {reference.column: 999}
        refused = pytest.raises(StudyError, match=r"(?i)what this refers to is gone .*foreign key constraint")
        with refused as caught, database.writing(study.engine) as connection:
            database.insert(connection, table, list(row), [tuple(row.values())])
        said = str(caught.value)
        assert study.engine.dialect.name == "sqlite" or reference.column in said, (reference, said)


def _row(table: Table, n: int) -> dict[str, Any]:
    """The n-th row of a table; it refers to the first of every other."""
    zero = {each.column for each in guards.partial() if each.table == table.name}
    row: dict[str, Any] = {}
    for column in table.columns:
        if column.name in zero:
            row[column.name] = 0
        elif column.foreign_keys:
            row[column.name] = 1
        elif isinstance(column.type, JSON):
            row[column.name] = "[]"
        else:
            row[column.name] = str(n) if isinstance(column.type, String) else n
    fixed: dict[str, Any] = {"failure": None, "skipped": None, "reason": None, "again_of": None}
    fixed |= {"system": {"kind": "generator"}, "judgement": {"n": 1}}.get(table.name, {})
    return row | {name: value for name, value in fixed.items() if name in row}


def test_what_is_referred_to_stays_and_what_is_computed_goes_with_it(study: Study) -> None:
    load(study, [Truth("q", Item(PromptKey("s", "1")), 1.0), Prompt(PromptKey("s", "1"), "a ball")], **SOURCE)
    load(study, [Prompt(PromptKey("s", "2"), "a cat")], importer="t", path="q", digest="2")
    score(study, "words")
    refused = pytest.raises(StudyError, match=r"FOREIGN KEY constraint failed: item.prompt_id")
    with refused, database.writing(study.engine) as connection:
        connection.exec_driver_sql("DELETE FROM prompt WHERE id = 1")
    with database.writing(study.engine) as connection:
        connection.exec_driver_sql("DELETE FROM prompt WHERE id = 2")
        assert [row.prompt_id for row in connection.execute(tables.score.select())] == [1]


def test_a_measure_that_has_scores_stays(study: Study) -> None:
    load(study, [Prompt(PromptKey("s", "1"), "a ball")], **SOURCE)
    score(study, "words")
    refused = pytest.raises(StudyError, match="FOREIGN KEY constraint failed")
    with refused, database.writing(study.engine) as connection:
        connection.exec_driver_sql("DELETE FROM measure")
    with database.reading(study.engine) as connection:
        assert len(connection.execute(tables.score.select()).all()) == 1


if __name__ == "__main__":
    import sys

    for name in DIALECTS:
        (HERE / f"schema_{int(sys.argv[1])}.{name}.sql").write_text(written(name), "utf-8")
