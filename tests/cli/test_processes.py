"""The program as it is started: from a shell, twice at once, and stopped half-way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

Run = Callable[..., Any]
PROGRAM = (sys.executable, "-m", "sightline")


def start(*words: object, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        **more,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def test_from_a_shell(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "my study"
    code, out, err = finish(start("import", study, files / "answers.csv", "--json"))
    assert (code, json.loads(out)["number"], json.loads(out)["created"]) == (0, 1, True)
    code, out, err = finish(start("compare", study))
    assert (code, out) == (3, "")
    assert err.startswith("Error: my study: there is no truth to compare by\n  ")


def halves(folder: Path, n: int) -> list[Path]:
    """Two tables of prompts that have none in common."""
    tables = [folder / "left.csv", folder / "right.csv"]
    for table in tables:
        lines = "".join(f"{table.stem}-{k},the {table.stem} prompt number {k}\n" for k in range(n))
        table.write_text("prompt_id,prompt\n" + lines, encoding="utf-8")
    return tables


def test_two_importing_at_once(run: Run, counts: Any, study: Path, tmp_path: Path) -> None:
    tables = halves(tmp_path, 3000)
    before = counts(study)
    running = [start("import", study, table) for table in tables]
    for process in running:
        code, _, err = finish(process)
        assert code == 0, err
    assert counts(study)["prompts"] == before["prompts"] + 6000
    assert len(run("imports", study, "--json").json["rows"]) == 4


def test_two_making_one_study_at_once(counts: Any, tmp_path: Path) -> None:
    """Both may succeed one after the other, or one is told to run again; never does half of one remain."""
    study = tmp_path / "new"
    ended = [finish(p) for p in [start("import", study, table) for table in halves(tmp_path, 500)]]
    done = [code for code, _, _ in ended].count(0)
    for code, _, err in ended:
        assert code == 0 or (code == 3 and "Run the same command again." in err)
    assert done >= 1
    assert counts(study)["prompts"] == 500 * done
    assert sorted(path.name for path in tmp_path.iterdir()) == ["left.csv", "new", "right.csv"]


def test_stopping_keeps_what_was_done(plugin: Any, study: Path, tmp_path: Path) -> None:
    # 48 images in batches of 32 and 16; the second waits to be stopped.
    slow = plugin(
        "slow",
        "import pathlib, time\n"
        f"MARK = pathlib.Path({str(tmp_path / 'mark')!r})\n"
        "@measure.of_image(source='test', licence='Apache-2.0')\n"
        "def slow(images):\n"
        "    '''Takes its time.'''\n"
        "    if MARK.exists():\n"
        "        MARK.with_name('waiting').touch()\n"
        "        time.sleep(600)\n"
        "    MARK.touch()\n"
        "    return [1.0] * len(images)\n",
    )
    process = start("score", study, "slow", "--json", "--workers", 1)
    deadline = time.monotonic() + 120
    while not (tmp_path / "waiting").exists():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, out) == (130, "")
    assert err.startswith("Stopped. What was done is kept")
    slow.write_text(slow.read_text("utf-8").replace("time.sleep(600)", "pass"), encoding="utf-8")
    code, out, _ = finish(start("score", study, "slow", "--json"))
    (row,) = json.loads(out)["measures"]["rows"]
    assert (code, row["total"], row["known"], row["computed"]) == (0, 48, 32, 16)


def test_a_stopped_import_brings_in_nothing(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sightline.data.sources.Source.picture_bytes", lambda _: 0)
    monkeypatch.setattr("sightline.study.writing.loading._load_all", stopped)
    table = tmp_path / "a.csv"
    table.write_text("prompt\na dog\n")
    ended = run("import", tmp_path / "new", table)
    assert ended.code == 130
    assert ended.err.startswith("Stopped. Nothing was imported")
    assert list(tmp_path.iterdir()) == [table]


@pytest.mark.slow
def test_the_demo_in_small(tmp_path: Path) -> None:
    code, out, err = finish(
        start("demo", "--prompts", 10, "--samples", 2, "--workers", 1, cwd=tmp_path, env=_here())
    )
    assert code == 0, err
    verbs = ["generate", "import", "check", "annotate", "truth", "score", "verify", "trust", "variability"]
    verbs += ["fit", "compare"]
    assert [line.split()[0] for line in out.splitlines() if line[:1].isalpha()][2:13] == verbs
    assert (tmp_path / "sightline-demo" / "report.html").is_file()
    assert "Next: sightline view sightline-demo/study" in out
    assert "      sightline status sightline-demo/study" in out


def _here() -> dict[str, str]:
    """The environment with this checkout on the path, for a program that starts in another folder."""
    root = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


def test_the_explorer_is_there_until_it_is_stopped(files: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    assert finish(start("import", study, files / "answers.csv"))[0] == 0
    process = start("view", study, "--port", 0, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    said, _, link = process.stdout.readline().strip().rpartition(" ")
    assert said == "Explore study:" and process.stdout.readline() == "It is there until Ctrl+C.\n"
    with httpx.Client(follow_redirects=True, timeout=60) as http:
        page = http.get(link)
        assert (page.status_code, page.url.path) == (200, "/view")
        assert http.get(page.url.join("/api/view/study")).json()["name"] == "study"
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, out, err) == (0, "", "")
