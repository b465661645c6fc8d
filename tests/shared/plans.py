"""How a database carries out what a piece of code really executes, and a study worth planning for."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import event

from sightline.study.schema import database
from sightline.study.study import Study

_PLANNED = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+\"?(\w+)\"?(?:\s+(?:AS\s+)?(\w+))?", re.IGNORECASE)


class Plan(NamedTuple):
    """A statement that was executed, and the tables that it goes through from one end to the other."""

    statement: str
    scanned: Sequence[str]
    lines: Sequence[str]

    def __str__(self) -> str:
        return "\n  ".join((self.statement, *self.lines))


@contextmanager
def planned(study: Study) -> Iterator[list[Plan]]:
    """Collects the plans of everything that is executed on a study meanwhile.

    Each statement is explained on its own connection, with its own values, right before it is executed: its
    temporary tables are there, and the test cannot drift from the code.
    """
    plans: list[Plan] = []
    sqlite = study.engine.dialect.name == "sqlite"
    happens, listener = ("do_connect", _sqlite(plans)) if sqlite else ("connect", _postgresql(plans))
    study.engine.dispose()
    event.listen(study.engine, happens, listener)
    try:
        yield plans
    finally:
        event.remove(study.engine, happens, listener)
        study.engine.dispose()


def _sqlite(plans: list[Plan]) -> Any:
    class Explaining(sqlite3.Cursor):
        def execute(self, sql: str, values: Any = (), /) -> Any:
            self.explain(sql, values)
            return super().execute(sql, values)

        def executemany(self, sql: str, rows: Any, /) -> Any:
            kept = list(rows)
            for first in kept[:1]:
                self.explain(sql, first)
            return super().executemany(sql, kept)

        def explain(self, sql: str, values: Any) -> None:
            if _PLANNED.match(sql):
                other = sqlite3.Cursor(self.connection)
                told = other.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
                plans.append(_plan_of_sqlite(sql, [str(row[3]) for row in told]))

    class Explained(sqlite3.Connection):
        def cursor(self, factory: Any = Explaining) -> Any:
            return super().cursor(factory)

    def connect(_: Any, __: Any, arguments: Any, named: Any) -> Any:
        return sqlite3.connect(*arguments, **named, factory=Explained)

    return connect


def _plan_of_sqlite(statement: str, lines: list[str]) -> Plan:
    named = {alias or table: table for table, alias in _NAMED.findall(statement)}
    named |= {table: table for table in named.values()}
    scans = [line.split()[1] for line in lines if line.startswith("SCAN ")]
    return Plan(statement, [named.get(name, name) for name in scans], lines)


def _postgresql(plans: list[Plan]) -> Any:
    import psycopg

    class Explaining(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            if isinstance(query, str) and _PLANNED.match(query):
                with psycopg.Cursor(self.connection) as other:
                    told = other.execute(f"EXPLAIN (FORMAT JSON) {query}", params).fetchone()
                assert told is not None
                scanned, lines = _walked(told[0][0]["Plan"])
                plans.append(Plan(query, scanned, lines))
            return super().execute(query, params, **options)

    def connected(connection: Any, _: Any) -> None:
        connection.cursor_factory = Explaining

    return connected


def _walked(node: dict[str, Any], depth: int = 0) -> tuple[list[str], list[str]]:
    does, name, index = (node.get(each, "") for each in ("Node Type", "Relation Name", "Index Name"))
    scanned = [name] if does == "Seq Scan" else []
    lines = [f"{'  ' * depth}{does} {name} {index} {node['Plan Rows']} rows"]
    for inner in node.get("Plans", ()):
        below = _walked(inner, depth + 1)
        scanned, lines = scanned + below[0], lines + below[1]
    return scanned, lines


PROMPTS, SYSTEMS, PLACES = 2_500, 5, 8
JUDGED = 20_000
N = PROMPTS * SYSTEMS * PLACES
LARGE = ("prompt", "image", "answer", "item", "judgement", "truth", "score", "evidence", "round_item")
LARGE += ("round_item_slot", "task", "task_slot", "prediction", "prompt_tag", "image_tag")
"""Tables that `fill` fills, and that nothing which wants a few of their rows may go through."""
_FILLED = {
    "source": "SELECT 1, 'test', 'p', 'd', '2026' UNION ALL SELECT 2, 'test', 'q', 'e', '2026'",
    "collection": "SELECT 1, 'c', 1",
    "system": f"SELECT i, 'system ' || i, 'generator', 1, 1 FROM n WHERE i <= {SYSTEMS}",
    "prompt": f"SELECT i, 's', 'p' || i, 'prompt ' || i, i, 1 FROM n WHERE i <= {PROMPTS}",
    "prompt_tag": f"SELECT i, 'kind', 'k' || (i % 50), 1 FROM n WHERE i <= {PROMPTS}",
    "image": f"SELECT i, 1, 'i' || i, substr('{'0' * 64}' || i, length('' || i) + 1), 64, 64, 1, 1 FROM n",
    "image_tag": "SELECT i, 0, 'style', 's' || (i % 100), 1 FROM n WHERE i % 5 = 0",
    "answer": f"SELECT i % {SYSTEMS} + 1, (i - 1) / {SYSTEMS * PLACES} + 1, (i - 1) / {SYSTEMS} % {PLACES}, "
    f"i, CASE WHEN i > {N - 40} THEN 2 ELSE 1 END FROM n",
    "question": "SELECT i, 'q' || i, 1, 'interval', 1, 5, '', 'higher', 1 FROM n WHERE i <= 10",
    "annotator": "SELECT i, 'panel', 'a' || i, 'annotator', 1 FROM n WHERE i <= 500",
    "item": f"SELECT i, (i - 1) / {SYSTEMS * PLACES} + 1, 0, i, 0, 0, 0 FROM n WHERE i <= {JUDGED}",
    "round": "SELECT 1, 'round', 'rating', '[]', '{}', 1, 'open', '2026'",
    "round_item": f"SELECT i, 1, i - 1, 'work', 3, 1, (i + 1) % 2 FROM n WHERE i <= {JUDGED}",
    "round_item_slot": f"SELECT i, 0, i, 0 FROM n WHERE i <= {JUDGED}",
    "task": "SELECT i, 't' || i, 1, i % 500 + 1, i, 1, i / 500, "
    f"CASE WHEN i % 2 = 0 THEN 'done' ELSE 'open' END, 1, '2026-01-01T00:00:00Z' FROM n WHERE i <= {JUDGED}",
    "task_slot": f"SELECT i, 0, i, 0, 0, 0 FROM n WHERE i <= {JUDGED}",
    "judgement": "SELECT i, 'j' || i, i % 10 + 1, i, i % 500 + 1, i, 0, 0, 0, '', i % 5 + 1, 1, '', 0, NULL "
    f"FROM n WHERE i % 2 = 0 AND i <= {JUDGED}",
    "settlement": "SELECT i, i, 'mean', '', 1, 's' || i, '2026' FROM n WHERE i <= 10",
    "truth": f"SELECT i % 10 + 1, i, i % 5 + 1, 1 FROM n WHERE i <= {JUDGED}",
    "measure": "SELECT i, 'of_answer', 'm' || i, 1, 'higher', 'm' || i FROM n WHERE i <= 3",
    "score": f"SELECT 1, (i - 1) / {SYSTEMS * PLACES} + 1, 0, i, i * 7919, 0.5 FROM n UNION ALL "
    f"SELECT 2, (i - 1) / {SYSTEMS * PLACES} + 1, 0, i, i * 7919, 0.5 FROM n WHERE i <= 1000",
    "evidence": f"SELECT 1, (i - 1) / {SYSTEMS * PLACES} + 1, 0, i, '{{}}' FROM n WHERE i % 2 = 0",
    "fit": "SELECT 1, 'ridge', 1, '5-fold', 't', 1, 'f'",
    "prediction": f"SELECT 1, (i - 1) / {SYSTEMS * PLACES} + 1, 0, i, 0.5 FROM n WHERE i <= {JUDGED}",
}
_COLUMNS = {
    "source": "id, importer, path, sha256, at",
    "collection": "id, name, source_id",
    "system": "id, name, kind, collection_id, source_id",
    "prompt": "id, suite, ref, text, text_sha, source_id",
    "prompt_tag": "prompt_id, name, value, source_id",
    "image": "id, collection_id, name, sha256, width, height, source_id, bytes_source_id",
    "image_tag": "image_id, prompt_id, name, value, source_id",
    "answer": "system_id, prompt_id, position, image_id, source_id",
    "question": "id, name, version, scale, low, high, wording, direction, source_id",
    "annotator": "id, panel, name, role, source_id",
    "item": "id, prompt_id, system_id, image_id, image_b, image_c, system_b",
    "round": "id, name, mode, questions, settings, seed, state, at",
    "round_item": "id, round_id, ordinal, kind, wanted, given, done",
    "round_item_slot": "round_item_id, slot, item_id, control",
    "task": "id, key, round_id, annotator_id, round_item_id, session, ordinal, state, counted, assigned",
    "task_slot": "task_id, slot, item_id, control, swapped, repetition",
    "judgement": "id, key, question_id, item_id, annotator_id, task_id, slot, repetition, revision, "
    "group_name, value, n, session, control, source_id",
    "settlement": "id, question_id, rule, screening, up_to, identity, at",
    "truth": "settlement_id, item_id, value, n",
    "measure": "id, kind, spec, version, direction, identity",
    "score": "measure_id, prompt_id, system_id, image_id, inputs, value",
    "evidence": "measure_id, prompt_id, system_id, image_id, json",
    "fit": "id, spec, settlement_id, split, train_sha, seed, identity",
    "prediction": "fit_id, prompt_id, system_id, image_id, value",
}


def fill(study: Study) -> None:
    """Write a study of a hundred thousand answers straight into the tables."""
    with database.writing(study.engine, durable=False) as connection:
        if connection.dialect.name == "postgresql":
            # What is written here is sound: checking each reference would take longer than all the tests.
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        connection.exec_driver_sql("CREATE TEMPORARY TABLE n (i BIGINT)")
        numbers = f"r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < {N})"
        connection.exec_driver_sql(f"INSERT INTO n WITH RECURSIVE {numbers} SELECT i FROM r")
        for table, columns in _COLUMNS.items():
            database.execute(connection, f"INSERT INTO {table} ({columns}) {_FILLED[table]}", {})
            if connection.dialect.name == "postgresql" and columns.startswith("id,"):
                drawn = f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
                connection.exec_driver_sql(drawn)
        if connection.dialect.name == "postgresql":
            # As its autovacuum does; a study on SQLite is never analysed, and must do without.
            connection.exec_driver_sql("ANALYZE")
