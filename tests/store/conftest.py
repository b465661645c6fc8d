"""Studies for the store's tests: every one of them runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sightline.records import Record
from sightline.store import database, tables
from sightline.store.loading import Loaded, load
from sightline.store.study import Study, create_study

Dump = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def shared_database(postgres: str) -> Iterator[str]:
    """One PostgreSQL database for all tests here: emptying it is ten times faster than making another."""
    import psycopg

    name = f"store_{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield postgres.replace("/postgres?", f"/{name}?", 1)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> str:
    """Where a new study keeps its database: "" stands for a file in its own folder."""
    if request.param == "sqlite":
        return ""
    import psycopg

    shared = str(request.getfixturevalue("shared_database"))
    with psycopg.connect(shared, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return shared


@pytest.fixture
def study(address: str, tmp_path: Path) -> Iterator[Study]:
    """A new, empty study."""
    with create_study(tmp_path / "s", database_address=address) as made:
        yield made


@pytest.fixture
def put() -> Callable[..., Loaded]:
    """Loads records under a digest, by default three a batch, so that small tests cross batches."""

    def put(study: Study, records: Iterable[Record], digest: str = "d", **more: Any) -> Loaded:
        options: dict[str, Any] = {"importer": "test", "path": f"{digest}.csv", "batch": 3, **more}
        return load(study, records, digest=digest, **options)

    return put


@pytest.fixture
def dump() -> Callable[[Study], Dump]:
    """All rows of all tables, sorted; but for the last import's number, which stays taken after an undo."""

    def dump(study: Study) -> Dump:
        with database.reading(study.engine) as connection:
            found = {
                table.name: sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
                for table in tables.metadata.sorted_tables
            }
        found["setting"] = [row for row in found["setting"] if row[0] != "last_import"]
        return found

    return dump


@pytest.fixture(scope="session")
def png() -> Callable[..., bytes]:
    """The bytes of a small picture of one colour."""

    def png(colour: str = "red", size: tuple[int, int] = (8, 6), form: str = "PNG") -> bytes:
        from PIL import Image as Pillow

        out = io.BytesIO()
        Pillow.new("RGB", size, colour).save(out, form)
        return out.getvalue()

    return png
