"""What a bare checkout promises: exact pins, a complete wheel, a quick start, and honest skips."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import psutil
import pytest
from processes import script

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def canonical(requirement: str) -> str:
    """The name in a requirement, spelled as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement).group()).lower()  # type: ignore[union-attr]


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    found = [re.match(r"([\w.-]+)==([\w.+!]+)", line) for line in lines]
    return {canonical(match[1]): match[2] for match in found if match}


@pytest.mark.parametrize("name", ["base.txt", "test.txt"])
def test_every_requirement_is_an_exact_pin_with_hashes(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\w)", re.sub(r"^ *#.*\n?", "", text, flags=re.MULTILINE))
    entries = [entry for entry in entries if entry.strip()]
    assert len(entries) > 20
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.+!]+( ; [^\\]+)? \\\n", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry
        assert "://" not in entry


def test_the_test_pins_contain_the_base_pins() -> None:
    base, test = pins("base.txt"), pins("test.txt")
    assert base.items() <= test.items()


def test_every_dependency_is_pinned() -> None:
    assert {canonical(one) for one in PROJECT["dependencies"]} <= pins("base.txt").keys()
    assert {canonical(one) for one in PROJECT["optional-dependencies"]["test"]} <= pins("test.txt").keys()


FLOORS = {"jinja2": (3, 1, 6), "h11": (0, 16), "starlette": (1, 10), "pillow": (13, 0)}
"""What meets strangers' bytes: older versions have known advisories."""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def test_versions_with_known_advisories_are_excluded() -> None:
    asked = {canonical(one): one.partition(">=")[2].partition(",")[0] for one in PROJECT["dependencies"]}
    for name, floor in FLOORS.items():
        assert numbers(asked[name]) >= floor
        for file in ("base.txt", "test.txt", "extras.txt"):
            assert numbers(pins(file)[name]) >= floor


def test_the_program_and_the_project_agree_on_the_version() -> None:
    import sightline

    assert sightline.__version__ == PROJECT["version"]


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    copy.mkdir()
    shutil.copytree(ROOT / "sightline", copy / "sightline", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy)
    for suffix in ("html", "css", "js", "toml", "json", "npz", "svg"):
        (copy / "sightline" / f"planted.{suffix}").write_text("x", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=copy, check=True)
    [wheel] = (copy / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("sightline/")}
        [metadata] = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        assert "sightline = sightline.cli:main" in archive.read(metadata).decode()
    assert shipped == {
        str(path.relative_to(copy)) for path in (copy / "sightline").rglob("*") if path.is_file()
    }


def startup() -> ModuleType:
    return script("benchmarks/startup.py")


def test_help_starts_quickly() -> None:
    # The least of a few runs: what the program needs when nothing else is running, which is what we promise.
    bench = startup()
    bare, started = bench.interleaved(7, bench.BARE, bench.program())
    assert min(started) <= bench.MOST * min(bare), f"{min(started):.3f} s against {min(bare):.3f} s"


@pytest.mark.parametrize(("help_seconds", "ratio", "within"), [(0.11, 11.0, True), (0.13, 13.0, False)])
def test_the_startup_benchmark_tells_slow_from_quick(
    monkeypatch: pytest.MonkeyPatch, help_seconds: float, ratio: float, within: bool
) -> None:
    bench = startup()
    monkeypatch.setattr(bench, "seconds", lambda command: 0.01 if command == bench.BARE else help_seconds)
    result = bench.measure(3, ["sightline", "--help"])
    assert (result["ratio"], result["within"]) == (ratio, within)


def fake_python(folder: Path, name: str, version: str, succeeds: bool) -> None:
    script = (
        f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}" && exit 0\nexit {0 if succeeds else 1}\n'
    )
    (folder / name).write_text(script, encoding="utf-8")
    (folder / name).chmod(0o755)


def find_python(path: Path) -> subprocess.CompletedProcess[str]:
    """Runs the search for an interpreter where nothing but that folder and the shell can be found."""
    for tool in ("head", "sh"):
        (path / tool).symlink_to(str(shutil.which(tool)))
    environment = {"PATH": str(path)}
    script = str(ROOT / "tools" / "find_python.sh")
    return subprocess.run(["sh", script], env=environment, capture_output=True, text=True, check=False)


def test_an_old_python_is_named(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3", "3.9.2", succeeds=False)
    done = find_python(tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert "needs Python 3.11 or newer; found: python3 (Python 3.9.2)" in done.stderr


def test_a_missing_python_is_told(tmp_path: Path) -> None:
    done = find_python(tmp_path)
    assert done.returncode == 1 and "none at all" in done.stderr


def test_a_python_without_venv_is_told(tmp_path: Path) -> None:
    (tmp_path / "python3.11").write_text(
        '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; *print*) echo 3.11;; esac\n', encoding="utf-8"
    )
    (tmp_path / "python3.11").chmod(0o755)
    done = find_python(tmp_path)
    assert done.returncode == 1 and "apt-get install python3.11-venv" in done.stderr


def test_a_usable_python_is_found(tmp_path: Path) -> None:
    fake_python(tmp_path, "python3", "3.9.2", succeeds=False)
    fake_python(tmp_path, "python3.12", "3.12.1", succeeds=True)
    done = find_python(tmp_path)
    assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / "python3.12")


SKIPPING = """
import pytest
{at_top}
def test_with_browser(chromium): pass
def test_extra(): pytest.skip("not needed here: torch is not installed")
@pytest.mark.xfail(reason="known", strict=True)
def test_known(): assert False
"""


def run_tests(folder: Path, source: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs tests in a folder of their own with our conftest."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_it.py").write_text(source, encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if name != "SIGHTLINE_REQUIRE"}
    # Loading every plugin that is installed would take most of the time.
    inherited["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ["-p", "xdist", "-p", "pytest_rerunfailures", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--rootdir", str(folder), *words, str(folder)],
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


either_way = pytest.mark.parametrize("processes", ["0", pytest.param("2", marks=pytest.mark.slow)])


@either_way
def test_skips_are_told_at_the_end(tmp_path: Path, processes: str) -> None:
    done = run_tests(tmp_path, SKIPPING.format(at_top=""), "-n", processes, PATH="")
    assert done.returncode == 0, done.stdout
    told = done.stdout.split("what was skipped, and why")[1]
    assert "1 x no Chromium on the PATH" in told
    assert "1 x not needed here: torch is not installed" in told


@either_way
def test_skips_fail_where_all_is_required(tmp_path: Path, processes: str) -> None:
    done = run_tests(tmp_path, SKIPPING.format(at_top=""), "-n", processes, PATH="", SIGHTLINE_REQUIRE="all")
    assert done.returncode == 1
    assert "this was skipped: no Chromium on the PATH" in done.stdout
    assert (
        "1 x FAILED, since all is required: no Chromium" in done.stdout.split("what was skipped, and why")[1]
    )
    # A browser that is not there is not asked for twice.
    assert re.search(r"\b1 skipped, 1 xfailed, 1 error in", done.stdout), done.stdout


@either_way
def test_a_skipped_file_fails_where_all_is_required(tmp_path: Path, processes: str) -> None:
    source = SKIPPING.format(at_top="pytest.importorskip('no_such_package')")
    (tmp_path / "test_other.py").write_text(source, encoding="utf-8")
    assert run_tests(tmp_path, source, "-n", processes).returncode == 5
    done = run_tests(tmp_path, source, "-n", processes, SIGHTLINE_REQUIRE="all")
    assert done.returncode not in (0, 5)
    told = done.stdout.split("what was skipped, and why")[1]
    assert re.search("2 x FAILED, since all is required: could not import 'no_such_package'", told), told


FLAKY = """
import os, pytest
@pytest.fixture
def chromium(): return "anything"
@pytest.fixture
def browser(chromium): return chromium
def fails(name, times):
    with open(name, "a") as seen: seen.write("x")
    assert os.path.getsize(name) > times, f"{name} failed"
def test_once(browser): fails("once", 1)
def test_always(browser): fails("always", 9)
def test_without_a_browser(): fails("without", 1)
"""


@either_way
def test_only_what_uses_a_browser_is_run_again_and_named(tmp_path: Path, processes: str) -> None:
    done = run_tests(tmp_path, FLAKY, "-n", processes)
    assert done.returncode == 1
    assert {name: (tmp_path / name).stat().st_size for name in ("once", "always", "without")} == {
        "once": 2,
        "always": 3,
        "without": 1,
    }
    assert re.search(r"2 failed, 1 passed, 3 rerun in", done.stdout), done.stdout
    told = done.stdout.split("what failed in a browser and was run again")[1]
    assert "test_it.py::test_once then passed; first: AssertionError: once failed" in told
    assert "test_it.py::test_always and failed again; first: AssertionError: always failed" in told


def test_a_browser_that_died_is_replaced(tmp_path: Path, chromium: str) -> None:
    source = """
seen = []
def test_it(browser):
    seen.append(browser)
    if len(seen) == 1:
        browser.close()
    assert browser.new_page().evaluate("1 + 1") == 2
"""
    done = run_tests(tmp_path, source, SIGHTLINE_CHROMIUM=chromium)
    assert done.returncode == 0 and "test_it.py::test_it then passed" in done.stdout, done.stdout


@pytest.mark.parametrize("nth", [1, 2])
def test_each_test_has_its_own_empty_database(postgres_url: str, nth: int) -> None:
    """Two in a row: what the first leaves, an open connection too, the second does not see."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(postgres_url)
    assert sqlalchemy.inspect(engine).get_table_names() == []
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE seen (n integer)"))
        # Left open on purpose: dropping the database must not wait for it.
        engine.connect()


KILLED = """
import os, signal, psutil
def test_killed(postgres, postgres_url):
    folder = postgres.split("host=")[1]
    pid = open(f"{folder}/postmaster.pid").readline().strip()
    print("SERVER", pid, folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_leaves_no_server_behind(tmp_path: Path, postgres: str) -> None:
    done = run_tests(tmp_path, KILLED, PYTEST_ADDOPTS="-s")
    assert done.returncode == -9
    pid, folder = re.search(r"SERVER (\d+) (\S+)", done.stdout).groups()  # type: ignore[union-attr]

    def alive() -> bool:
        # A dead process whose new parent has not asked after it yet is still listed.
        return psutil.pid_exists(int(pid)) and psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE

    deadline = time.monotonic() + 120
    while (alive() or Path(folder).parent.exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive() and not Path(folder).parent.exists()
