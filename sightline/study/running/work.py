"""Batch work: what a worker loads once and then does to one batch after another, here or anywhere.

A `Work` says what is done, a `Crew` where, and `run_crew` keeps the crew busy: it replaces workers that are
lost, tries their items again one by one, and sets aside (quarantines) an item that was under way three times
when its worker ended. Results are those of the work alone, whoever computed them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median
from typing import Any, Protocol, TypeVar, runtime_checkable

from sightline.errors import SightlineError

T = TypeVar("T")
R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

TRIES = 3
"""An item is tried so often before it is quarantined."""
HOPELESS = 5
"""So many items quarantined, and more than were computed: it is not the items."""
SLOW = 3.0
"""A batch that takes so many times the median is computed by an idle worker as well."""
LEAST_SECONDS = 5.0
"""No batch is slow before."""
ENOUGH = 3
"""So many batches must be computed before one of them can be called slow."""


class Work(Protocol[T_contra, R_co]):
    """What is done to batches of items.

    It goes to other processes and machines: it holds names, parameters and addresses, never a model, a
    connection or a study. `repeatable` says whether computing a batch twice costs nothing but time.
    """

    @property
    def repeatable(self) -> bool: ...

    def load(self) -> Callable[[Sequence[T_contra]], Sequence[R_co]]:
        """Load what is needed; gives the function of a batch, with one result per item, in order."""

    def quarantined(self, item: T_contra, reason: str) -> R_co:
        """The result of an item that is not tried again, for this reason."""


@runtime_checkable
class Placed(Protocol):
    """Work that says what every machine must have that does it.

    `extensions` are given by kind and name with parameters; `files` is the address of the image files.
    """

    @property
    def extensions(self) -> Sequence[tuple[str, str]]: ...

    @property
    def files(self) -> str: ...


Done = tuple[Sequence[T], Sequence[R]]
"""A batch, or a part of one, and its results."""


@dataclass(frozen=True)
class Lost:
    """That a worker ended, and why.

    `by_batch` says whether the batch it had may be the cause, as it cannot be before the work is loaded or
    where a machine went; `replaced` whether its number gets a new worker.
    """

    reason: str
    by_batch: bool = True
    replaced: bool = True


Answer = Sequence[Any] | Exception | Lost


class Crew(Protocol):
    """Workers, by number, that compute batches; one that is lost is replaced when it is given a batch again.

    `depth` batches may wait at each worker; `spread` says that workers differ, so that an idle one is worth
    asking for what another is slow at.
    """

    @property
    def size(self) -> int: ...

    @property
    def depth(self) -> int: ...

    @property
    def spread(self) -> bool: ...

    def give(self, worker: int, ticket: int, batch: Sequence[Any]) -> None:
        """Hand a worker a batch; its answer comes back under this ticket."""

    def answers(self, seconds: float | None) -> list[tuple[int, int, Answer]]:
        """Wait for answers, so long at most: worker, ticket, and the results, an exception or the loss.

        A worker that is lost answers for the first of its batches; the others are not answered.
        """

    def close(self) -> None:
        """End all workers."""


@dataclass
class _Order:
    """A batch on its way: how often its items were tried, since when, and under which tickets."""

    batch: Sequence[Any]
    tries: int = 0
    since: float = 0.0
    tickets: set[int] = field(default_factory=set)
    done: bool = False


def run_here(
    work: Work[T, R],
    batches: Iterator[Sequence[T]],
    function: Callable[[Sequence[T]], Sequence[R]] | None = None,
) -> Generator[Done[T, R], None, None]:
    """Compute in this process; `function` is the work where it was loaded already."""
    for batch in batches:
        function = function or work.load()
        yield batch, function(batch)


def run_crew(
    work: Work[T, R], batches: Iterator[Sequence[T]], hire: Callable[[], Crew]
) -> Generator[Done[T, R], None, None]:
    """Compute by a crew, each worker with few batches at a time, so that memory stays bounded.

    After a failure no further batch is started, but those under way still come back before it is raised.
    """
    first = next(batches, None)
    if first is None:
        # Nothing is left to do: nobody is needed for it.
        return
    crew = hire()
    shift = _Shift(crew, work, chain([first], batches))
    try:
        shift.assign()
        while shift.under_way:
            done = [shift.settle(*answer) for answer in crew.answers(shift.patience())]
            # Assigned before the answers are stored: a worker need not wait for the disk. And after all of
            # them are settled: that a worker is lost may be said after what it answered before.
            shift.assign()
            yield from (each for each in done if each is not None)
            yield from shift.set_aside()
        if shift.failure is not None:
            raise shift.failure
        yield from shift.set_aside(at_end=True)
    finally:
        crew.close()


class _Shift:
    """Who computes what, and what is to be done about those who are lost or slow."""

    def __init__(self, crew: Crew, work: Work[Any, Any], batches: Iterator[Sequence[Any]]) -> None:
        self.crew = crew
        self.failure: Exception | None = None
        self._work = work
        self._batches = batches
        self._again: deque[_Order] = deque()
        self._queues: dict[int, deque[int]] = {number: deque() for number in range(crew.size)}
        self._orders: dict[int, _Order] = {}
        self._tickets = 0
        self._exhausted = False
        self._took: deque[float] = deque(maxlen=100)
        self._aside: list[Done[Any, Any]] = []
        self._computed = self._quarantined = self._blameless = 0

    @property
    def under_way(self) -> bool:
        """Whether anything is still to come back, or to be assigned as soon as a worker has room."""
        left = self.failure is None and (bool(self._again) or not self._exhausted)
        return left or any(not order.done for order in self._orders.values())

    def assign(self) -> None:
        """Give every worker that has room its next batch: first one batch each, then those that wait."""
        for depth in range(1, self.crew.depth + 1):
            for worker, queue in self._queues.items():
                if len(queue) < depth and self.failure is None:
                    order = self._next(worker)
                    if order is None:
                        return
                    self._give(worker, order)

    def _next(self, worker: int) -> _Order | None:
        while self._again:
            order = self._again.popleft()
            if not order.done:
                return order
        batch = next(self._batches, None)
        if batch is not None:
            return _Order(batch)
        self._exhausted = True
        return self._slow(worker)

    def _slow(self, worker: int) -> _Order | None:
        """A batch that another worker has had for too long, for a worker that is idle."""
        limit = self._limit()
        if limit is None or self._queues[worker]:
            return None
        now = time.monotonic()
        orders = [order for order in self._orders.values() if not order.done]
        waiting = [order for order in orders if len(order.tickets) == 1 and now - order.since > limit]
        return min(waiting, key=lambda order: order.since, default=None)

    def _limit(self) -> float | None:
        if not self.crew.spread or not self._work.repeatable or len(self._took) < ENOUGH:
            return None
        return max(LEAST_SECONDS, SLOW * median(self._took))

    def patience(self) -> float | None:
        """How long to wait for answers before a slow worker is worth a thought."""
        return None if self._limit() is None or all(self._queues.values()) else LEAST_SECONDS / 2

    def _give(self, worker: int, order: _Order) -> None:
        self._tickets += 1
        order.since = order.since or time.monotonic()
        order.tickets.add(self._tickets)
        self._orders[self._tickets] = order
        self._queues[worker].append(self._tickets)
        self.crew.give(worker, self._tickets, order.batch)

    def settle(self, worker: int, ticket: int, answer: Answer) -> Done[Any, Any] | None:
        """Note an answer; gives what is done by it."""
        self._queues[worker].remove(ticket)
        order = self._orders.pop(ticket)
        order.tickets.discard(ticket)
        if isinstance(answer, Lost):
            # What waited behind it was not under way: it is given to somebody again, untouched.
            for waiting in self._queues[worker]:
                behind = self._orders.pop(waiting)
                behind.tickets.discard(waiting)
                self._put_back(behind)
            self._queues[worker].clear()
            self._lost(order, answer)
            if not answer.replaced:
                self._leave(worker, answer.reason)
            return None
        self._blameless = 0
        if order.done:
            return None
        if isinstance(answer, Exception):
            self.failure = self.failure or answer
            return None
        order.done = True
        self._took.append(time.monotonic() - order.since)
        self._computed += len(order.batch)
        return order.batch, answer

    def set_aside(self, at_end: bool = False) -> list[Done[Any, Any]]:
        """What is quarantined, once it is clear that it is the items and not the workers."""
        if not at_end and self._quarantined > self._computed:
            return []
        aside, self._aside = self._aside, []
        return aside

    def _put_back(self, order: _Order) -> None:
        if not order.done and not order.tickets:
            order.since = 0.0
            self._again.append(order)

    def _leave(self, worker: int, reason: str) -> None:
        del self._queues[worker]
        if not self._queues:
            self.failure = self.failure or _ended(reason, "and none is left")

    def _lost(self, order: _Order, lost: Lost) -> None:
        if not lost.by_batch:
            self._blameless += 1
            if self._blameless >= TRIES * self.crew.size:
                self.failure = self.failure or _ended(lost.reason, "before they had computed anything")
            self._put_back(order)
            return
        order.tries += 1
        if order.done or order.tickets:
            return
        if len(order.batch) > 1:
            # One of them may have ended the worker: alone, it cannot take the others along.
            self._again.extend(_Order([item], order.tries) for item in order.batch)
        elif order.tries < TRIES:
            self._put_back(order)
        else:
            self._quarantine(order.batch, lost.reason)

    def _quarantine(self, batch: Sequence[Any], reason: str) -> None:
        self._quarantined += 1
        if self._quarantined >= HOPELESS and self._quarantined > self._computed:
            self.failure = self.failure or _ended(reason, f"on {self._quarantined} items")
        said = f"its worker ended {TRIES} times while it was computed ({reason})"
        self._aside.append((batch, [self._work.quarantined(batch[0], said)]))


def _ended(reason: str, when: str) -> SightlineError:
    return SightlineError(
        f"workers ended unexpectedly ({reason}) {when}",
        remedy="What was computed is kept. Run again, with --workers 1 if it happens again.",
    )
