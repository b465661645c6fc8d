"""Local worker processes: each loads the measure once and computes batches until there are no more."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from sightline.errors import SightlineError
from sightline.execution.calls import compute
from sightline.extension import Configured
from sightline.store.files import ImageFiles
from sightline.store.scores import Item, Outcome

Batch = Sequence[Item]
Done = tuple[Batch, list[Outcome]]

_here: dict[str, Any] = {}


def _start(kind: str, printed: str, root: str, parent: int) -> None:
    # numpy and friends would each start as many threads as there are cores.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    from sightline.registry import configure

    _here["measure"] = configure(kind, printed)
    _here["files"] = ImageFiles(root)


def _end_with(parent: int) -> None:
    # A parent killed at once cannot tell its workers; an orphan's parent is somebody else.
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _work(batch: Batch) -> list[Outcome]:
    return compute(_here["measure"], _here["files"], batch)


def run_here(measure: Configured, files: ImageFiles, batches: Iterator[Batch]) -> Iterator[Done]:
    """Compute in this process."""
    for batch in batches:
        yield batch, compute(measure, files, batch)


def run_in_processes(
    measure: Configured, files: ImageFiles, batches: Iterator[Batch], workers: int
) -> Iterator[Done]:
    """Compute in worker processes; at most two batches a worker are under way, so memory stays bounded."""
    import multiprocessing

    spawn = multiprocessing.get_context("spawn")
    told = (measure.spec.kind, str(measure), files.root, os.getpid())
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start, initargs=told)
    under_way: dict[Future[list[Outcome]], Batch] = {}
    try:
        for batch in batches:
            under_way[pool.submit(_work, batch)] = batch
            if len(under_way) >= 2 * workers:
                yield from _collect(under_way)
        while under_way:
            yield from _collect(under_way)
    except BrokenProcessPool:
        raise SightlineError(
            "a worker process ended unexpectedly (out of memory?)",
            remedy="What was computed is kept. Run again, with --workers 1 if it happens again.",
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _collect(under_way: dict[Future[list[Outcome]], Batch]) -> Iterator[Done]:
    finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in finished:
        yield under_way.pop(future), future.result()


Runner = Callable[[Configured, ImageFiles, Iterator[Batch]], Iterator[Done]]
