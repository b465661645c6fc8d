"""Local worker processes: each loads the work once and computes batches until there are no more."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from sightline.errors import SightlineError
from sightline.study.running.work import Answer, Lost, Work

LOOK_SECONDS = 0.25
"""How often a worker looks whether its parent is still there."""
LEAVE_SECONDS = 2.0
"""How long an idle worker may take to end by itself."""
LOADED = "loaded"
"""What a worker says first: from here on it is the batch that ends it."""


class Processes:
    """A crew of processes on this machine."""

    depth = 1
    spread = False

    def __init__(self, work: Work[Any, Any], size: int) -> None:
        self.size = size
        self._work = work
        self._crew: dict[int, _Worker] = {}

    def give(self, worker: int, ticket: int, batch: Sequence[Any]) -> None:
        if worker not in self._crew:
            self._crew[worker] = _hire(self._work)
        hired = self._crew[worker]
        hired.ticket = ticket
        # Should it have died, `answers` meets the end of its line and says so.
        with suppress(OSError):
            hired.line.send(batch)

    def answers(self, seconds: float | None) -> list[tuple[int, int, Answer]]:
        busy = {each.line: number for number, each in self._crew.items() if each.ticket is not None}
        found: list[tuple[int, int, Answer]] = []
        for line in wait(list(busy), seconds):
            number = busy[line]  # type: ignore[index]
            worker = self._crew[number]
            answer = worker.take()
            if answer is None:
                continue
            assert worker.ticket is not None
            found.append((number, worker.ticket, answer))
            worker.ticket = None
            if isinstance(answer, Lost):
                self._crew.pop(number).dismiss()
        return found

    def close(self) -> None:
        for worker in self._crew.values():
            worker.dismiss()
        for worker in self._crew.values():
            worker.process.join()


@dataclass
class _Worker:
    """A process, our end of the line to it, and the ticket of what it is computing."""

    process: BaseProcess
    line: Connection
    ticket: int | None = None
    loaded: bool = field(default=False)

    def take(self) -> Answer | None:
        """What the worker says; None where it says that it has loaded."""
        try:
            said = self.line.recv()
        except (EOFError, OSError):
            self.process.join(LEAVE_SECONDS)
            return Lost(_cause(self.process.exitcode), self.loaded)
        if said == LOADED:
            self.loaded = True
            return None
        answer: Answer = said
        return answer

    def dismiss(self) -> None:
        idle = self.ticket is None
        self.line.close()
        if idle:
            self.process.join(LEAVE_SECONDS)
        self.process.kill()


def _cause(exit_code: int | None) -> str:
    if exit_code == -signal.SIGKILL:
        return "killed; out of memory?"
    if exit_code is not None and exit_code < 0:
        return f"signal {-exit_code}"
    return f"exit code {exit_code}"


def _hire(work: Work[Any, Any]) -> _Worker:
    ours, theirs = get_context("spawn").Pipe()
    # A daemon is ended by Python itself should the crew never be closed.
    process = get_context("spawn").Process(target=_serve, args=(work, os.getpid(), theirs), daemon=True)
    # A worker that is still starting must not answer a Ctrl-C with a complaint of its own: it inherits that
    # the signal waits. What Python starts beside it would let the signal through again, so that comes first.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return _Worker(process, ours)


def _serve(work: Work[Any, Any], parent: int, line: Connection) -> None:
    # Ctrl-C reaches every process of a terminal; the parent decides, and ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    prepare_worker()
    function = None
    while True:
        try:
            batch = line.recv()
        except (EOFError, OSError):
            return
        try:
            if function is None:
                function = work.load()
                line.send(LOADED)
            # Within, since what cannot be sent is an error of the work as well.
            line.send(list(function(batch)))
        except Exception as error:
            line.send(carried(error, "a worker process"))


def prepare_worker() -> None:
    """Have a worker use one core, and keep the memory that it works in."""
    # numpy and friends would each start as many threads as there are cores.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    hold_memory()


def carried(error: Exception, where: str) -> Exception:
    """An exception as it is raised again by whoever gave the work, together with where it happened."""
    if isinstance(error, SightlineError):
        return error
    return RuntimeError(f"in {where}:\n" + "".join(traceback.format_exception(error)))


def hold_memory() -> None:
    """Have the memory of batches of pixels kept from one batch to the next."""
    # After each batch of pixels glibc gives the memory back, and takes it anew page by page: a tenth of the
    # time of a quick measure. Having once freed a block this large it keeps up to twice as much.
    import numpy as np

    np.empty(30 << 20, dtype=np.uint8)


def _end_with(parent: int) -> None:
    # A parent killed at once cannot tell its workers; an orphan's parent is somebody else.
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)
