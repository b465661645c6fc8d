"""One writer for many: what arrives together is committed together, and answered once it is on disk."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from sqlalchemy import Connection, Engine

from sightline.errors import StudyError
from sightline.study.schema import database

Job = Callable[[Connection], Any]


class Committer:
    """Runs jobs that write in one thread; jobs that wait at the same time share one transaction.

    Waiting for the disk is what limits a database with durable commits: shared by a hundred annotators who
    answer at the same moment, it costs each a hundredth. Where a job fails, the transaction is rolled back
    and each job runs again in one of its own; if the database fails, all of the batch do, and their callers
    know that nothing was kept.
    """

    def __init__(self, engine: Engine, most: int = 256) -> None:
        self._engine = engine
        self._most = most
        self._jobs: queue.Queue[tuple[Job, Future[Any]] | None] = queue.Queue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> Future[Any]:
        """Run a job within a transaction; the future is done when that is committed."""
        future: Future[Any] = Future()
        with self._closing:
            if self._closed:
                raise StudyError("the study is being closed", remedy="Try again in a moment.")
            self._jobs.put((job, future))
        return future

    def close(self) -> None:
        """Finish what was submitted, then stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        ending = False
        while not ending:
            batch, ending = self._gather()
            if batch:
                self._commit(batch)

    def _gather(self) -> tuple[list[tuple[Job, Future[Any]]], bool]:
        batch: list[tuple[Job, Future[Any]]] = []
        first = self._jobs.get()
        if first is None:
            return batch, True
        batch.append(first)
        while len(batch) < self._most:
            try:
                following = self._jobs.get_nowait()
            except queue.Empty:
                return batch, False
            if following is None:
                return batch, True
            batch.append(following)
        return batch, False

    def _commit(self, batch: list[tuple[Job, Future[Any]]]) -> None:
        # Whoever gave up waiting will send it again; running it would only add to the queue.
        batch = [(job, future) for job, future in batch if future.set_running_or_notify_cancel()]
        results: list[Any] = []
        try:
            with database.writing(self._engine) as connection:
                for job, _ in batch:
                    results.append(job(connection))
        except BaseException as error:
            # A database that fails, fails all; anything else is the fault of one job, which fails alone.
            if len(batch) > 1 and not isinstance(error, StudyError):
                for job, future in batch:
                    self._alone(job, future)
            else:
                for _, future in batch:
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)

    def _alone(self, job: Job, future: Future[Any]) -> None:
        try:
            with database.writing(self._engine) as connection:
                result = job(connection)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
