"""What tests share: published data, a real PostgreSQL, a browser, and an honest account of what was skipped.

SIGHTLINE_REQUIRE=all (set by .ci/run) turns every skip into a failure, unless its reason begins with
"not needed here: ". A test that uses a browser is run once more if it fails, and the end of the run names it.
Tests marked `slow` have a quicker sibling and run in `make test-all`, where SIGHTLINE_TESTS=long also lets
property tests draw more examples.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

HERE = Path(__file__).resolve().parent
MAY_SKIP = "not needed here: "
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
            item.add_marker(pytest.mark.flaky(reruns=1, rerun_except=[pytest.skip.Exception]))


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
