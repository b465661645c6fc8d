"""Processes with limits: what comes back, and that whatever happens in one is an error about one file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import tasks

from sightline import bounded
from sightline.bounded import MEGABYTE, Crew, Unfinished
from sightline.errors import DataError


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew(100 * MEGABYTE, most=2)
    yield made
    made.close()


def test_data_goes_there_and_comes_back(crew: Crew) -> None:
    for data in (b"", b"abc", bytes(range(256)) * 100_000):
        assert crew.run(tasks.doubled, data, 1, "two", seconds=5) == ([1, "two"], data + data)


def test_a_refusal_is_the_same_error_here(crew: Crew) -> None:
    with pytest.raises(DataError, match="it is odd") as caught:
        crew.run(tasks.refuse, b"a.png", seconds=5)
    assert (caught.value.where, caught.value.remedy) == ("a.png", "Make it even.")
    with pytest.raises(RuntimeError, match="KeyError: 'a mistake of ours'"):
        crew.run(tasks.fail, seconds=5)


def test_memory_is_limited(crew: Crew) -> None:
    assert crew.run(tasks.fill_memory, b"", 10 * MEGABYTE, seconds=5)[0] == 10 * MEGABYTE
    with pytest.raises(DataError, match="more than 100 MB of memory") as caught:
        crew.run(tasks.fill_memory, b"", 150 * MEGABYTE, seconds=5, where="bomb.png")
    assert caught.value.where == "bomb.png"
    # What goes into shared memory is limited as well.
    with pytest.raises(DataError):
        crew.run(tasks.fill_shared_memory, bytes(MEGABYTE), 150 * MEGABYTE, seconds=5)
    assert crew.run(tasks.doubled, b"a", seconds=5)[1] == b"aa"


def test_processor_time_is_limited(crew: Crew) -> None:
    with pytest.raises(Unfinished, match=r"more than 0\.2 s of processor time") as caught:
        crew.run(tasks.spin, seconds=0.2, where="slow.png")
    assert caught.value.where == "slow.png"
    assert crew.run(tasks.doubled, b"a", seconds=5)[1] == b"aa"


def test_the_clock_is_limited_too(crew: Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "WAIT_SECONDS", 0.5)
    with pytest.raises(Unfinished, match=r"more than 0\.5 s\n"):
        crew.run(tasks.wait_for, b"", str(tmp_path / "started"), str(tmp_path / "never"), seconds=60)


def test_a_process_that_dies_is_an_error_about_one_file(crew: Crew) -> None:
    with pytest.raises(Unfinished, match="ended unexpectedly"):
        crew.run(tasks.die, seconds=5)
    assert crew.run(tasks.doubled, b"a", seconds=5)[1] == b"aa"


def test_the_same_work_asked_for_twice_is_done_once(
    crew: Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_waits = threading.Event()

    class Watched(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            second_waits.set()
            return super().result(timeout)

    monkeypatch.setattr(bounded, "Future", Watched)
    started, go = tmp_path / "started", tmp_path / "go"
    found: list[Any] = []

    def ask() -> None:
        found.append(crew.run(tasks.wait_for, b"picture", str(started), str(go), seconds=60))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    while not started.exists():
        time.sleep(0.005)
    threads[1].start()
    assert second_waits.wait(60)
    go.touch()
    for thread in threads:
        thread.join()
    assert found == [(None, b"picture")] * 2
    assert started.read_bytes() == b"x"
    # Afterwards it is done again: nothing is held.
    assert crew.run(tasks.wait_for, b"picture", str(started), str(go), seconds=60) == (None, b"picture")
    assert started.read_bytes() == b"xx"


def test_a_copy_of_this_process_starts_its_own(crew: Crew) -> None:
    crew.run(tasks.doubled, b"a", seconds=5)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(theirs, crew.run(tasks.doubled, b"child", seconds=5)[1])
        finally:
            crew.close()
            os._exit(0)
    assert crew.run(tasks.doubled, b"b", seconds=5)[1] == b"bb"
    assert os.read(ours, 100) == b"childchild"
    os.waitpid(child, 0)
    os.close(ours)
    os.close(theirs)
