"""Killed at any moment and run again: the same scores, nothing kept is computed twice, nobody left behind."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import start

from sightline.study import reading
from sightline.study.study import Study, open_study

Tables = dict[str, list[tuple[Any, ...]]]
IMAGES, BATCH = 150, 4
# Seconds, only against a test that would hang.
PATIENCE = 120.0
TALLY = """
import os
import time

from sightline.extension import NoValue, Value, measure


@measure.of_image(direction="higher", range=(0, 255), source="test", licence="Apache-2.0")
def {name}(images, *, pause: float = 0.004):
    '''Mean brightness; every picture it is given is written down at once.'''
    found = []
    held = int(os.environ.get("HELD", "0"))
    for image in images:
        handle = os.open(os.environ["TALLY"], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        # Whoever stops this run waits for so many lines of 65 characters, and finds it there however late.
        while held and os.fstat(handle).st_size >= 65 * held:
            time.sleep(0.01)
        os.write(handle, (image.sha256 + "\\n").encode())
        os.close(handle)
        time.sleep(pause)
        level = float(image.rgb.mean())
        found.append(NoValue("too dark") if level < 20 else Value(level, {{"level": round(level)}}))
    return found
"""
# The moment is `start`, or where in the n-th batch this process ends itself: `inside` the open transaction,
# `before` it begins, or `after` it has ended.
SCORE = """
import os, signal, sys
from sightline.study.running.place import Place
from sightline.study.running.run import run
from sightline.registry import find_measure
from sightline.study import scores
from sightline.study.study import open_study

home, measure, workers, batch, moment, nth = sys.argv[1:]
left = int(nth)

def ending(original, late):
    def wrapped(*told):
        global left
        results = told[-1]
        left -= bool(any(results.values()) if isinstance(results, dict) else results)
        if not left and not late:
            os.kill(os.getpid(), signal.SIGKILL)
        dropped = original(*told)
        if not left and late:
            os.kill(os.getpid(), signal.SIGKILL)
        return dropped
    return wrapped

if moment == "inside":
    scores.write_within = ending(scores.write_within, True)
elif moment in ("before", "after"):
    scores.write_several = ending(scores.write_several, moment == "after")
with open_study(home) as study:
    run(study, find_measure(measure), place=Place(int(workers)), batch=int(batch), worth=0)
"""


@dataclass
class Bench:
    """A fresh copy of the study, the log of what was computed, and how to score it in another process."""

    home: Path
    log: Path
    variables: dict[str, str]

    def start(
        self, workers: int, *, measure: str = "tally", moment: str = "start", nth: int = 0, held: int = 0
    ) -> subprocess.Popen[str]:
        """With `held`, it stands still once about so many pictures in all were begun."""
        arguments = (self.home, measure, workers, BATCH, moment, nth)
        return start(SCORE, *arguments, **self.variables, HELD=str(held))

    def finish(self, workers: int, measure: str = "tally") -> None:
        process = self.start(workers, measure=measure)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said

    def computed(self) -> Counter[str]:
        return Counter(self.log.read_text().split()) if self.log.exists() else Counter()

    def table(self, name: str) -> list[tuple[Any, ...]]:
        with open_study(self.home) as study:
            rows = reading.fetch_rows(study, f"SELECT * FROM {name} ORDER BY 1, 2, 3, 4")
        return [tuple(row) for row in rows]

    def kept(self) -> set[str]:
        """The contents that have a score."""
        query = "SELECT i.sha256 FROM score c JOIN image i ON i.id = c.image_id"
        with open_study(self.home) as study:
            return {row[0] for row in reading.fetch_rows(study, query)}


@pytest.fixture(scope="module")
def origin(
    tmp_path_factory: pytest.TempPathFactory, filled: Callable[..., Study], grey_png: Callable[..., bytes]
) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    filled(folder / "study", {f"{n:03}.png": grey_png(n + 10, n) for n in range(IMAGES)}).close()
    (folder / "plugins").mkdir()
    for name in ("tally", "tally_too"):
        (folder / "plugins" / f"{name}.py").write_text(TALLY.format(name=name))
    return folder


@pytest.fixture
def bench(origin: Path, tmp_path: Path) -> Bench:
    return bench_in(tmp_path, origin)


def bench_in(folder: Path, origin: Path) -> Bench:
    shutil.copytree(origin / "study", folder / "study")
    variables = {"SIGHTLINE_PLUGINS": str(origin / "plugins"), "TALLY": str(folder / "log")}
    return Bench(folder / "study", folder / "log", variables)


@pytest.fixture(scope="module")
def undisturbed(origin: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The scores of a run that nobody disturbed."""
    bench = bench_in(tmp_path_factory.mktemp("undisturbed"), origin)
    bench.finish(1)
    assert Counter(bench.computed().values()) == {1: IMAGES}
    found = {name: bench.table(name) for name in ("measure", "score", "evidence")}
    assert len(found["score"]) == IMAGES
    assert {row[6] for row in found["score"]} == {None, "too dark"}
    return found


def family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


def still_there(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Which of these do not end."""
    deadline = time.monotonic() + PATIENCE
    while alive := [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]:
        if time.monotonic() > deadline:
            return alive
        time.sleep(0.02)
    return []


def wait_for_lines(bench: Bench, lines: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while bench.computed().total() < lines:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_any_moment_and_run_again(bench: Bench, undisturbed: Tables, workers: int) -> None:
    moments = random.Random(workers)
    kept: set[str] = set()
    # Soon after its birth, when nothing is computed yet; then after so many more pictures were begun.
    for begun in (None, 1, moments.randrange(10, 30), moments.randrange(2 * BATCH + 1, 50)):
        before = bench.computed()
        process = bench.start(workers, held=before.total() + (begun or 1))
        if begun is None:
            time.sleep(moments.uniform(0, 0.2))
        else:
            wait_for_lines(bench, before.total() + begun, process)
        children = family(process.pid)
        process.kill()
        process.communicate()
        assert begun is None or process.returncode == -signal.SIGKILL
        # The first batch is computed, and timed, before workers are started.
        if workers > 1 and begun is not None and begun > 2 * BATCH:
            assert len(children) >= workers
        assert not still_there(children)
        now = bench.kept()
        assert kept <= now
        # What was kept is never computed again, and of the rest no more than was under way is lost:
        # a batch with every worker, and with several one more that waited for the disk.
        again = bench.computed() - before
        assert not kept & set(again)
        assert len(set(bench.computed()) - now) <= BATCH * (workers + (workers > 1))
        kept = now
    assert 0 < len(kept) < IMAGES
    at_kill = bench.computed()
    bench.finish(workers)
    assert {name: bench.table(name) for name in undisturbed} == undisturbed
    after = bench.computed()
    assert all(after[sha] == at_kill[sha] for sha in kept)

    # Another measure later, and the same one once more: the first is not computed again.
    if workers == 1:
        bench.finish(workers, "tally_too")
        assert bench.computed().total() == after.total() + IMAGES
        bench.finish(workers)
        assert bench.computed().total() == after.total() + IMAGES


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_around_a_commit(bench: Bench, undisturbed: Tables, workers: int) -> None:
    kept = 0
    for moment, nth, gained in (("inside", 3, 2), ("before", 2, 1), ("after", 2, 2)):
        process = bench.start(workers, moment=moment, nth=nth)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL
        # All or nothing: whole batches, those committed before the kill.
        kept += gained * BATCH
        assert len(bench.kept()) == kept
        assert len(bench.table("evidence")) == sum(row[5] is not None for row in bench.table("score"))
    before, held = bench.computed(), bench.kept()
    bench.finish(workers)
    assert {name: bench.table(name) for name in undisturbed} == undisturbed
    assert not held & set(bench.computed() - before)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_ends_cleanly_and_keeps_what_was_done(bench: Bench, workers: int) -> None:
    process = bench.start(workers, held=30)
    wait_for_lines(bench, 30, process)
    children = family(process.pid)
    # A terminal sends it to the whole group, workers included.
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode not in (0, None)
    assert said.count("Traceback") == 1 and said.rstrip().endswith("KeyboardInterrupt")
    assert not still_there(children)
    kept = bench.kept()
    assert 30 - BATCH * (workers + 1) <= len(kept) < IMAGES
    before = bench.computed()
    bench.finish(workers)
    assert not kept & set(bench.computed() - before)
    assert len(bench.kept()) == IMAGES
