"""References that no plain foreign key can hold, checked by triggers of the database itself.

In items and scores 0 stands for "not part of it", which a foreign key would refuse. And PostgreSQL checks the
foreign keys of a bulk load row by row; these triggers check a statement as a whole. What is computed goes
with what it was computed of, and tags with what they are attached to; anything else that is referred to
cannot be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from sightline.study.schema import tables

DEPENDENT = ("score", "evidence", "prediction", "image_tag")
_BULK = ("answer", "image")
_OF_COMPUTED = ("measure_id", "fit_id")
"""What a computed value is a value of, in the tables that are written in bulk."""
_NAME = re.compile(r"CREATE TRIGGER (\w+)")


class Reference(NamedTuple):
    """A column that holds the id of a row of another table."""

    table: str
    column: str
    target: str


def partial() -> list[Reference]:
    """The references that are 0 where there is nothing to refer to."""
    return [
        Reference(table.name, column, target.name)
        for table in tables.PARTIAL
        for column, target in tables.PARTS.items()
        if column in table.columns
    ]


def references() -> list[Reference]:
    """Every reference of every table."""
    plain = [
        Reference(table.name, column.name, key.column.table.name)
        for table in tables.metadata.sorted_tables
        for column in table.columns
        for key in column.foreign_keys
    ]
    return plain + partial()


def triggers(dialect: str) -> Iterator[str]:
    """The statements that make the triggers."""
    if dialect == "sqlite":
        guarded, row_by_row = partial(), True
    else:
        whole = [each for each in references() if each.table in _BULK]
        named = [each for each in references() if each.table in DEPENDENT and each.column in _OF_COMPUTED]
        guarded, row_by_row = whole + named + partial(), False
    for table in dict.fromkeys(each.table for each in guarded):
        mine = [each for each in guarded if each.table == table]
        yield from _sqlite_added(table, mine) if row_by_row else _postgresql_added(table, mine)
    for target in dict.fromkeys(each.target for each in guarded):
        mine = [each for each in guarded if each.target == target]
        yield from _sqlite_removed(target, mine) if row_by_row else _postgresql_removed(target, mine)


def missing(dialect: str, held: Collection[str]) -> list[str]:
    """The statements that make the triggers which a database with these ones has lost."""
    made = list(triggers(dialect))
    named = [(statement, _NAME.match(statement)) for statement in made]
    lost = [statement for statement, name in named if name is not None and name[1] not in held]
    return [statement for statement, name in named if name is None] + lost if lost else []


def _failed(reference: Reference) -> str:
    return f"FOREIGN KEY constraint failed: {reference.table}.{reference.column}"


def _changes(table: str) -> tuple[str, ...]:
    # The keys of what was computed are never changed, only its values.
    return ("INSERT",) if table in DEPENDENT else ("INSERT", "UPDATE")


def _sqlite_added(table: str, mine: list[Reference]) -> Iterator[str]:
    checks = "; ".join(
        f"SELECT RAISE(ABORT, '{_failed(each)}') WHERE NEW.{each.column} <> 0 "
        f"AND NOT EXISTS (SELECT 1 FROM {each.target} WHERE id = NEW.{each.column})"
        for each in mine
    )
    for change in _changes(table):
        yield f"CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table} BEGIN {checks}; END"


def _sqlite_removed(target: str, mine: list[Reference]) -> Iterator[str]:
    # `<> 0` lets the databases use the indexes that leave it out.
    steps = "; ".join(
        f"DELETE FROM {each.table} WHERE {each.column} = OLD.id AND {each.column} <> 0"
        if each.table in DEPENDENT
        else f"SELECT RAISE(ABORT, '{_failed(each)}') WHERE EXISTS "
        f"(SELECT 1 FROM {each.table} WHERE {each.column} = OLD.id AND {each.column} <> 0)"
        for each in mine
    )
    yield f"CREATE TRIGGER {target}_delete AFTER DELETE ON {target} BEGIN {steps}; END"


def _postgresql_added(table: str, mine: list[Reference]) -> Iterator[str]:
    checks = " ".join(
        _raise_if(
            each,
            f"SELECT 1 FROM added a WHERE a.{each.column} <> 0 "
            f"AND NOT EXISTS (SELECT 1 FROM {each.target} t WHERE t.id = a.{each.column})",
        )
        for each in mine
    )
    yield _function(f"{table}_added", checks)
    for change in _changes(table):
        yield (
            f"CREATE TRIGGER {table}_{change.lower()} AFTER {change} ON {table} "
            f"REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION {table}_added()"
        )


def _postgresql_removed(target: str, mine: list[Reference]) -> Iterator[str]:
    steps = " ".join(
        f"DELETE FROM {each.table} c USING removed r WHERE c.{each.column} = r.id AND c.{each.column} <> 0;"
        if each.table in DEPENDENT and each.column in tables.PARTS
        else _raise_if(
            each,
            f"SELECT 1 FROM {each.table} c JOIN removed r ON c.{each.column} = r.id AND c.{each.column} <> 0",
        )
        for each in mine
    )
    yield _function(f"{target}_removed", steps)
    yield (
        f"CREATE TRIGGER {target}_delete AFTER DELETE ON {target} REFERENCING OLD TABLE AS removed "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {target}_removed()"
    )


def _raise_if(reference: Reference, query: str) -> str:
    failure = f"RAISE foreign_key_violation USING MESSAGE = '{_failed(reference)}'"
    return f"IF EXISTS ({query}) THEN {failure}; END IF;"


def _function(name: str, steps: str) -> str:
    return (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {steps} RETURN NULL; END $$"
    )
