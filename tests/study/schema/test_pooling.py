"""Many threads, lost connections and a pooler between: an answer or a clear error, and never half of one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sightline.errors import StudyError
from sightline.records import Prompt, PromptKey
from sightline.study import reading
from sightline.study.schema import database, tables
from sightline.study.schema.pooling import Pool
from sightline.study.study import Study, create_study, open_study

Put = Callable[..., Any]


@pytest.fixture
def address(shared_database: str) -> str:
    """An empty database of PostgreSQL."""
    import psycopg

    with psycopg.connect(shared_database, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return shared_database


@pytest.fixture
def shared(address: str, tmp_path: Path) -> Study:
    """A study in PostgreSQL whose settings ask for two connections and one more."""
    create_study(tmp_path / "s", database_address=address).close()
    with (tmp_path / "s" / "study.toml").open("a") as file:
        file.write("pool_size = 2\npool_overflow = 1\npool_wait_seconds = 20\nprepared = false\n")
    return open_study(tmp_path / "s")


def kill_others(study: Study) -> int:
    """End every other connection to the study's database, as an administrator does."""
    ended = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'sightline'"
    )
    with database.connect(study.engine.url.render_as_string(hide_password=False)).connect() as connection:
        return int(database.fetch(connection, ended)[0][0])


def test_settings_say_how_many_connections(shared: Study) -> None:
    assert shared.engine.pool.size() == 2  # type: ignore[attr-defined]
    with shared, database.reading(shared.engine) as connection:
        assert connection.connection.driver_connection.prepare_threshold is None  # type: ignore[union-attr]
        assert database.fetch(connection, "SHOW application_name") == [("sightline",)]
    with open_study(shared.engine.url.render_as_string(hide_password=False)) as same:
        assert same.engine.pool.size() == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("given", [{"pool_size": 0}, {"pool_size": True}, {"prepared": "no"}])
def test_a_wrong_setting_is_named(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(StudyError, match=f"{name} of \\[store\\]") as caught:
        Pool.given(given, "study.toml")
    assert caught.value.where == "study.toml"


def test_more_threads_than_connections(shared: Study) -> None:
    def work(number: int) -> int:
        with database.writing(shared.engine) as connection:
            database.insert_one(connection, tables.collection, {"name": f"c{number}"})
        return reading.counts(shared)["prompt"]

    with shared, ThreadPoolExecutor(12) as threads:
        assert list(threads.map(work, range(60))) == [0] * 60
        with database.reading(shared.engine) as connection:
            assert database.fetch(connection, "SELECT count(*) FROM collection") == [(60,)]


def test_who_gets_no_connection_is_told_so(shared: Study) -> None:
    shared.close()
    engine = database.connect(
        shared.engine.url.render_as_string(hide_password=False), Pool(1, 0, pool_wait_seconds=1)
    )
    with (
        database.reading(engine),
        pytest.raises(StudyError, match="in use") as caught,
        database.reading(engine),
    ):
        pass
    assert "pool_size" in caught.value.remedy
    engine.dispose()


def test_idle_connections_that_were_ended_are_replaced(shared: Study, put: Put) -> None:
    with shared:
        put(shared, [Prompt(PromptKey("s", "1"), "one")])
        assert kill_others(shared) >= 1
        assert reading.counts(shared)["prompt"] == 1


def test_a_transaction_that_was_ended_is_an_error_and_leaves_nothing(shared: Study) -> None:
    with shared:
        lost = pytest.raises(StudyError, match="the connection to the database was lost")
        with lost as caught, database.writing(shared.engine) as connection:
            database.insert_one(connection, tables.collection, {"name": "c"})
            kill_others(shared)
            database.insert_one(connection, tables.collection, {"name": "d"})
        assert "Run it again" in caught.value.remedy
        with database.reading(shared.engine) as connection:
            assert database.fetch(connection, "SELECT count(*) FROM collection") == [(0,)]


def test_what_was_confirmed_is_there_after_connections_were_ended(shared: Study) -> None:
    kept: list[str] = []
    stop = threading.Event()

    def work(thread: int) -> None:
        for number in range(1_000):
            if stop.is_set():
                return
            name = f"{thread}-{number}"
            try:
                with database.writing(shared.engine) as connection:
                    database.insert_one(connection, tables.collection, {"name": name})
            except StudyError as error:
                assert error.remedy
            else:
                kept.append(name)

    with shared, ThreadPoolExecutor(4) as threads:
        running = [threads.submit(work, thread) for thread in range(4)]
        for round_ in range(1, 6):
            while len(kept) < 20 * round_:
                assert not any(each.done() for each in running)
            kill_others(shared)
        stop.set()
        for each in running:
            each.result()
        with database.reading(shared.engine) as connection:
            held = {name for (name,) in database.fetch(connection, "SELECT name FROM collection")}
    assert set(kept) <= held
    # One that was being committed when its connection ended may be there without a confirmation.
    assert len(held) <= len(kept) + 5 * 4


def test_nothing_of_a_transaction_stays_on_its_connection(shared: Study) -> None:
    """What PgBouncer in transaction mode asks for: the next transaction may be on any connection."""
    rows = [("x", str(n), "t", n) for n in range(2 * database.MANY)]
    with shared:
        with database.writing(shared.engine) as connection:
            database.look_up(connection, tables.prompt, ["suite", "ref"], [("x", "1")], ["id"])
            numbers = [(n, *row) for n, row in enumerate(rows, 1)]
            columns = ["id", "suite", "ref", "text", "text_sha"]
            database.upsert(connection, tables.prompt, columns, numbers, replace=True)
            assert database.fetch(connection, "SELECT count(*) FROM pg_temp.incoming") == [(len(rows),)]
        with shared.engine.connect() as connection:
            left = "SELECT count(*) FROM pg_class WHERE pg_my_temp_schema() = relnamespace"
            locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            prepared = "SELECT count(*) FROM pg_prepared_statements"
            changed = (
                "SELECT count(*) FROM pg_settings WHERE setting <> reset_val AND (name LIKE '%timeout' "
                "OR name IN ('synchronous_commit', 'default_transaction_isolation'))"
            )
            for query in (left, locks, prepared, changed):
                assert database.fetch(connection, query) == [(0,)], query
        assert reading.counts(shared)["prompt"] == len(rows)
