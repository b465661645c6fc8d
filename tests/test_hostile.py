"""The hostile corpus: every file is refused or harmless, with little memory and little time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile import IMAGES, TABLES, make_images, make_odd, make_tables
from processes import ROOT, environment

MOST_MEMORY = 10**9
MOST_SECONDS = 5.0
"""Of processor time for one file, in all processes."""
REFUSED_OR_HARMLESS = {0, 2, 3}

PROGRAM = """
import contextlib, io, json, os, resource, sys
from pathlib import Path
import psutil
import hostile, tasks

resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[3]),) * 2)
from sightline.cli import main
from sightline.errors import DataError
from sightline.judging import blind, redrawn

what, folder = sys.argv[1], Path(sys.argv[2])
paths = [Path(path) for path in sys.argv[4:]]
os.chdir(folder)
me = psutil.Process()

def busy():
    times = [me.cpu_times(), *(each.cpu_times() for each in me.children(recursive=True))]
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)

def run(name, *words):
    before, out, err = busy(), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    command = "dry run" if words[-1] == "--dry-run" else words[0]
    done.append((name, command, code, busy() - before, err.getvalue()[-500:]))

def show(path):
    before, code = busy(), 0
    for ask in (blind, redrawn):
        try:
            ask(path.read_bytes(), str(path))
        except DataError:
            code = 3
    done.append((path.parts[-3], "show", code, busy() - before, ""))

done = []
if what == "images":
    for path in paths:
        name = path.parts[-3]
        own = ["--option", f"suite={name}", "--option", f"collection={name}"]
        run(name, "import", folder / "study", path.parent.parent, *own, "--dry-run")
        run(name, "import", folder / "study", path.parent.parent, *own)
        run(name, "import", folder / "kept", path.parent.parent, "--keep-broken", *own)
        run(name, "score", "sharpness", path)
        show(path)
    run("all", "score", folder / "kept", "brightness", "--workers", "1")
    run("all", "check", folder / "kept")
elif what == "tables":
    for path in paths:
        form = hostile.READ_AS.get(path.suffix)
        run(path.name, "import", folder / "study", path, *(["--format", form] if form else []))
else:
    for path in paths:
        run(path.name, "import", folder / "study", path)
found = {"done": done, "peak": tasks.peak_memory(), "left": os.listdir(folder)}
print(json.dumps(found), file=sys.__stdout__)
"""


def run_corpus(what: str, folder: Path) -> list[list[Any]]:
    """What happened to each file: name, command, exit code, seconds of processor time, message."""
    (folder / what).mkdir()
    make = {"images": make_images, "tables": make_tables, "odd": make_odd}[what]
    paths = [str(path) for path in make(folder / what)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, what, str(folder), str(MOST_MEMORY), *paths],
        env=environment(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", POLARS_MAX_THREADS="1"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["peak"] < MOST_MEMORY
    assert "hostile_was_here" not in found["left"]
    # A check that finds faults, as it should, ends with 1.
    wrong = [each for each in found["done"] if each[2] not in REFUSED_OR_HARMLESS and each[1] != "check"]
    assert wrong == []
    slow = [each for each in found["done"] if each[0] != "all" and each[3] > MOST_SECONDS]
    assert slow == []
    happened: list[list[Any]] = found["done"]
    return happened


def test_there_are_enough_files() -> None:
    assert len(IMAGES) + len(TABLES) >= 60


def test_hostile_tables_are_refused_or_harmless(tmp_path: Path) -> None:
    happened = run_corpus("tables", tmp_path)
    assert {name for name, *_ in happened} == set(TABLES)
    taken = {name for name, _, code, *_ in happened if code == 0}
    assert taken <= {"every line its own.jsonl", "exponent.jsonl", "unknown columns.csv"}


def test_what_is_no_file_is_refused_or_left_out(tmp_path: Path) -> None:
    happened = run_corpus("odd", tmp_path)
    assert {name for name, _, code, *_ in happened if code == 0} == set()


@pytest.mark.slow
def test_hostile_images_are_refused_or_harmless(tmp_path: Path) -> None:
    happened = run_corpus("images", tmp_path)
    assert {name for name, *_ in happened} == {*IMAGES, "all"}
    # A picture that can be decoded is harmless; what is no picture of a named format never is one.
    shown = {name for name, what, code, *_ in happened if what == "show" and code == 0}
    assert shown.isdisjoint({"eps", "svg", "pdf", "html", "zip", "ppm", "ico", "psd", "empty", "noise"})
    assert os.path.isdir(tmp_path / "kept")
    ends: dict[str, list[Any]] = {}
    for name, command, code, _, error in happened:
        if command in ("dry run", "import"):
            ends.setdefault(name, []).append((code, error))
    assert [name for name, (tried, done, _) in ends.items() if tried != done] == []
