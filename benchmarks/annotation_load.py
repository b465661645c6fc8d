"""How many answers a second the annotation server keeps, and whether it keeps them when things break.

    python benchmarks/annotation_load.py [--annotators 200] [--kills 10] [--stalls 3] [--only sqlite]

The server is `sightline annotate` in a process of its own, or in several (--servers, PostgreSQL only).
Annotators without a pause between pages, each with their own link and connection, answer one question per
task and send an answer again until it is acknowledged. First they run undisturbed: that gives answers a
second, the time from sending to acknowledgement, and CPU time per answer. Then a server is killed with
SIGKILL and started again on its port, so many times; on PostgreSQL its connections also go silent, so many
times, as when a router forgets them. At the end every acknowledged answer must be in the study exactly once,
with its value, nothing twice, and no item may have been judged more often than wanted (--per-item).

The peer is a bare Starlette route that inserts one equal row in a durable transaction, under the same server
program, load and database: what any Python web server pays for an answer. Sightline also checks the link,
finds the task, finishes it, and chooses, stores and sends the next one. The last part lets the annotators
think for a second at each page, as the quickest people do, and tells what they would wait.

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
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import text

from sightline.judging.annotate import annotate
from sightline.judging.oversee import invite
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.schema import database
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "shared"))
from failing_link import Link, failing_link

ROUND = "load"
SETTINGS = (
    '[annotate.load]\nmode = "yes_no"\nper_item = {per_item}\nsession_pages = 1000000\nrest_minutes = 0\n'
)
PATIENCE = 120.0
"""Seconds after which an annotator who gets no answer makes the run fail."""


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
                if status < 500 and status != 429:
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
    """A server on a port of its own, which can be killed and started again."""

    def __init__(self, log: Path, *command: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = log
        self.command = [sys.executable, *command, "--port", str(self.port)]
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


async def run(
    servers: list[Served],
    links: dict[str, str],
    line: Link | None,
    detour: Callable[[Link], object],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Let the annotators work: undisturbed, through kills and silence, and at the pace of people.

    `detour` makes servers that start from then on reach their database through a link that can fail.
    """
    people = [
        Annotator(name, servers[n % len(servers)].port, link, n)
        for n, (name, link) in enumerate(links.items())
    ]
    stop, think = asyncio.Event(), [0.0]
    rng = random.Random(options.seed)
    async with asyncio.TaskGroup() as group:
        for each in people:
            group.create_task(each.work(stop, think))
        # Everybody comes at once and gets their first pages; what is measured begins when all are at work.
        while not all(each.sent for each in people):
            await asyncio.sleep(0.05)
        steady, busy = time.perf_counter(), sum(each.busy() for each in servers)
        await asyncio.sleep(options.seconds)
        disturbed, busy = time.perf_counter(), sum(each.busy() for each in servers) - busy
        away: list[float] = []

        async def kill(served: Served) -> None:
            await asyncio.to_thread(served.end, signal.SIGKILL)
            away.append(await asyncio.to_thread(served.start))

        stalls = options.stalls if line is not None else 0
        if line is not None:
            # Only now does the way to the database lead through what can fail: it costs time of its own.
            detour(line)
            for served in servers:
                await kill(served)
        left = max(0, options.kills - len(away))
        for happens in rng.sample(["kill"] * left + ["stall"] * stalls, left + stalls):
            await asyncio.sleep(rng.uniform(1.0, 3.0))
            if line is not None and happens == "stall":
                line.stall()
            else:
                await kill(rng.choice(servers))
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
        "stalls": stalls,
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
    over = (
        "SELECT count(*) FROM round_item i WHERE i.kind = 'work' AND i.wanted < (SELECT count(*) FROM task t "
        "WHERE t.round_item_id = i.id AND t.state IN ('open', 'done'))"
    )
    with database.reading(study.engine) as connection:
        rows = [tuple(row) for row in connection.execute(text(query))]
        beyond = int(connection.execute(text(over)).scalar_one())
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
        "beyond_target": beyond,
    }


# -- the peer --------------------------------------------------------------

TABLE = (
    "CREATE TABLE bare (key VARCHAR(64) PRIMARY KEY, annotator TEXT, page TEXT, slot INTEGER, question TEXT, "
    "value DOUBLE PRECISION, took_ms INTEGER)"
)


def measure_peer(name: str, home: Path, address: str, options: argparse.Namespace) -> dict[str, float]:
    """Rows a second, and milliseconds of CPU per row."""
    target = address or str(home / f"{name}.bare")
    if address:
        import psycopg

        with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(f"DROP TABLE IF EXISTS bare; {TABLE}")
    else:
        with sqlite3.connect(target) as file:
            file.execute(TABLE)
    served = Served(home / f"{name}-peer.log", str(Path(__file__).parent / "bare_route.py"), target)
    served.start()

    async def run() -> tuple[int, float, float]:
        people = [Annotator(f"peer{n:03d}", served.port, "", n) for n in range(options.annotators)]
        stop = asyncio.Event()

        async def post(one: Annotator) -> None:
            while not stop.is_set():
                await one.answer({"page": "x" * 32, "slots": [{"slot": 0}]}, "match", 1.0)
            one.hang_up()

        async with asyncio.TaskGroup() as group:
            for each in people:
                group.create_task(post(each))
            await asyncio.sleep(1.0)
            count, busy, began = sum(len(one.sent) for one in people), served.busy(), time.perf_counter()
            await asyncio.sleep(options.seconds / 2)
            count = sum(len(one.sent) for one in people) - count
            busy, took = served.busy() - busy, time.perf_counter() - began
            stop.set()
        return count, busy, took

    try:
        count, busy, took = asyncio.run(run())
    finally:
        served.end(signal.SIGKILL)
    return {"a_second": round(count / took, 1), "busy_ms": round(busy * 1e3 / max(1, count), 2)}


# -- both databases --------------------------------------------------------


def make_study(
    folder: Path, people: int, prompts: int, address: str, per_item: int = 0
) -> tuple[Study, dict[str, str]]:
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
    settings = SETTINGS.format(per_item=per_item or people) + where
    study = create_study(folder, database_address=address, settings=settings)
    load(study, records, importer="benchmark", path="made", digest="made")
    annotate(study, [ROUND])
    names = [f"person{n:03d}" for n in range(people)]
    return study, {name: f"/j/{invite(study, ROUND, name).token}" for name in names}


def measure(name: str, home: Path, address: str, options: argparse.Namespace) -> dict[str, Any]:
    """One database: run, examine, and the peer."""
    folder, began = home / name, time.perf_counter()
    study, links = make_study(folder, options.annotators, options.prompts, address, options.per_item)
    study.close()
    servers = [
        Served(home / f"{name}-{n}.log", "-m", "sightline", "annotate", str(folder))
        for n in range(options.servers if address else 1)
    ]
    settings = folder / "study.toml"
    written = settings.read_text("utf-8")

    def detour(line: Link) -> None:
        settings.write_text(written.replace(address, line.address), "utf-8")

    try:
        with failing_link(address) if address and options.stalls else nullcontext() as line:
            for each in servers:
                each.start()
            found = asyncio.run(run(servers, links, line, detour, options))
            codes = [each.end(signal.SIGTERM) for each in servers]
    finally:
        for each in servers:
            if each.process is not None and each.process.poll() is None:
                each.process.kill()
                each.process.wait()
    settings.write_text(written, "utf-8")
    with open_study(folder) as again:
        held = examine(again, found)
    peer = measure_peer(name, home, address, options)
    busy = round(found["busy"] * 1e3 / max(1, found["steady"]["answers"]), 2)
    log = "".join(each.log.read_text(errors="replace") for each in servers)
    return {
        "database": name,
        "annotators": options.annotators,
        "servers": len(servers),
        "stalls": found["stalls"],
        "kills": len(found["away"]),
        "back_after_s": round(sorted(found["away"])[len(found["away"]) // 2], 2) if found["away"] else 0.0,
        **{part: found[part] for part in ("steady", "killed", "paced")},
        "busy_ms_an_answer": busy,
        "sent_again": found["again"],
        "known": sum(one.status == "known" for one in found["sent"]),
        "refused": len(found["refused"]),
        "replies_500": found["failed"][500],
        "replies_503": found["failed"][503],
        **held,
        "faults_logged": log.count("Traceback (most recent call last)"),
        "exit_code": max(codes),
        "peer": peer,
        "busy_ratio": round(busy / max(0.01, peer["busy_ms"]), 2),
        "took_s": round(time.perf_counter() - began, 1),
    }


def show(found: dict[str, Any]) -> None:
    """The figures of one database, for people."""
    print(
        f"\n{found['database']}: {found['annotators']} annotators, {found['servers']} servers, "
        f"{found['kills']} kills, {found['stalls']} times silence",
        flush=True,
    )
    print(f"  {'':28}{'answers':>9}{'a second':>10}{'p50 ms':>9}{'p99 ms':>9}{'most ms':>9}")
    for part, what in (
        ("steady", "undisturbed"),
        ("killed", "while killed"),
        ("paced", "thinking at each page"),
    ):
        one = found[part]
        cells = f"{one['answers']:9,}{one['a_second']:10,.0f}{one['p50_ms']:9,.0f}{one['p99_ms']:9,.0f}"
        print(f"  {what:28}{cells}{one['most_ms']:9,.0f}")
    print(f"  {'peer':28}{'':9}{found['peer']['a_second']:10,.0f}")
    kept = (
        "acknowledged",
        "stored",
        "lost",
        "changed",
        "twice",
        "revised",
        "never_sent",
        "beyond_target",
        "known",
        "sent_again",
    )
    print("  " + ", ".join(f"{what.replace('_', ' ')} {found[what]:,}" for what in kept))
    print(
        f"  {found['busy_ms_an_answer']} ms of CPU per answer, {found['busy_ratio']} times the peer's; "
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
    parser.add_argument("--stalls", type=int, default=3, help="times that connections go silent (PostgreSQL)")
    parser.add_argument("--servers", type=int, default=1, help="processes at once (PostgreSQL)")
    parser.add_argument("--per-item", type=int, default=0, help="judgements per item; by default everybody's")
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
    wrong += ("beyond_target",)
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
