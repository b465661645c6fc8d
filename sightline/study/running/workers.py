"""Local worker processes: each loads the measures once and computes batches until there are no more."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from sightline.errors import SightlineError
from sightline.extension import Configured
from sightline.study.files import ImageFiles
from sightline.study.running.calls import AHEAD, Function, Task, compute
from sightline.study.scores import Outcome

Batch = Sequence[Task]
Done = tuple[Batch, list[list[Outcome]]]

LOOK_SECONDS = 0.25
"""How often a worker looks whether its parent is still there."""
LEAVE_SECONDS = 2.0
"""How long an idle worker may take to end by itself."""


def run_here(
    measures: Sequence[Configured],
    files: ImageFiles,
    batches: Iterator[Batch],
    functions: Mapping[int, Function] | None = None,
) -> Generator[Done, None, None]:
    """Compute in this process; `functions` are measures, by number, that were loaded already."""
    _hold_memory()
    for batch in batches:
        yield batch, compute(measures, files, batch, functions, AHEAD)


def run_in_processes(
    measures: Sequence[Configured], files: ImageFiles, batches: Iterator[Batch], workers: int
) -> Generator[Done, None, None]:
    """Compute in worker processes, each with one batch at a time, so that memory stays bounded.

    After a failure no further batch is started, but those under way still come back before it is raised.
    """
    first = list(islice(batches, workers))
    crew: list[_Worker] = []
    failure: Exception | None = None
    try:
        crew += [_hire(measures, files) for _ in first]
        for worker, batch in zip(crew, first, strict=True):
            worker.give(batch)
        while busy := {worker.line: worker for worker in crew if worker.batch is not None}:
            for line in wait(list(busy)):
                worker = busy[line]  # type: ignore[index]
                batch, answer = worker.take()
                if isinstance(answer, Exception):
                    failure = failure or answer
                    continue
                # Handed out before the answer is stored: a worker need not wait for the disk.
                following = next(batches, None) if failure is None else None
                if following is not None:
                    worker.give(following)
                yield batch, answer
        if failure is not None:
            raise failure
    finally:
        for worker in crew:
            worker.dismiss()
        for worker in crew:
            worker.process.join()


@dataclass
class _Worker:
    """A process, our end of the line to it, and what it is computing."""

    process: BaseProcess
    line: Connection
    batch: Batch | None = None

    def give(self, batch: Batch) -> None:
        self.batch = batch
        # Should it have died, `take` meets the end of its line and says so.
        with suppress(OSError):
            self.line.send(batch)

    def take(self) -> tuple[Batch, list[list[Outcome]] | Exception]:
        batch, self.batch = self.batch, None
        assert batch is not None
        try:
            return batch, self.line.recv()
        except (EOFError, OSError):
            self.process.join(LEAVE_SECONDS)
            return batch, SightlineError(
                f"a worker process ended unexpectedly ({_cause(self.process.exitcode)})",
                remedy="What was computed is kept. Run again, with --workers 1 if it happens again.",
            )

    def dismiss(self) -> None:
        idle = self.batch is None
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


def _hire(measures: Sequence[Configured], files: ImageFiles) -> _Worker:
    ours, theirs = get_context("spawn").Pipe()
    printed = [str(measure) for measure in measures]
    arguments = ([measure.spec.kind for measure in measures], printed, files.root, os.getpid(), theirs)
    # A daemon is ended by Python itself should this generator never be closed.
    process = get_context("spawn").Process(target=_serve, args=arguments, daemon=True)
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


def _serve(kinds: Sequence[str], printed: Sequence[str], root: str, parent: int, line: Connection) -> None:
    # Ctrl-C reaches every process of a terminal; the parent decides, and ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # numpy and friends would each start as many threads as there are cores.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    from sightline.registry import configure

    _hold_memory()
    measures: list[Configured] = []
    files = ImageFiles(root)
    while True:
        try:
            batch = line.recv()
        except (EOFError, OSError):
            return
        answer: list[list[Outcome]] | Exception
        try:
            measures = measures or [configure(*each) for each in zip(kinds, printed, strict=True)]
            answer = compute(measures, files, batch)
        except SightlineError as error:
            answer = error
        except Exception as error:  # raised again by the parent, together with where it happened here
            answer = RuntimeError("in a worker process:\n" + "".join(traceback.format_exception(error)))
        line.send(answer)


def _hold_memory() -> None:
    # After each batch of pixels glibc gives the memory back, and takes it anew page by page: a tenth of the
    # time of a quick measure. Having once freed a block this large it keeps up to twice as much.
    import numpy as np

    np.empty(30 << 20, dtype=np.uint8)


def _end_with(parent: int) -> None:
    # A parent killed at once cannot tell its workers; an orphan's parent is somebody else.
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)
