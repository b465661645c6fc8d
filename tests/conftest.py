"""What tests share: published data, a real PostgreSQL, a browser, and an honest account of what was skipped.

SIGHTLINE_REQUIRE=all (set by .ci/run) turns every skip into a failure, unless its reason begins with "not
needed here: ". A test that uses a browser is run up to twice more if it fails, and the end of the run names
it. Tests marked `slow` have a quicker sibling and run in `make test-all`, where SIGHTLINE_TESTS=long also
lets property tests draw more examples.
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from PIL import Image as Pillow

from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import Loaded, load

HERE = Path(__file__).resolve().parent
MAY_SKIP = "not needed here: "
MAX_SECONDS = 900
REQUIRE_ALL = os.environ.get("SIGHTLINE_REQUIRE", "") == "all"

# A run started in the background ignores Ctrl-C, and so would the programs that its tests start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time: whether a change passes must not depend on chance.
for profile, examples in (("change", 20), ("long", 200)):
    settings.register_profile(
        profile, max_examples=examples, derandomize=True, deadline=None, database=None, print_blob=True
    )
settings.load_profile(os.environ.get("SIGHTLINE_TESTS") or "change")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            # What was skipped because there is no browser has none the second time either.
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1, rerun_except=[pytest.skip.Exception]))


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    longrepr = report.longrepr
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")


def _fail_if_required(report: Any) -> None:
    if not (REQUIRE_ALL and report.skipped) or hasattr(report, "wasxfail"):
        return
    reason = _reason(report)
    if not reason.startswith(MAY_SKIP):
        # Kept in the report, since that is all that comes back from another process.
        report.was_skipped = reason
        report.outcome = "failed"
        # Of files with the same words only one would be told, hence the name.
        report.longrepr = f"{report.nodeid}: SIGHTLINE_REQUIRE=all, but this was skipped: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that never ends, instead of the whole run."""

    def stop(*_: object) -> None:
        pytest.fail(f"{item.nodeid} still ran after {MAX_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MAX_SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# Before the plugin that runs tests again reads the report.
@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_required(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_required(report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # one of several processes: the one that started them tells of all
    failed = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    names = dict.fromkeys(report.nodeid for report in failed)
    _tell_reruns(terminalreporter, names)
    skipped = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    required = Counter(report.was_skipped for report in failed if hasattr(report, "was_skipped"))
    terminalreporter.write_sep("=", "what was skipped, and why")
    if not skipped and not required:
        terminalreporter.write_line("Nothing: every test that was asked for ran.")
    for reason, times in skipped.most_common():
        terminalreporter.write_line(f"{times:4} x {reason}")
    for reason, times in required.most_common():
        terminalreporter.write_line(f"{times:4} x FAILED, since all is required: {reason}")


def _tell_reruns(terminalreporter: Any, failed: dict[str, None]) -> None:
    reruns = terminalreporter.stats.get("rerun", [])
    if reruns:
        terminalreporter.write_sep("=", "what failed in a browser and was run again")
    for report in reruns:
        crash = getattr(report.longrepr, "reprcrash", None)
        why = str(crash.message if crash else report.longrepr).partition("\n")[0]
        then = "and failed again" if report.nodeid in failed else "then passed"
        terminalreporter.write_line(f"{report.nodeid} {then}; first: {why}")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of published data sets."""
    named = os.environ.get("SIGHTLINE_DATA")
    folder = Path(named) if named else HERE.parent.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the published data is not at {folder}; SIGHTLINE_DATA=FOLDER names another place")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium."""
    for name in (os.environ.get("SIGHTLINE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.skip("no Chromium on the PATH (Debian: apt-get install chromium); SIGHTLINE_CHROMIUM names one")


@pytest.fixture(scope="module")
def browsers(chromium: str) -> Iterator[Any]:
    """Starts Chromium, or hands out the one that runs; it ends with the file of tests.

    Playwright keeps an event loop going in this thread, which tests of other files must not find there.
    """
    from playwright.sync_api import sync_playwright

    running: list[Any] = []

    def started() -> Any:
        # One that has died is replaced, so that a test that is run again has a chance.
        if not running or not running[-1].is_connected():
            options = ["--no-sandbox", "--disable-gpu"]
            running.append(playwright.chromium.launch(executable_path=chromium, args=options))
        return running[-1]

    with sync_playwright() as playwright:
        yield started
        for browser in running:
            browser.close()


@pytest.fixture
def browser(browsers: Any) -> Any:
    """A Chromium, driven by Playwright, that the tests of one file share."""
    return browsers()


# The server is not our child (pg_ctl detaches it), so that killing the test run would leave it behind. This
# guard reads from a pipe that ends when the run ends, however it ends; then it stops the server and removes
# its files.
_GUARD = """
import os, shutil, signal, sys, time
folder, pid = sys.argv[1], int(sys.argv[2])
sys.stdin.read()
def running():
    try:
        with open(f"{folder}/server/postmaster.pid") as lines:
            return int(lines.readline()) == pid
    except FileNotFoundError:
        return False
for how in (signal.SIGINT, signal.SIGQUIT):
    if running():
        os.kill(pid, how)
    for _ in range(50):
        if not running():
            break
        time.sleep(0.1)
shutil.rmtree(folder, ignore_errors=True)
"""


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a real PostgreSQL server that lives as long as the test run."""
    try:
        with warnings.catch_warnings():
            # On import pgserver warns where no folder for its lock is set, and then takes its own.
            warnings.simplefilter("ignore")
            import pgserver
    except ImportError:
        pytest.skip("no PostgreSQL server: pgserver has no wheel for this Python or is not installed")
    import psycopg

    # Sockets have short paths, and under root the server runs as another user who must be able to get here:
    # pytest's own temporary folders meet neither.
    folder = Path(tempfile.mkdtemp(prefix="sightline-pg-"))
    folder.chmod(0o755)
    with Path(__file__).open() as own:
        # Under root the first to come makes the user that the server runs as: processes take turns.
        fcntl.flock(own, fcntl.LOCK_EX)
        server = pgserver.get_server(folder / "server", cleanup_mode="stop")
    guard = subprocess.Popen(
        [sys.executable, "-I", "-c", _GUARD, str(folder), str(server.get_pid())],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # Data that is thrown away a second later need not reach the disk.
            for setting in ("fsync", "full_page_writes", "autovacuum"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        guard.communicate()


@pytest.fixture
def postgres_url(postgres: str) -> Iterator[str]:
    """The address of a fresh, empty database, for SQLAlchemy with psycopg; dropped after the test."""
    import psycopg

    name = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            address = postgres.replace("/postgres?", f"/{name}?", 1)
            yield address.replace("postgresql://", "postgresql+psycopg://", 1)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


ENCODER = '''
from pathlib import Path
import numpy as np
from sightline.extension import encoder

NAMED = {"red": 0, "green": 1, "blue": 2}

@encoder(encodes=("text", "image"), source="me", licence="MIT")
def colours(*, log: str = ""):
    """Texts by the colours they name, images by their mean colour; `log` counts what was encoded."""
    return _Colours(log)

class _Colours:
    def __init__(self, log):
        self.log = log

    def note(self, what, n):
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{what} {n}\\n")

    def text(self, texts):
        self.note("text", len(texts))
        rows = np.zeros((len(texts), 3), dtype=np.float32)
        for row, text in zip(rows, texts):
            for word in text.split():
                if word in NAMED:
                    row[NAMED[word]] += 1
        return rows

    def image(self, images):
        self.note("image", len(images))
        rows = [image.rgb.mean(axis=(0, 1)) / 255 for image in images]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)
'''
PAINTS = {
    "rose": ((255, 0, 0), ["red", "a flower"]),
    "grape": ((255, 0, 255), ["red blue fruit"]),
    "sea": ((0, 0, 255), ["blue"]),
    "leaf": ((0, 255, 0), ["green", "green green"]),
}


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of single-file extensions."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    monkeypatch.setenv("SIGHTLINE_PLUGINS", str(folder))
    return folder


@pytest.fixture
def colours(plugins: Path) -> str:
    """The name of an encoder `colours` of texts and images, at hand as a plugin."""
    (plugins / "colours.py").write_text(ENCODER)
    return "colours"


@pytest.fixture
def painted(tmp_path: Path, colours: str) -> Iterator[Study]:
    """Pictures rose, grape, sea, leaf of the collection `paints`, prompts r, b and g for their colours."""
    records: list[Record] = [
        Prompt(PromptKey("suite", "r"), "red"),
        Prompt(PromptKey("suite", "b"), "blue"),
        Prompt(PromptKey("suite", "g"), "green"),
    ]
    for name, (colour, captions) in PAINTS.items():
        file = tmp_path / f"{name}.png"
        Pillow.new("RGB", (16, 16), colour).save(file)
        records.append(Image(ImageKey("paints", name), str(file), captions))
    with create_study(tmp_path / "painted") as made:
        load(made, records, importer="test", path="paints", digest="paints")
        yield made


@pytest.fixture
def unjudged(tmp_path: Path) -> Iterator[Study]:
    """Eight queries (kind x or y) that engines `steep` and `flat` answered with scores, and no truth at all.

    nqc of a ranking m + d, m - d is d / m: (n + 2) / 16 of steep for query n, (8 - n) / 160 of flat.
    """
    records: list[Record] = [System("steep", "retriever", "c"), System("flat", "retriever", "c")]
    for n in range(8):
        key = PromptKey("s", str(n))
        records.append(Prompt(key, f"query {n}", {"kind": "xy"[n % 2], "half": "ab"[n // 4]}))
        for system, middle, apart in (("steep", 8.0, (n + 2) / 2), ("flat", 80.0, (8 - n) / 2)):
            records += [
                Answer(key, system, place, ImageKey("c", f"{system}{place}"), middle + sign * apart)
                for place, sign in enumerate((1, -1))
            ]
    with create_study(tmp_path / "unjudged") as made:
        load(made, records, importer="test", path="runs", digest="runs")
        yield made


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


@pytest.fixture(scope="session")
def small_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a small random checkpoint by name, made once when it is first asked for."""
    from checkpoints import MADE, need_torch

    folders: dict[str, Path] = {}

    def small_checkpoint(name: str) -> Path:
        need_torch()
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            MADE[name](folders[name])
        return folders[name]

    return small_checkpoint
