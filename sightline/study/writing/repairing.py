"""What can be wrong with the rows of a study, and removing it: orphans, stale scores and truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, text

from sightline.study.contents import current_inputs
from sightline.study.schema import database, tables
from sightline.study.schema.guards import Reference, missing, references

EMPTIED = ("source_id", "bytes_source_id", "settings_id", "again_of", "collection_id")
"""References that may be empty: a row outlives what they name, except an image its collection."""
_MENTIONED = {name: name for name in ("prompt", "image", "system", "question", "source")} | {"bytes": "image"}


@dataclass(frozen=True)
class Trouble:
    """Rows that something is wrong with, and how to remove them."""

    what: str
    n: int
    repair: Callable[[Connection], object]


def integrity(connection: Connection) -> list[str]:
    """What the database itself finds wrong with its file, and tables that are missing."""
    said = []
    if connection.dialect.name == "sqlite":
        rows = database.fetch(connection, "PRAGMA integrity_check(20)")
        said += [str(row[0]) for row in rows if row[0] != "ok"]
    else:
        failures = "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
        said += [
            f"{row[0]:,} pages fail their checksum" for row in database.fetch(connection, failures) if row[0]
        ]
    missing = sorted(set(tables.metadata.tables) - set(inspect(connection).get_table_names()))
    return said + [f"the table {name} is missing" for name in missing]


def troubles(connection: Connection) -> Iterator[Trouble]:
    """Everything that is wrong with the rows; each can be repaired before the next is looked for."""
    for reference in references():
        yield _orphans(connection, reference)
    for kind, target in _MENTIONED.items():
        lost = f"kind = '{kind}' AND NOT EXISTS (SELECT 1 FROM {target} t WHERE t.id = mention.entity_id)"
        yield _rows(connection, "mention", lost, f"mentions of {target}s that do not exist")
    yield _rows(
        connection,
        "evidence",
        "NOT EXISTS (SELECT 1 FROM score c WHERE c.measure_id = evidence.measure_id AND c.prompt_id = "
        "evidence.prompt_id AND c.system_id = evidence.system_id AND c.image_id = evidence.image_id)",
        "evidence without a score",
    )
    yield from _stale_scores(connection)
    yield _rows(
        connection,
        "settlement",
        "up_to > 0 AND NOT EXISTS (SELECT 1 FROM judgement j WHERE j.id = settlement.up_to "
        "AND j.question_id = settlement.question_id)",
        "truth of judgements that were removed since",
    )
    yield _lost_checks(connection)


def _lost_checks(connection: Connection) -> Trouble:
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if connection.dialect.name == "postgresql":
        query = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    lost = missing(connection.dialect.name, {str(row[0]) for row in database.fetch(connection, query)})

    def repair(connection: Connection) -> None:
        for statement in lost:
            connection.exec_driver_sql(statement)

    n = sum(statement.startswith("CREATE TRIGGER") for statement in lost)
    return Trouble("triggers that check references and are missing", n, repair)


def _orphans(connection: Connection, reference: Reference) -> Trouble:
    table, column, target = reference
    lost = (
        f"{column} IS NOT NULL AND {column} <> 0 "
        f"AND NOT EXISTS (SELECT 1 FROM {target} t WHERE t.id = {table}.{column})"
    )
    what = f"rows of {table} whose {column} names no {target}"
    if column in EMPTIED and tables.metadata.tables[table].columns[column].nullable:
        emptied = f"UPDATE {table} SET {column} = NULL WHERE {lost}"
        return Trouble(what, _count(connection, table, lost), lambda each: each.execute(text(emptied)))
    return _rows(connection, table, lost, what)


def _rows(connection: Connection, table: str, condition: str, what: str) -> Trouble:
    n = _count(connection, table, condition)
    return Trouble(what, n, lambda each: _delete(each, table, condition))


def _count(connection: Connection, table: str, condition: str) -> int:
    return int(connection.execute(text(f"SELECT count(*) FROM {table} WHERE {condition}")).scalar_one())


def _delete(connection: Connection, table: str, condition: str) -> None:
    """Delete rows, and first what refers to them."""
    for child, column, target in references():
        if target != table or child == table:
            continue
        mine = f"{column} IN (SELECT id FROM {table} WHERE {condition})"
        if column in EMPTIED and tables.metadata.tables[child].columns[column].nullable:
            connection.execute(text(f"UPDATE {child} SET {column} = NULL WHERE {mine}"))
        elif _count(connection, child, mine):
            _delete(connection, child, mine)
    connection.execute(text(f"DELETE FROM {table} WHERE {condition}"))


def _stale_scores(connection: Connection) -> Iterator[Trouble]:
    measures = "SELECT m.id, m.kind, m.spec FROM measure m ORDER BY m.id"
    for measure, kind, spec in database.fetch(connection, measures):
        now = current_inputs(connection, kind)
        if now is None:
            continue
        # What was imported may be of something that comes back, and nothing here could compute it again.
        scored = (
            "SELECT prompt_id, system_id, image_id, inputs FROM score "
            "WHERE measure_id = ? AND source_id IS NULL"
        )
        rows = database.fetch(connection, scored, [measure])
        stale = [(measure, *key) for *key, inputs in rows if now.get((key[0], key[1], key[2])) != inputs]
        yield Trouble(f"scores of {spec} of contents that have changed", len(stale), _forget(stale))


def _forget(keys: list[tuple[int, ...]]) -> Callable[[Connection], None]:
    def forget(connection: Connection) -> None:
        for table in ("evidence", "score"):
            own = "measure_id = ? AND prompt_id = ? AND system_id = ? AND image_id = ?"
            database.execute_many(connection, f"DELETE FROM {table} WHERE {own}", keys)

    return forget
