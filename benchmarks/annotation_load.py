"""How many answers a second the annotation server keeps, and whether it keeps them when it is killed.

    python benchmarks/annotation_load.py [--annotators 200] [--seconds 15] [--kills 10] [--only sqlite]

The server is `sightline annotate` in a process of its own. Annotators without a pause between pages, each
with their own link and connection, answer one question per task and send an answer again until it is
acknowledged. First they run undisturbed: that gives answers a second and the time from sending to
acknowledgement. Then the server is killed with SIGKILL and started again on its port, so many times. At the
end every acknowledged answer must be in the study exactly once, with its value, and nothing twice.

"bare" is the same number of inserts of equal rows into an equal table of the same database, one durable
transaction each: over one connection, and on PostgreSQL over many at once (SQLite has one writer). The
server does more: it checks the link, hands out pages, finds the page, and finishes it. The last part lets the
annotators think for a second at each page, as the quickest people do, and tells what they would wait.

On two cores it takes two to four minutes for both databases. Without --database it runs on SQLite, and on
PostgreSQL too where pgserver is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import text

from sightline.judging.annotate import annotate
from sightline.judging.oversee import invite
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.schema import database
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

ROUND = "load"
SETTINGS = (
    '[annotate.load]\nmode = "yes_no"\nper_item = {people}\nsession_pages = 1000000\nrest_minutes = 0\n'
)
PATIENCE = 120.0
"""Seconds after which an annotator who gets no answer makes the run fail."""
INSERTERS = 64
"""Connections of the bare inserts at once; PostgreSQL allows a hundred as it comes."""


class Sent(NamedTuple):
    """An answer that was acknowledged. `serial` is sent as the time it took, by which it is found again."""

    annotator: str
    serial: int
    value: float
    began: float
    ended: float
    status: str


# -- annotators ------------------------------------------------------------


class Annotator:
    """One browser's worth of requests over one connection."""

    def __init__(self, name: str, port: int, link: str, seed: int) -> None:
        self.name, self.port, self.link = name, port, link
        self.random = random.Random(seed)
        self.cookie = ""
        self.sent: list[Sent] = []
        self.offered: dict[int, float] = {}
        self.again = 0
        self.failed: Counter[int] = Counter()
        self.refused: list[str] = []
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def work(self, stop: asyncio.Event, think: list[float]) -> None:
        """Answer tasks until stopped; an answer that was begun is completed."""
        await self.persist("GET", self.link, expected=303)
        task = await self.persist("GET", "/api/task")
        question, values = (
            task["questions"][0]["name"],
            [one["value"] for one in task["questions"][0]["labels"]],
        )
        pages: list[Any] = []
        fresh: list[Any] = []
        seen: set[str] = set()
        while not stop.is_set():
            if len(fresh) + len(pages) < 3:
                fresh += (await self.persist("GET", "/api/work"))["pages"]
            pages += [page for page in fresh if page["page"] not in seen]
            seen |= {page["page"] for page in fresh}
            if not pages:
                return
            if think[0]:
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), think[0] * (0.5 + self.random.random()))
                    return
            fresh = await self.answer(pages.pop(0), question, self.random.choice(values))
        self.hang_up()

    async def answer(self, page: Any, question: str, value: float) -> list[Any]:
        """Send one answer until it is acknowledged; the pages that came with the receipt."""
        serial = len(self.offered)
        self.offered[serial] = value
        answer = {
            "key": f"{self.name}-{serial:08d}-{self.random.getrandbits(64):016x}",
            "page": page["page"],
            "slot": page["slots"][0]["slot"],
            "question": question,
            "value": value,
            "took_ms": serial,
        }
        began = time.perf_counter()
        reply = await self.persist("POST", "/api/answers", {"answers": [answer]})
        [receipt] = reply["receipts"]
        if receipt["status"] in ("stored", "known"):
            ended = time.perf_counter()
            self.sent.append(Sent(self.name, serial, value, began, ended, receipt["status"]))
        else:
            self.refused.append(str(receipt["reason"]))
        return list(reply["pages"])

    async def persist(self, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
        """Ask until there is an answer, as the page does when the network or the server is away."""
        began, pause = time.perf_counter(), 0.05
        while True:
            try:
                status, text = await self._ask(method, path, body)
                if status == expected:
                    return json.loads(text) if text else None
                if status < 500:
                    raise AssertionError(f"{method} {path[:20]}: {status} {text[:200]!r}")
                self.failed[status] += 1
            except (OSError, EOFError):
                self.hang_up()
            if time.perf_counter() - began > PATIENCE:
                raise AssertionError(f"{method} {path[:20]}: no answer for {PATIENCE:g} s")
            self.again += 1
            await asyncio.sleep(pause * (0.5 + self.random.random()))
            pause = min(1.0, pause * 2)

    async def _ask(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        if self._stream is None:
            self._stream = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._stream
        content = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "X-Sightline: 1", f"Cookie: {self.cookie}"]
        head += ["Content-Type: application/json", f"Content-Length: {len(content)}", "", ""]
        writer.write("\r\n".join(head).encode() + content)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        text = await reader.readexactly(int(headers.get("content-length", "0")))
        for line in lines:
            if line.lower().startswith("set-cookie: "):
                self.cookie = line[12:].partition(";")[0]
        if headers.get("connection") == "close":
            self.hang_up()
        return int(lines[0].split()[1]), text

    def hang_up(self) -> None:
        """Close the connection; the next request opens another."""
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None


# -- the server ------------------------------------------------------------


class Served:
    """`sightline annotate` on a port of its own, which can be killed and started again."""

    def __init__(self, folder: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = log
        self.command = [sys.executable, "-m", "sightline", "annotate", str(folder), "--port", str(self.port)]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start, and wait until it answers; how many seconds that took."""
        began = time.perf_counter()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        while time.perf_counter() - began < PATIENCE:
            if self.process.poll() is not None:
                break
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as opened:
                opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                if opened.recv(100).startswith(b"HTTP/1.1 200"):
                    return time.perf_counter() - began
            time.sleep(0.02)
        raise AssertionError(f"the server did not start:\n{self.log.read_text()[-2000:]}")

    def busy(self) -> float:
        """Seconds that its processor was busy with it, where psutil can tell."""
        try:
            import psutil
        except ImportError:
            return 0.0
        assert self.process is not None
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)

    def end(self, how: signal.Signals) -> int:
        """Send a signal and wait for the end; the exit code."""
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(30)


async def run(served: Served, links: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """Let the annotators work: undisturbed, through kills, and at the pace of people."""
    people = [Annotator(name, served.port, link, n) for n, (name, link) in enumerate(links.items())]
    stop, think = asyncio.Event(), [0.0]
    rng = random.Random(options.seed)
    async with asyncio.TaskGroup() as group:
        for each in people:
            group.create_task(each.work(stop, think))
        # Everybody comes at once and gets their first pages; what is measured begins when all are at work.
        while not all(each.sent for each in people):
            await asyncio.sleep(0.05)
        steady, busy = time.perf_counter(), served.busy()
        await asyncio.sleep(options.seconds)
        disturbed, busy = time.perf_counter(), served.busy() - busy
        away = []
        for _ in range(options.kills):
            await asyncio.sleep(rng.uniform(1.0, 3.0))
            await asyncio.to_thread(served.end, signal.SIGKILL)
            away.append(await asyncio.to_thread(served.start))
        await asyncio.sleep(1.0)
        think[0] = options.think
        await asyncio.sleep(2 * options.think)
        paced = time.perf_counter()
        await asyncio.sleep(options.seconds / 2)
        ended = time.perf_counter()
        stop.set()
    sent = [one for each in people for one in each.sent]
    return {
        "sent": sent,
        "offered": {each.name: each.offered for each in people},
        "again": sum(each.again for each in people),
        "refused": [why for each in people for why in each.refused],
        "failed": sum((each.failed for each in people), Counter()),
        "away": away,
        "busy": busy,
        "steady": figures(sent, steady, disturbed),
        "killed": figures(sent, disturbed, paced),
        "paced": figures(sent, paced, ended),
    }


def figures(sent: list[Sent], first: float, last: float) -> dict[str, float]:
    """Answers acknowledged between two moments: how many, how many a second, and milliseconds each."""
    waits = sorted((one.ended - one.began) * 1e3 for one in sent if first <= one.ended < last)
    if not waits:
        return {"answers": 0, "a_second": 0.0, "p50_ms": 0.0, "p99_ms": 0.0, "most_ms": 0.0}
    return {
        "answers": len(waits),
        "a_second": round(len(waits) / (last - first), 1),
        "p50_ms": round(waits[len(waits) // 2], 1),
        "p99_ms": round(waits[min(len(waits) - 1, len(waits) * 99 // 100)], 1),
        "most_ms": round(waits[-1], 1),
    }


# -- what must be true afterwards ------------------------------------------


def examine(study: Study, found: dict[str, Any]) -> dict[str, int]:
    """Compare what was acknowledged with what is in the study."""
    query = (
        "SELECT a.name, j.took_ms, j.value, j.revision FROM judgement j "
        "JOIN annotator a ON a.id = j.annotator_id"
    )
    with database.reading(study.engine) as connection:
        rows = [tuple(row) for row in connection.execute(text(query))]
    times = Counter((name, serial) for name, serial, _, _ in rows)
    kept = {(name, serial): value for name, serial, value, _ in rows}
    sent: list[Sent] = found["sent"]
    return {
        "acknowledged": len(sent),
        "stored": len(rows),
        "lost": sum((one.annotator, one.serial) not in kept for one in sent),
        "changed": sum(kept.get((one.annotator, one.serial), one.value) != one.value for one in sent),
        "twice": sum(count - 1 for count in times.values()),
        "revised": sum(revision != 0 for *_, revision in rows),
        "never_sent": sum(serial not in found["offered"].get(name, {}) for name, serial in times),
        "stored_unacknowledged": len(times) - len(sent),
    }


# -- bare inserts ----------------------------------------------------------

BARE = (
    "CREATE TABLE bare (id BIGINT PRIMARY KEY, key VARCHAR(32) NOT NULL UNIQUE, question_id BIGINT, "
    "item_id BIGINT, annotator_id BIGINT, task_id BIGINT, slot SMALLINT, repetition INTEGER, "
    "revision INTEGER, value DOUBLE PRECISION, skipped TEXT, n INTEGER, session TEXT, control SMALLINT, "
    "took_ms INTEGER, at VARCHAR(40), UNIQUE (annotator_id, question_id, item_id, repetition, revision))"
)
INDEXES = ("item_id", "annotator_id", "task_id", "question_id, item_id")


def row(i: int) -> tuple[Any, ...]:
    """An answer as it ends up in the table."""
    people = i % 200
    return (
        i,
        f"{i:032x}",
        1,
        i // 200,
        people,
        i,
        0,
        0,
        0,
        1.0,
        None,
        1,
        "load-1",
        0,
        1500,
        "2026-01-01T00:00:00Z",
    )


def bare_sqlite(file: Path, n: int) -> dict[str, float]:
    """Inserts a second over one connection, each in a transaction that waits for the disk."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(BARE)
    for column in INDEXES:
        connection.execute(f"CREATE INDEX bare_{column.replace(', ', '_')} ON bare ({column})")
    insert = f"INSERT INTO bare VALUES ({', '.join('?' * 16)})"
    began = time.perf_counter()
    for i in range(n):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(insert, row(i))
        connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return {"one connection": n / took}


def bare_postgres(address: str, n: int) -> dict[str, float]:
    """The same over one connection, and over many at once."""
    import psycopg

    address = address.replace("+psycopg", "")
    insert = f"INSERT INTO bare VALUES ({', '.join(['%s'] * 16)})"

    def some(connection: psycopg.Connection[Any], numbers: range) -> None:
        for i in numbers:
            connection.execute(insert, row(i))
            connection.commit()

    def fresh() -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS bare")
            connection.execute(BARE)
            for column in INDEXES:
                connection.execute(f"CREATE INDEX ON bare ({column})")

    found = {}
    for name, many in (("one connection", 1), (f"{INSERTERS} connections", INSERTERS)):
        fresh()
        opened = [psycopg.connect(address) for _ in range(many)]
        shares = [range(k, n, many) for k in range(many)]
        threads = [threading.Thread(target=some, args=pair) for pair in zip(opened, shares, strict=True)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found[name] = n / (time.perf_counter() - began)
        for connection in opened:
            connection.close()
    return found


# -- both databases --------------------------------------------------------


def make_study(folder: Path, people: int, prompts: int, address: str) -> tuple[Study, dict[str, str]]:
    """A study with enough small images for everybody, and a link for each annotator."""
    from PIL import Image as Pillow

    pictures = folder.parent / f"{folder.name}-files"
    pictures.mkdir()
    records: list[Record] = []
    for number in range(prompts):
        key = PromptKey("suite", str(number))
        records.append(Prompt(key, f"picture of {number} things"))
        for position in range(4):
            serial = 4 * number + position
            file = pictures / f"{serial}.png"
            Pillow.new("RGB", (32, 32), (serial % 256, serial // 256 % 256, 99)).save(file)
            image = ImageKey("made", file.name)
            records += [Image(image, str(file)), Answer(key, "maker", position, image)]
    where = f'[store]\ndatabase = "{address}"\n' if address else ""
    study = create_study(folder, database_address=address, settings=SETTINGS.format(people=people) + where)
    load(study, records, importer="benchmark", path="made", digest="made")
    annotate(study, [ROUND])
    names = [f"person{n:03d}" for n in range(people)]
    return study, {name: f"/j/{invite(study, ROUND, name).token}" for name in names}


def measure(name: str, home: Path, address: str, options: argparse.Namespace) -> dict[str, Any]:
    """One database: run, examine, and the same number of bare inserts."""
    folder, began = home / name, time.perf_counter()
    study, links = make_study(folder, options.annotators, options.prompts, address)
    study.close()
    served = Served(folder, home / f"{name}.log")
    served.start()
    try:
        found = asyncio.run(run(served, links, options))
        code = served.end(signal.SIGTERM)
    finally:
        if served.process is not None and served.process.poll() is None:
            served.process.kill()
            served.process.wait()
    with open_study(folder) as again:
        held = examine(again, found)
    many = max(100, int(found["steady"]["answers"]))
    bare = bare_postgres(address, many) if address else bare_sqlite(home / f"{name}.bare", many)
    log = served.log.read_text(errors="replace")
    return {
        "database": name,
        "annotators": options.annotators,
        "kills": len(found["away"]),
        "back_after_s": round(sorted(found["away"])[len(found["away"]) // 2], 2) if found["away"] else 0.0,
        **{part: found[part] for part in ("steady", "killed", "paced")},
        "busy_ms_an_answer": round(found["busy"] * 1e3 / max(1, found["steady"]["answers"]), 2),
        "sent_again": found["again"],
        "known": sum(one.status == "known" for one in found["sent"]),
        "refused": len(found["refused"]),
        "replies_500": found["failed"][500],
        "replies_503": found["failed"][503],
        **held,
        "faults_logged": log.count("Traceback (most recent call last)"),
        "exit_code": code,
        "bare": {how: round(rate, 1) for how, rate in bare.items()},
        "ratio": {how: round(found["steady"]["a_second"] / rate, 3) for how, rate in bare.items()},
        "took_s": round(time.perf_counter() - began, 1),
    }


def show(found: dict[str, Any]) -> None:
    """The figures of one database, for people."""
    print(f"\n{found['database']}: {found['annotators']} annotators, {found['kills']} kills", flush=True)
    print(f"  {'':28}{'answers':>9}{'a second':>10}{'p50 ms':>9}{'p99 ms':>9}{'most ms':>9}")
    for part, what in (
        ("steady", "undisturbed"),
        ("killed", "while killed"),
        ("paced", "thinking at each page"),
    ):
        one = found[part]
        cells = f"{one['answers']:9,}{one['a_second']:10,.0f}{one['p50_ms']:9,.0f}{one['p99_ms']:9,.0f}"
        print(f"  {what:28}{cells}{one['most_ms']:9,.0f}")
    for how, rate in found["bare"].items():
        print(f"  {'bare, ' + how:28}{'':9}{rate:10,.0f}   the server keeps {found['ratio'][how]:.2f} of it")
    kept = (
        "acknowledged",
        "stored",
        "lost",
        "changed",
        "twice",
        "revised",
        "never_sent",
        "known",
        "sent_again",
    )
    print("  " + ", ".join(f"{what.replace('_', ' ')} {found[what]:,}" for what in kept))
    print(
        f"  {found['busy_ms_an_answer']} ms of processor an answer; "
        f"back {found['back_after_s']:.2f} s after a kill (median); {found['took_s']:.0f} s in all",
        flush=True,
    )


@contextmanager
def own_server(home: Path) -> Iterator[str]:
    """The address of a PostgreSQL as it comes, durable; empty where there is none."""
    try:
        import pgserver
    except ImportError:
        yield ""
        return
    server = pgserver.get_server(home / "server", cleanup_mode="stop")
    try:
        yield str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


def main() -> int:
    """Run on the databases asked for; 1 if an acknowledged answer is not there exactly once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=15.0, help="of the undisturbed part")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--think", type=float, default=1.0, help="seconds per task in the last part")
    parser.add_argument("--prompts", type=int, default=100, help="with four images each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--database", default="", help="an empty PostgreSQL database")
    parser.add_argument("--only", choices=("sqlite", "postgresql"), default=None)
    options = parser.parse_args()
    results = []
    # A short path under the system's own folder: sockets of PostgreSQL have short names.
    with tempfile.TemporaryDirectory(prefix="sightline-load-") as made:
        home = Path(made)
        home.chmod(0o755)
        if options.only != "postgresql":
            results.append(measure("sqlite", home, "", options))
            show(results[-1])
        if options.only != "sqlite":
            with suppress(KeyboardInterrupt), _address(options.database, home) as address:
                if address:
                    results.append(measure("postgresql", home, address, options))
                    show(results[-1])
                else:
                    print("postgresql: not measured; name one with --database", file=sys.stderr)
    print(json.dumps(results))
    wrong = ("lost", "changed", "twice", "revised", "never_sent", "refused", "replies_500", "faults_logged")
    return int(any(found[what] for found in results for what in wrong))


@contextmanager
def _address(given: str, home: Path) -> Iterator[str]:
    if given:
        yield given
    else:
        with own_server(home) as address:
            yield address


if __name__ == "__main__":
    sys.exit(main())
