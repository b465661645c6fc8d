"""What a large study costs on PostgreSQL and on SQLite: scores, answers, indexes, partitions, a copy.

    python benchmarks/postgres.py [--scores 1000000] [--answers 200000] [--only scores,answers,...]

Each line has rows per second and the ratio to a plain COPY (psycopg) or executemany (sqlite3) of the same
rows into an equal table with the same indexes and without triggers, in the same run. PostgreSQL is that of
pgserver, with its usual settings.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from load import records
from sqlalchemy import Connection, Table, create_engine

from sightline.study import copy
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study
from sightline.study.writing.copying import rows_in_order
from sightline.study.writing.loading import load

A_PROMPT = 40
SCORE = ["measure_id", "prompt_id", "system_id", "image_id", "inputs", "value", "reason", "source_id"]
BARE = (
    "CREATE TABLE {name} (measure_id BIGINT, prompt_id BIGINT, system_id BIGINT, image_id BIGINT, "
    "inputs BIGINT NOT NULL, value DOUBLE PRECISION, reason TEXT, source_id BIGINT, "
    "PRIMARY KEY (measure_id, prompt_id, system_id, image_id))"
)
INDEXES = ("measure_id, inputs", "prompt_id", "image_id")
MEASURES = 5


def rows_of(measure: int, n: int) -> list[tuple[Any, ...]]:
    """n scores of a measure, each of a prompt and an image."""
    mixed = 2_654_435_761
    return [
        (measure, i // A_PROMPT + 1, 0, i + 1, (i * mixed + measure) % 2**62, i / 7, None, None)
        for i in range(n)
    ]


def line(where: str, what: str, n: int, took: float, bare: float | None = None) -> None:
    """Print one figure."""
    ratio = f"   {took / bare:5.2f} x the bare driver" if bare else ""
    print(f"{where:10} {what:52} {took:7.2f} s {n / took:10,.0f} rows/s{ratio}", flush=True)


def timed(work: Callable[[], object]) -> float:
    """Seconds of a piece of work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def parts(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Rows in batches."""
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def seed(study: Study, n: int) -> None:
    """Prompts, images and measures for n scores of each measure."""
    with database.writing(study.engine, durable=False) as connection:
        columns = ["id", "kind", "spec", "version", "direction", "identity"]
        rows: list[tuple[Any, ...]] = [(i, "of_answer", f"m{i}", 1, "higher", f"m{i}") for i in range(1, 20)]
        database.insert(connection, tables.measure, columns, rows)
        rows = [(i, "s", str(i), "a text", i) for i in range(1, n // A_PROMPT + 2)]
        database.insert(connection, tables.prompt, ["id", "suite", "ref", "text", "text_sha"], rows)
        database.insert(connection, tables.collection, ["id", "name"], [(1, "c")])
        rows = [(i, 1, str(i)) for i in range(1, n + 1)]
        database.insert(connection, tables.image, ["id", "collection_id", "name"], rows)


@contextmanager
def servers(folder: Path) -> Iterator[Callable[[str], tuple[Study, str]]]:
    """Makes studies, each in a database of its own: SQLite for "SQLite", PostgreSQL otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver
    import psycopg

    server = pgserver.get_server(folder / "server", cleanup_mode="delete")
    made: list[Study] = []

    def make(where: str) -> tuple[Study, str]:
        name, address = f"s{len(made)}", ""
        if where != "SQLite":
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            address = server.get_uri().replace("/postgres?", f"/{name}?", 1)
        made.append(create_study(folder / name, database_address=address))
        return made[-1], address

    try:
        yield make
    finally:
        for study in made:
            study.close()
        server.cleanup()


def bare_scores(study: Study, address: str, rows: Sequence[tuple[Any, ...]], batch: int) -> float:
    """Seconds that the driver itself takes for the same rows, in transactions of the same size."""
    marks = ", ".join("?" * len(SCORE))
    if not address:
        connection = sqlite3.connect(study.home / "bare.sqlite", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(BARE.format(name="bare") + " WITHOUT ROWID")
        for index in INDEXES:
            connection.execute(f"CREATE INDEX bare_{index[:6]} ON bare ({index})")

        def executed() -> None:
            for part in parts(rows, batch):
                connection.execute("BEGIN")
                connection.executemany(f"INSERT INTO bare VALUES ({marks})", part)
                connection.execute("COMMIT")

        took = timed(executed)
        connection.execute("DROP TABLE bare")
        connection.close()
        return took
    import psycopg

    with psycopg.connect(address) as server:
        server.execute(BARE.format(name="bare"))
        server.execute("SET synchronous_commit = off")
        for index in INDEXES:
            server.execute(f"CREATE INDEX ON bare ({index})")
        server.commit()

        def copied() -> None:
            for part in parts(rows, batch):
                with server.cursor() as cursor, cursor.copy("COPY bare FROM STDIN") as copy:
                    for row in part:
                        copy.write_row(row)
                server.commit()

        took = timed(copied)
        server.execute("DROP TABLE bare")
    return took


def score_rows(where: str, study: Study, address: str, n: int) -> None:
    """Scores as they are written by scoring (few at a time) and by an import (many), new and again."""
    seed(study, n)
    for measure, batch in enumerate((2_000, 20_000), 1):
        rows = rows_of(measure, n)
        bare = bare_scores(study, address, rows, batch)
        line(where, f"scores, bare, {batch:,} per transaction", n, bare)

        def upserted(rows: Sequence[Any] = rows, batch: int = batch) -> None:
            for part in parts(rows, batch):
                with database.writing(study.engine, durable=False) as connection:
                    database.upsert(connection, tables.score, SCORE, part, replace=True)

        line(where, f"scores, upsert of new ones, {batch:,}", n, timed(upserted), bare)
        line(where, f"scores, upsert of known ones, {batch:,}", n, timed(upserted), bare)
    rows = rows_of(3, n)

    def inserted() -> None:
        with database.writing(study.engine, durable=False) as connection:
            for part in parts(rows, 20_000):
                database.insert(connection, tables.score, SCORE, part)

    line(where, "scores, insert, one transaction", n, timed(inserted), bare)


def answer_rows(where: str, study: Study, n: int) -> None:
    """Answers through an import, each with an image known by name."""

    def imported() -> None:
        load(study, records(n), importer="benchmark", path="answers.csv", digest="a")

    line(where, "answers, imported", n, timed(imported))


def index_costs(where: str, study: Study, n: int) -> None:
    """What each index costs when rows are inserted: all of them, then without each."""
    seed(study, n)

    def inserted(measure: int) -> float:
        rows = rows_of(measure, n)

        def work() -> None:
            with database.writing(study.engine, durable=False) as connection:
                for part in parts(rows, 20_000):
                    database.insert(connection, tables.score, SCORE, part)

        return timed(work)

    inserted(1)
    usual = inserted(2)
    line(where, "scores, all indexes", n, usual)
    for measure, name in enumerate(("score_by_inputs", "score_by_prompt", "score_by_image"), 3):
        _execute(study, f"DROP INDEX {name}")
        took = inserted(measure)
        costs = 100 * (usual - took) / usual
        print(f"{'':10} without {name}: {took:.2f} s, it costs {costs:.0f} %", flush=True)
        (index,) = [each for each in tables.score.indexes if each.name == name]
        with database.writing(study.engine) as connection:
            index.create(connection)


def _execute(study: Study, *statements: str) -> None:
    with database.writing(study.engine, durable=False) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def partitions(study: Study, n: int) -> None:
    """Five measures in one table, in a partition each, and spread over eight by hash; on PostgreSQL."""
    columns = ", ".join(SCORE)
    kinds = {
        "one table": (BARE.format(name="plain"), []),
        "a partition per measure": (
            BARE.format(name="list") + " PARTITION BY LIST (measure_id)",
            [f"CREATE TABLE list_{i} PARTITION OF list FOR VALUES IN ({i})" for i in range(1, MEASURES + 1)],
        ),
        "eight partitions by hash": (
            BARE.format(name="hash") + " PARTITION BY HASH (measure_id)",
            [
                f"CREATE TABLE hash_{i} PARTITION OF hash FOR VALUES WITH (MODULUS 8, REMAINDER {i})"
                for i in range(8)
            ],
        ),
    }
    for name, (made, (table, divided)) in zip(("plain", "list", "hash"), kinds.items(), strict=True):
        indexes = [f"CREATE INDEX ON {name} ({index})" for index in INDEXES]
        _execute(study, table, *divided, *indexes)

        def written(connection: Connection, measure: int, name: str = name) -> None:
            driver: Any = connection.connection.driver_connection
            with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({columns}) FROM STDIN") as copy:
                for row in rows_of(measure, n):
                    copy.write_row(row)

        took = 0.0
        for measure in range(1, MEASURES + 1):
            with database.writing(study.engine, durable=False) as connection:
                took += timed(lambda: written(connection, measure))  # noqa: B023
        line("PostgreSQL", f"{made}: COPY", MEASURES * n, took)
        _analyse(study, name)
        _partition_reads(study, made, name, n)


def _analyse(study: Study, name: str) -> None:
    with study.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"VACUUM ANALYZE {name}")


def _partition_reads(study: Study, made: str, name: str, n: int) -> None:
    def read(query: str) -> float:
        with database.reading(study.engine) as connection:
            return min(timed(lambda: database.fetch(connection, query)) for _ in range(3))

    whole = f"SELECT sum(value), count(reason) FROM {name} WHERE measure_id = 3"
    line("PostgreSQL", f"{made}: sum of one measure", n, read(whole))
    keys = f"SELECT * FROM {name} WHERE measure_id = 3 ORDER BY prompt_id, system_id, image_id"
    line("PostgreSQL", f"{made}: one measure in order", n, read(keys))
    image = f"SELECT count(*) FROM {name} WHERE image_id IN (SELECT i * 97 FROM generate_series(1, 1000) i)"
    line("PostgreSQL", f"{made}: all scores of 1,000 images", 1_000 * MEASURES, read(image))
    gone = timed(lambda: _execute(study, f"DELETE FROM {name} WHERE measure_id = 4"))
    line("PostgreSQL", f"{made}: DELETE of one measure", n, gone)
    if name == "list":
        line("PostgreSQL", f"{made}: TRUNCATE of one", n, timed(lambda: _execute(study, "TRUNCATE list_5")))


def copies(where: str, source: Study, target: str, folder: Path) -> None:
    """A checked copy of a study, against writing the same rows plainly into equal tables without triggers."""
    held = [tables.prompt, tables.collection, tables.image, tables.measure, tables.score]
    with database.reading(source.engine) as connection:
        rows = {table: [row for part in rows_in_order(connection, table) for row in part] for table in held}
    n = sum(map(len, rows.values()))
    plain = plainly(rows, target, folder)
    rows.clear()
    took = timed(lambda: copy(source, folder / "copy", database=target))
    line(where, "checked copy of prompts, images, scores", n, took, plain)


def _emptied(address: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as server:
        server.execute("SET client_min_messages = warning")
        server.execute("DROP SCHEMA public CASCADE")
        server.execute("CREATE SCHEMA public")


def plainly(rows: dict[Table, list[tuple[Any, ...]]], address: str, folder: Path) -> float:
    """Seconds of COPY or executemany for these rows."""
    if address:
        import psycopg

        with psycopg.connect(address) as server:
            engine = database.connect(address)
            tables.metadata.create_all(engine)
            engine.dispose()
            took = 0.0
            for table, held in rows.items():
                server.execute(f'CREATE TABLE plain_{table.name} (LIKE "{table.name}" INCLUDING ALL)')

                def copied(table: Table = table, held: list[tuple[Any, ...]] = held) -> None:
                    with (
                        server.cursor() as cursor,
                        cursor.copy(f"COPY plain_{table.name} FROM STDIN") as copy,
                    ):
                        for row in held:
                            copy.write_row(row)

                took += timed(copied)
            took += timed(server.commit)
        _emptied(address)
        return took
    engine = create_engine(f"sqlite:///{folder / 'plain.sqlite'}")
    tables.metadata.create_all(engine)
    engine.dispose()
    connection = sqlite3.connect(folder / "plain.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")

    def executed() -> None:
        connection.execute("BEGIN")
        for table, held in rows.items():
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f'INSERT INTO "{table.name}" VALUES ({marks})', held)
        connection.execute("COMMIT")

    took = timed(executed)
    connection.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scores", type=int, default=1_000_000)
    parser.add_argument("--answers", type=int, default=200_000)
    parser.add_argument("--only", default="scores,answers,copy,indexes,partitions")
    given = parser.parse_args()
    only = given.only.split(",")
    with tempfile.TemporaryDirectory(prefix="sightline-") as root:
        Path(root).chmod(0o755)
        with servers(Path(root)) as make:
            for where in ("SQLite", "PostgreSQL"):
                if "scores" in only:
                    score_rows(where, *make(where), given.scores)
                if "answers" in only:
                    answer_rows(where, make(where)[0], given.answers)
                if "copy" in only:
                    source, address = make("PostgreSQL" if where == "SQLite" else "SQLite"), make(where)[1]
                    seed(source[0], given.scores // 4)
                    with database.writing(source[0].engine) as connection:
                        for part in parts(rows_of(1, given.scores // 4), 20_000):
                            database.insert(connection, tables.score, SCORE, part)
                    if address:
                        _emptied(address)
                    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
                        copies(f"to {where}", source[0], address, Path(folder))
                if "indexes" in only:
                    index_costs(where, make(where)[0], given.scores // 4)
            if "partitions" in only:
                partitions(make("PostgreSQL")[0], given.scores)


if __name__ == "__main__":
    main()
