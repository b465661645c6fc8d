"""Connections: SQLite and PostgreSQL through the same engine, one writer at a time, versions checked."""

from __future__ import annotations

import itertools
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import (
    JSON,
    URL,
    Connection,
    Engine,
    String,
    Table,
    create_engine,
    event,
    inspect,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from sightline.errors import DataError, MissingPackage, StudyError, UsageError
from sightline.study.schema import explaining, guards, patience, tables
from sightline.study.schema.migrations import Step, steps
from sightline.study.schema.pooling import USUAL, Pool

Values = Mapping[str, Any] | Sequence[Any] | None
WAIT_SECONDS = 30
FEW = 20
"""Rows up to which PostgreSQL takes plain inserts sooner than a COPY."""
MANY = 500
"""Rows from which PostgreSQL takes a COPY to a temporary table sooner than arrays."""
_STREAMS = itertools.count()
WRITER_LOCK = 7_361_164_112
"""PostgreSQL advisory lock that stands for SQLite's single writer."""


def connect_file(file: Path) -> Engine:
    """An engine for a SQLite file, whatever characters its path holds; read-only where it must be."""
    url = URL.create("sqlite", database=str(file))
    if file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        # Reading in WAL mode needs the files beside it, or the promise that nobody writes.
        how = "mode=ro" if Path(f"{file}-wal").exists() else "immutable=1"
        url = URL.create("sqlite", database=f"{file.resolve().as_uri()}?{how}", query={"uri": "true"})
    engine = create_engine(url, connect_args={"timeout": WAIT_SECONDS})
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def connect(address: str, pool: Pool = USUAL) -> Engine:
    """An engine for `postgresql://...`, with the settings a study relies on.

    A password need not be part of the address: PGPASSWORD or ~/.pgpass give it, as always with PostgreSQL.
    Nothing rests on a connection beyond a transaction, so that PgBouncer in transaction mode may be between:
    the writer's lock, settings and temporary tables all end with it.
    """
    if not address.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        raise UsageError(
            f"{without_password(address)!r} is not an address of a study's database",
            remedy="Give a folder, or postgresql://user@host/database.",
        )
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingPackage("PostgreSQL needs psycopg", remedy="pip install 'sightline[postgres]'") from None
    engine = create_engine(
        _url(address),
        pool_pre_ping=True,
        pool_size=pool.pool_size,
        max_overflow=pool.pool_overflow,
        pool_timeout=pool.pool_wait_seconds,
        pool_recycle=pool.pool_recycle_seconds,
        connect_args={} if pool.prepared else {"prepare_threshold": None},
    )
    patience.watch(engine)
    return engine


def _url(address: str) -> URL:
    try:
        return make_url("postgresql+psycopg://" + address.partition("://")[2])
    except (ArgumentError, ValueError):
        raise UsageError(
            "this is not an address of a PostgreSQL database",
            remedy="It looks like postgresql://user@host:5432/database.",
        ) from None


def without_password(address: str) -> str:
    """The address as it may be written down."""
    if not address.startswith(("postgresql", "postgres")) or "://" not in address:
        return address
    url = _url(address)
    query = {name: value for name, value in url.query.items() if name not in ("password", "sslpassword")}
    bare = URL.create(
        url.drivername, url.username, host=url.host, port=url.port, database=url.database, query=query
    )
    return "postgresql://" + bare.render_as_string(hide_password=False).partition("://")[2]


def place(engine: Engine) -> str:
    """Where a study's database is, as a user would say it."""
    if engine.dialect.name != "sqlite":
        return without_password(engine.url.render_as_string(hide_password=True))
    return unquote(str(engine.url.database).removeprefix("file://").partition("?")[0])


def _set_up_sqlite(connection: Any, _: Any) -> None:
    # The driver's own transaction control would begin late; `_begin_sqlite` begins where we say.
    connection.isolation_level = None
    cursor = connection.cursor()
    # A read-only disk cannot switch modes; reading works without, writing is refused with a reason.
    with suppress(sqlite3.OperationalError):
        cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA cache_size=-24576")
    cursor.execute("PRAGMA temp_store=MEMORY")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads and then writes is refused at once, whatever the timeout.
    options = connection.get_execution_options()
    if options.get("writes", False):
        waits = "FULL" if options.get("durable", True) else "NORMAL"
        connection.exec_driver_sql(f"PRAGMA synchronous={waits}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql("BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A consistent view of the study."""
    with explained(engine), engine.connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            _begin_postgresql(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield connection


@contextmanager
def writing(engine: Engine, *, durable: bool = True) -> Iterator[Connection]:
    """The one writer: all or nothing; another process waits, then gets an error.

    What can be computed again need not be durable: it outlives this process at once, but a power cut may
    undo the last transactions, whole ones only. It saves waiting for the disk at every batch.
    """
    options = {"writes": True, "durable": durable}
    with explained(engine), engine.connect().execution_options(**options) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            off = [] if durable else ["SET LOCAL synchronous_commit = off"]
            locks = [
                f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'",
                f"SELECT pg_advisory_xact_lock({WRITER_LOCK})",
            ]
            _begin_postgresql(connection, *off, *locks)
        yield connection


def _begin_postgresql(connection: Connection, *settings: str) -> None:
    """Send a transaction's settings at once; on a server also what ends one that nobody hears of any more."""
    seconds = patience.of(connection.get_execution_options())
    limits = []
    if seconds is not None:
        limits = [
            f"SET LOCAL statement_timeout = '{seconds * 1000:.0f}ms'",
            f"SET LOCAL idle_in_transaction_session_timeout = '{patience.IDLE_SECONDS}s'",
        ]
    _run(connection, "; ".join((*settings[:1], *limits, *settings[1:])), None).close()


@contextmanager
def explained(engine: Engine) -> Iterator[None]:
    """Turns what a database says into what a user can do."""
    try:
        yield
    except NoFreeConnection:
        raise StudyError(
            "all connections of this process to the database have been in use for too long",
            where=place(engine),
            remedy="Try again; or raise pool_size in [store] of study.toml.",
        ) from None
    except Exception as error:
        # Bulk loads call the driver itself, so its errors come both wrapped by SQLAlchemy and bare.
        raw = error.orig if isinstance(error, DBAPIError) else error
        explanation = explaining.explanation(raw, place(engine), WAIT_SECONDS)
        if explanation is None:
            raise
        raise explanation from None


SCHEMA = "schema"
"""The setting that holds the version of the tables; 0.1 called it `version`."""
COPYING = "copy"
"""The setting that a study has while another one is being copied into it: how far that is."""


def create(engine: Engine, copying: str = "") -> None:
    """Make the tables of a new study; one that is `copying` another is no study until that is done."""
    with writing(engine) as connection:
        if version(connection) is not None:
            raise StudyError(
                "there is a study already", where=place(engine), remedy="Use it, or another place."
            )
        tables.metadata.create_all(connection)
        for statement in guards.triggers(engine.dialect.name):
            connection.exec_driver_sql(statement)
        rows = [(SCHEMA, str(tables.VERSION)), *([(COPYING, copying)] if copying else [])]
        insert(connection, tables.setting, ["name", "value"], rows)


def prepare(
    engine: Engine, known_steps: Mapping[int, Step] | None = None, newest: int = tables.VERSION
) -> None:
    """Bring an older study up to date; refuse a newer one, and a database that holds none."""
    with reading(engine) as connection:
        found = version(connection)
        if found is not None and copying(connection):
            raise StudyError(
                "this is half a copy: copying a study here was broken off",
                where=place(engine),
                remedy="Run the same sightline copy again: it resumes.",
            )
    if found == newest:
        return
    if found is None:
        raise emptied(engine)
    if found > newest:
        raise StudyError(
            f"this study was written by a newer Sightline (tables version {found}, this one knows {newest})",
            where=place(engine),
            remedy="Upgrade: pip install --upgrade sightline. The study was not touched.",
        )
    with writing(engine) as connection:
        found = version(connection) or newest  # another process may have been quicker
        todo = steps() if known_steps is None else known_steps
        _drop_triggers(connection)
        for number in range(found + 1, newest + 1):
            todo[number](connection)
        for statement in guards.triggers(engine.dialect.name):
            connection.exec_driver_sql(statement)
        changed = tables.setting.update().where(tables.setting.c.name == SCHEMA)
        connection.execute(changed.values(value=str(newest)))


def _drop_triggers(connection: Connection) -> None:
    """Drop every trigger of the study: a migration could not change the tables that they speak of."""
    sqlite = connection.dialect.name == "sqlite"
    held = (
        "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'"
        if sqlite
        else "SELECT DISTINCT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE NOT t.tgisinternal AND n.nspname = current_schema()"
    )
    for name, table in connection.exec_driver_sql(held).all():
        connection.exec_driver_sql(f"DROP TRIGGER {name}" + ("" if sqlite else f" ON {table}"))


def emptied(engine: Engine) -> StudyError:
    """That a study's database holds nothing: it was lost, and must not be taken for a new study."""
    return StudyError(
        "the study's database is empty or has lost its tables",
        where=place(engine),
        remedy="Restore it from a backup or a copy; the image files are still there. To start over, make "
        "another study: sightline init",
    )


def version(connection: Connection) -> int | None:
    """The version of the tables, or None where there are none; a study made by 0.1 is refused."""
    found = inspect(connection)
    if not found.has_table("setting"):
        return None
    rows = connection.execute(select(tables.setting.c.name, tables.setting.c.value))
    values: dict[str, str] = {name: value for name, value in rows}
    if SCHEMA not in values and "version" in values:
        raise StudyError(
            "this study was made by Sightline 0.1, whose tables 0.2 does not read",
            where=place(connection.engine),
            remedy="With 0.1: sightline export STUDY FOLDER. With 0.2: sightline import NEW-STUDY FOLDER. "
            "The study was not touched.",
        )
    kept = connection.dialect.name != "sqlite" or found.has_table("sqlite_sequence")
    if SCHEMA in values and not kept:
        raise StudyError(
            "this study was made by a version between 0.1 and 0.2, whose tables 0.2 does not read",
            where=place(connection.engine),
            remedy="With that one: sightline export STUDY FOLDER. Then: sightline import NEW-STUDY FOLDER.",
        )
    if SCHEMA in values and not values[SCHEMA].isdecimal():
        raise StudyError(
            f"the study's database is damaged (its version is {values[SCHEMA]!r})",
            where=place(connection.engine),
            remedy="Restore it from a copy.",
        )
    return int(values[SCHEMA]) if SCHEMA in values else None


def copying(connection: Connection) -> str:
    """How far the copy of another study into this one is; "" where none is under way."""
    query = select(tables.setting.c.value).where(tables.setting.c.name == COPYING)
    return str(connection.execute(query).scalar() or "")


def insert(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Many rows at once through the driver: executemany on SQLite, COPY on PostgreSQL."""
    if not rows:
        return
    names = ", ".join(f'"{column}"' for column in columns)
    if connection.dialect.name == "postgresql" and len(rows) > FEW:
        _copy_in(connection, f'"{table.name}" ({names})', rows)
        return
    marks = ", ".join("?" * len(columns))
    execute_many(connection, f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})', rows)


def execute_many(connection: Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Execute a statement, with ? for values, for each row through the driver."""
    if connection.dialect.name == "postgresql":
        statement = statement.replace("?", "%s")
    cursor = connection.connection.cursor()
    if len(rows) == 1:
        cursor.execute(statement, rows[0])
    else:
        cursor.executemany(statement, rows)
    cursor.close()


def _copy_in(connection: Connection, into: str, rows: Sequence[Sequence[Any]]) -> None:
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def upsert(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    replace: bool,
) -> None:
    """Many rows, where the primary key may be there already: replaced or left alone."""
    if not rows:
        return
    names = ", ".join(f'"{column}"' for column in columns)
    keys = ", ".join(f'"{column.name}"' for column in table.primary_key)
    others = [column for column in columns if column not in table.primary_key.columns]
    does = (
        "UPDATE SET " + ", ".join(f'"{c}" = excluded."{c}"' for c in others)
        if replace and others
        else "NOTHING"
    )
    conflict = f"ON CONFLICT ({keys}) DO {does}"
    if connection.dialect.name == "postgresql":
        # One statement for all rows, since triggers check each as a whole; it may write a row only once.
        at = [columns.index(column.name) for column in table.primary_key]
        rows = list({tuple(row[n] for n in at): row for row in rows}.values())
        given, values = _as_one_table(connection, table, columns, rows)
        statement = f'INSERT INTO "{table.name}" ({names}) SELECT * FROM {given} {conflict}'
        connection.exec_driver_sql(statement, values)
        return
    marks = ", ".join("?" * len(columns))
    execute_many(connection, f'INSERT INTO "{table.name}" ({names}) VALUES ({marks}) {conflict}', rows)


def _as_one_table(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> tuple[str, tuple[Any, ...]]:
    """Rows as what PostgreSQL can select from, and the values that go with it: arrays, or copied if many."""
    if len(rows) < MANY:
        kinds = [table.columns[column].type.compile(dialect=connection.dialect) for column in columns]
        cells = ", ".join(f"CAST(%s AS {kind}[])" for kind in kinds)
        return f"unnest({cells})", tuple([*column] for column in zip(*rows, strict=True))
    names = ", ".join(f'"{column}"' for column in columns)
    drop_temporary(connection, "incoming")
    connection.exec_driver_sql(
        f'CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS SELECT {names} FROM "{table.name}" WITH NO DATA'
    )
    _copy_in(connection, f"pg_temp.incoming ({names})", rows)
    return "pg_temp.incoming", ()


def look_up(
    connection: Connection,
    table: Table,
    by: Sequence[str],
    keys: Sequence[Sequence[Any]],
    columns: Sequence[str],
) -> list[tuple[Any, ...]]:
    """The rows of a table that have these keys in the columns `by`: those, then `columns`; JSON as text."""
    matching(connection, [(n, "TEXT" if isinstance(table.c[n].type, String) else "BIGINT") for n in by], keys)
    cells = [f't."{name}"' for name in (*by, *columns)]
    for at, name in enumerate(columns, len(by)):
        if isinstance(table.c[name].type, JSON):
            cells[at] = f"CAST({cells[at]} AS TEXT)"
    same = " AND ".join(f't."{name}" = w."{name}"' for name in by)
    found = f"wanted w {joined(connection, table, 't', by)} ON {same}"
    return fetch(connection, f"SELECT {', '.join(cells)} FROM {found}")


def joined(connection: Connection, table: Table, alias: str, by: Sequence[str]) -> str:
    """JOIN with a table in which rows are looked up by these columns, through the index that has them all.

    SQLite knows no numbers of rows. Where a primary key begins with one of the columns it takes that one,
    and goes through all rows that share it: of scores, all of a measure. PostgreSQL knows better.
    """
    if connection.dialect.name != "sqlite":
        return f'JOIN "{table.name}" {alias}'
    fits = [each.name for each in table.indexes if [column.name for column in each.columns] == [*by]]
    # What stands on the left of CROSS JOIN is gone through first.
    return f'CROSS JOIN "{table.name}" {alias}' + (f" INDEXED BY {fits[0]}" if fits else "")


def matching(
    connection: Connection, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]
) -> None:
    """Load rows into the temporary table `wanted`, so that one join finds them all.

    A key list can be of any length; neither database takes it as parameters. Columns are (name, type).
    """
    declared = ", ".join(f'"{name}" {kind}' for name, kind in columns)
    drop_temporary(connection, "wanted")
    # A pool between here and PostgreSQL may give the next transaction to another connection.
    ends = " ON COMMIT DROP" if connection.dialect.name == "postgresql" else ""
    connection.exec_driver_sql(f"CREATE TEMPORARY TABLE wanted ({declared}){ends}")
    names = ", ".join(f'"{name}"' for name, _ in columns)
    if connection.dialect.name == "postgresql":
        _copy_in(connection, f"wanted ({names})", rows)
        connection.exec_driver_sql("ANALYZE wanted")
    else:
        execute_many(connection, f"INSERT INTO wanted VALUES ({', '.join('?' * len(columns))})", rows)


def drop_temporary(connection: Connection, name: str) -> None:
    """Drop a temporary table; named in full, since somebody's own table may be called the same."""
    home = "pg_temp" if connection.dialect.name == "postgresql" else "temp"
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {home}.{name}")


def fetch(connection: Connection, query: str, values: Values = None) -> list[tuple[Any, ...]]:
    """All rows of a query as plain tuples, through the driver, which is many times faster than SQLAlchemy.

    `:name` stands for a value of a mapping; where the value is a list, for all of it in brackets. ? stands
    for the next of a sequence of values.
    """
    cursor = _run(connection, query, values)
    found = cursor.fetchall()
    cursor.close()
    return list(found)


def stream(
    connection: Connection, query: str, values: Sequence[Any] = (), size: int = 10_000
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query in parts, of which one is in memory; PostgreSQL keeps the others. ? is a value."""
    if connection.dialect.name == "postgresql":
        driver: Any = connection.connection.driver_connection
        cursor = driver.cursor(name=f"stream_{next(_STREAMS)}")
        cursor.execute(query.replace("?", "%s"), values)
    else:
        cursor = connection.connection.cursor()
        cursor.execute(query, values)
    try:
        while part := cursor.fetchmany(size):
            yield part
    finally:
        cursor.close()


def execute(connection: Connection, statement: str, values: Mapping[str, Any]) -> None:
    """Execute a statement, with :name for values, through the driver."""
    _run(connection, statement, values).close()


def _run(connection: Connection, statement: str, values: Values) -> Any:
    cursor = connection.connection.cursor()
    if values is None:
        cursor.execute(statement)
        return cursor
    postgresql = connection.dialect.name == "postgresql"
    if not isinstance(values, Mapping):
        cursor.execute(statement.replace("?", "%s") if postgresql else statement, values)
        return cursor
    lists = tuple((name, len(value)) for name, value in values.items() if type(value) is list)
    if lists:
        single = {f"{name}_{n}": each for name, _ in lists for n, each in enumerate(values[name])}
        values = {**values, **single}
    cursor.execute(_as_driver_has_it(statement, lists, postgresql), values)
    return cursor


@lru_cache(maxsize=1024)
def _as_driver_has_it(statement: str, lists: Sequence[tuple[str, int]], postgresql: bool) -> str:
    for name, length in lists:
        each = ", ".join(f":{name}_{n}" for n in range(length))
        statement = re.sub(rf":{name}\b", f"({each or 'NULL'})", statement)
    return re.sub(r"(?<![:\w]):(\w+)", r"%(\1)s", statement.replace("%", "%%")) if postgresql else statement


def among(connection: Connection, column: str) -> str:
    """The condition that a column is one of the keys of an `id_list`, which takes the place of its ?."""
    if connection.dialect.name == "postgresql":
        return f"{column} = ANY(?)"
    return f"{column} IN (SELECT value FROM json_each(?))"


def id_list(connection: Connection, ids: Sequence[int]) -> Any:
    """Keys as the one parameter that `among` takes."""
    return list(ids) if connection.dialect.name == "postgresql" else json.dumps(list(ids))


def as_json(value: Any, at: str = "") -> str | None:
    """JSON as it goes into a JSON column through the driver; `at` is the place an error names."""
    if value is None:
        return None
    try:
        encoded = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False, default=_plain)
        encoded.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise DataError(f"this cannot be kept as JSON: {error}", where=at) from None
    return encoded


def _plain(value: Any) -> Any:
    # numpy's numbers and arrays, without importing numpy.
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def fresh_ids(connection: Connection, table: Table, n: int) -> Sequence[int]:
    """n keys that no row of a table has or ever had.

    PostgreSQL hands them out itself, since an annotation server may be inserting meanwhile; on SQLite
    nobody else can be, and the largest key there ever was is kept next to the table.
    """
    if n == 0:
        return []
    if connection.dialect.name == "postgresql":
        sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
        drawn = fetch(connection, f"SELECT nextval({sequence}) FROM generate_series(1, {n})")
        return [row[0] for row in drawn]
    largest = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
    ((taken,),) = fetch(connection, largest, [table.name])
    return range(int(taken) + 1, int(taken) + 1 + n)


def add(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Sequence[int]:
    """Insert rows under fresh keys; gives the keys, in order."""
    ids = fresh_ids(connection, table, len(rows))
    insert(connection, table, ["id", *columns], [(key, *row) for key, row in zip(ids, rows, strict=True)])
    return ids


def insert_one(connection: Connection, table: Table, values: Mapping[str, Any]) -> int:
    """Insert a row in one statement; gives the key that the database gave it."""
    names, marks = ", ".join(f'"{name}"' for name in values), ", ".join(f":{name}" for name in values)
    statement = f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'
    if connection.dialect.name == "postgresql":
        return int(fetch(connection, statement + " RETURNING id", values)[0][0])
    cursor = _run(connection, statement, values)
    cursor.close()
    return int(cursor.lastrowid)


def add_one(connection: Connection, table: Table, **values: Any) -> int:
    """Insert one row under a fresh key; gives the key."""
    (key,) = add(connection, table, list(values), [tuple(values.values())])
    return int(key)
