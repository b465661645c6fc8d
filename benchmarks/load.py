"""How long a million answers take to load, compared with bare inserts of the same rows.

    python benchmarks/load.py [--answers 1000000] [--database postgresql://...] [--folder FOLDER]

Every answer has an image of its own (known by name), every hundredth a new prompt. "bare" inserts the same
answer rows, with ready-made keys, into an equal table without foreign keys: executemany on SQLite, COPY on
PostgreSQL. Loading also finds or makes every prompt, image and system and checks each row against the study.
Without --database it runs on SQLite, and on PostgreSQL too where pgserver is installed.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sightline.records import Answer, ImageKey, Prompt, PromptKey, Record
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load, undo

A_PROMPT = 100
BATCH = 20_000
COLUMNS = "system_id, prompt_id, position, image_id, score, seed, settings_id, failure, source_id"
TABLE = (
    "CREATE TABLE bare (system_id BIGINT, prompt_id BIGINT, position INTEGER, image_id BIGINT, "
    "score DOUBLE PRECISION, seed BIGINT, settings_id BIGINT, failure TEXT, source_id BIGINT, "
    "PRIMARY KEY (system_id, prompt_id, position))"
)
INDEXES = ("prompt_id", "image_id")


def records(n: int) -> Iterator[Record]:
    """n answers of four systems to n / 100 prompts."""
    for i in range(n):
        key = PromptKey("p", str(i // A_PROMPT))
        if i % A_PROMPT == 0:
            yield Prompt(key, f"prompt {i // A_PROMPT}", at=f"prompts.csv:{i // A_PROMPT + 2}")
        image = ImageKey("c", f"img{i}.png")
        yield Answer(key, f"sys{i % 4}", (i % A_PROMPT) // 4, image, 0.5, i, at=f"answers.csv:{i + 2}")


def batches(n: int) -> Iterator[list[tuple[Any, ...]]]:
    """The same answers as they end up in the table, made outside the time that is taken."""
    for first in range(0, n, BATCH):
        yield [
            (i % 4 + 1, i // A_PROMPT + 1, (i % A_PROMPT) // 4, i + 1, 0.5, i, None, None, 1)
            for i in range(first, min(n, first + BATCH))
        ]


def bare_sqlite(folder: Path, n: int) -> float:
    """Seconds of executemany."""
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"{TABLE} WITHOUT ROWID")
    for column in INDEXES:
        connection.execute(f"CREATE INDEX bare_{column} ON bare ({column})")
    insert = f"INSERT INTO bare ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    connection.execute("BEGIN")
    took = 0.0
    for made in batches(n):
        start = time.perf_counter()
        connection.executemany(insert, made)
        took += time.perf_counter() - start
    start = time.perf_counter()
    connection.execute("COMMIT")
    took += time.perf_counter() - start
    connection.close()
    return took


def bare_postgres(address: str, n: int) -> float:
    """Seconds of COPY."""
    import psycopg

    with psycopg.connect(address.replace("+psycopg", "")) as connection:
        connection.execute(TABLE)
        for column in INDEXES:
            connection.execute(f"CREATE INDEX ON bare ({column})")
        took = 0.0
        for made in batches(n):
            start = time.perf_counter()
            with connection.cursor() as cursor, cursor.copy(f"COPY bare ({COLUMNS}) FROM STDIN") as copy:
                for row in made:
                    copy.write_row(row)
            took += time.perf_counter() - start
        start = time.perf_counter()
        connection.commit()
        took += time.perf_counter() - start
        connection.execute("DROP TABLE bare")
    return took


def measure(name: str, study: Study, n: int, bare: float) -> None:
    """Load, load again and undo, with a line for each."""
    for what, digest in (("load", "a"), ("load the same rows again", "b")):
        start, busy = time.perf_counter(), time.process_time()
        load(study, records(n), importer="benchmark", path="answers.csv", digest=digest)
        took, busy = time.perf_counter() - start, time.process_time() - busy
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:10} {what:26} {took:7.1f} s ({busy:5.1f} s of this process) "
            f"{n / took:9,.0f} answers/s   peak {peak:5.0f} MB   "
            f"{took / bare:4.1f} x the bare driver ({bare:.1f} s)",
            flush=True,
        )
    assert reading.counts(study)["answer"] == n
    start = time.perf_counter()
    undo(study, 2)
    undo(study, 1)
    print(f"{name:10} {'undo':26} {time.perf_counter() - start:7.1f} s", flush=True)
    assert reading.counts(study)["answer"] == reading.counts(study)["prompt"] == 0


def main() -> None:
    """Run on the databases asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--database", default="", help="an empty PostgreSQL database")
    parser.add_argument(
        "--folder", type=Path, default=None, help="where to work; by default a temporary folder"
    )
    parser.add_argument("--only", choices=("sqlite", "postgresql"), default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        home = Path(made)
        home.chmod(0o755)
        if options.only != "postgresql" and not options.database:
            bare = bare_sqlite(home, options.answers)
            with create_study(home / "sqlite") as study:
                measure("sqlite", study, options.answers, bare)
        if options.only == "sqlite":
            return
        address = options.database or _own_server(home)
        if not address:
            print(
                "postgresql: not measured; name one with --database, or pip install pgserver", file=sys.stderr
            )
            return
        bare = bare_postgres(address, options.answers)
        with create_study(home / "postgresql", database_address=address) as study:
            measure("postgresql", study, options.answers, bare)


def _own_server(home: Path) -> str:
    try:
        import pgserver
    except ImportError:
        return ""
    return str(pgserver.get_server(home / "server", cleanup_mode="stop").get_uri())


if __name__ == "__main__":
    main()
