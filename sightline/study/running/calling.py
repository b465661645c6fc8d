"""Calling what answers from elsewhere: one input at a time, many at once, each kept when it is there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from sightline.endpoints import Endpoint, Rehearsal
from sightline.extension import Configured
from sightline.study.files import ImageFiles
from sightline.study.ledger import loaded_at
from sightline.study.running.calls import Results, Task, scoring
from sightline.study.running.place import HERE, Place
from sightline.study.running.remote_calls import CallWork, calls_at_once, desk_of, run_remote_calls
from sightline.study.running.work import Done
from sightline.study.scores import QUARANTINED, Outcome

T = TypeVar("T")
R = TypeVar("R")

SAMPLE = 50
"""Inputs that a plan looks at; more are assumed to be like them."""


def as_they_end(
    items: Iterator[T], call: Callable[[T], R], client: Endpoint
) -> Generator[list[tuple[T, R]], None, None]:
    """The results of calls to an endpoint, as many at once as it allows, in the groups in which they end.

    After a call that raises no further one is begun; those under way still come back before it is raised. On
    Ctrl-C they are waited for as well: they were paid for.
    """
    failure: BaseException | None = None
    in_flight = client.settings.in_flight
    with ThreadPoolExecutor(in_flight, thread_name_prefix="call") as pool:
        # As many again wait at the door, so that no thread waits for what is stored meanwhile.
        under_way: dict[Future[R], T] = {}
        try:
            under_way = {pool.submit(call, item): item for item in islice(items, 2 * in_flight)}
            while under_way:
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                group = []
                for future in ended:
                    item = under_way.pop(future)
                    if future.cancelled():
                        continue
                    if future.exception() is None:
                        group.append((item, future.result()))
                    elif failure is None:
                        failure = future.exception()
                        client.stop()
                        for other in under_way:
                            other.cancel()
                if failure is None:
                    fresh = islice(items, 2 * in_flight - len(under_way))
                    under_way |= {pool.submit(call, item): item for item in fresh}
                if group:
                    yield group
        finally:
            if under_way:
                client.stop()
            for future in under_way:
                future.cancel()
    if failure is not None:
        raise failure


@dataclass(frozen=True)
class ScoreCalls(CallWork[Task, Results]):
    """Computing a measure that calls an endpoint, of items whose images are at an address."""

    extensions: tuple[tuple[str, str]]
    files: str

    def caller(self, client: Endpoint) -> Callable[[Task], Results]:
        from sightline.registry import configure

        measure = configure(*self.extensions[0])
        score = scoring([measure], ImageFiles(self.files), {0: loaded_at(measure, client)})
        return lambda task: score([task])[0]

    def quarantined(self, item: Task, reason: str) -> Results:
        return (Outcome(None, QUARANTINED + reason),)


def run_calls(
    measure: Configured,
    files: ImageFiles,
    batches: Iterator[Sequence[Task]],
    client: Endpoint,
    place: Place = HERE,
) -> Generator[Done[Task, Results], None, None]:
    """Compute a measure that calls an endpoint; every outcome is handed on as soon as it is there.

    Calls are made from here, many at once: one process keeps any endpoint busy. Where a cluster is named its
    workers make them.
    """
    tasks = (task for batch in batches for task in batch)
    if place.on:
        with desk_of(client, place) as line:
            at_once = calls_at_once(client, place)
            named = ((measure.spec.kind, str(measure)),)
            work = ScoreCalls(line, client.settings, at_once, named, files.root)
            yield from run_remote_calls(work, tasks, place, client)
        return
    score = scoring([measure], files, {0: loaded_at(measure, client)})
    for group in as_they_end(tasks, lambda task: score([task])[0], client):
        yield [task for task, _ in group], [results for _, results in group]


@dataclass(frozen=True)
class Forecast:
    """What would be called: for so many inputs, with how many tokens, and what it costs at most."""

    purpose: str
    endpoint: str
    models: Sequence[str]
    inputs: int
    calls: int
    tokens_in: int
    tokens_out: int
    images: int
    cost: float | None
    """None where a model has no price."""
    sampled: bool = False
    """Whether it was worked out from a sample of the inputs."""


def forecast(
    purpose: str, client: Rehearsal, inputs: Sequence[T], rehearse: Callable[[T], object]
) -> Forecast:
    """What calls these inputs need; of many, a sample spread over all of them stands for the rest."""
    step = max(1, len(inputs) // SAMPLE)
    chosen = inputs[::step]
    for each in chosen:
        rehearse(each)
    scale = len(inputs) / max(1, len(chosen))
    counted = (client.calls, client.tokens_in, client.tokens_out, client.images)
    calls, tokens_in, tokens_out, images = (round(n * scale) for n in counted)
    cost = None if client.unpriced else client.cost * scale
    about = (purpose, client.settings.name, sorted(client.models), len(inputs))
    return Forecast(*about, calls, tokens_in, tokens_out, images, cost, sampled=step > 1)
