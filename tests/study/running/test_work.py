"""The scheduler of batch work: whatever happens to workers, every item ends once, with its own result."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError, MissingPackage, SightlineError, UsageError
from sightline.study.running import work as working
from sightline.study.running.place import HERE, Place, place_of
from sightline.study.running.work import HOPELESS, TRIES, Answer, Lost, run_crew, run_here

ASIDE = "aside: "


@dataclass(frozen=True)
class Squares:
    """Squares numbers; some end the worker of the stage, some are refused."""

    deadly: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    repeatable: bool = True

    def load(self) -> Callable[[Sequence[int]], list[int | str]]:
        return self.squares

    def squares(self, numbers: Sequence[int]) -> list[int | str]:
        if self.refused.intersection(numbers):
            raise DataError("a number that is refused", where="here", remedy="Leave it out.")
        return [number * number for number in numbers]

    def quarantined(self, item: int, reason: str) -> int | str:
        return ASIDE + reason


class Stage:
    """A crew whose workers do what chance says: answer, answer late, or end."""

    def __init__(
        self, work: Squares, chance: random.Random, size: int = 3, depth: int = 2, losses: float = 0.0
    ) -> None:
        self.size, self.depth, self.spread = size, depth, True
        self.ended: Counter[int] = Counter()
        self.most = self.given = 0
        self.closed = False
        self._work, self._chance, self._losses = work, chance, losses
        self._queues: dict[int, dict[int, Sequence[int]]] = {n: {} for n in range(size)}

    def give(self, worker: int, ticket: int, batch: Sequence[int]) -> None:
        assert worker in self._queues, "given to a worker that left"
        self._queues[worker][ticket] = batch
        self.given += 1
        self.most = max(self.most, len(self._queues[worker]))

    def answers(self, seconds: float | None) -> list[tuple[int, int, Answer]]:
        busy = [worker for worker, queue in self._queues.items() if queue]
        assert busy, "waits for nobody"
        found: list[tuple[int, int, Answer]] = []
        for worker in self._chance.sample(busy, self._chance.randint(1, len(busy))):
            for _ in range(self._chance.randint(1, len(self._queues[worker]))):
                ticket, batch = next(iter(self._queues[worker].items()))
                answer = self._answer(batch)
                found.append((worker, ticket, answer))
                if isinstance(answer, Lost):
                    self._queues[worker].clear()
                    if not answer.replaced:
                        del self._queues[worker]
                    break
                del self._queues[worker][ticket]
        return found

    def _answer(self, batch: Sequence[int]) -> Answer:
        if self._work.deadly.intersection(batch):
            self.ended.update(batch)
            return Lost("poison")
        if self._chance.random() < self._losses:
            way = self._chance.randrange(6)
            if way < 3:
                self.ended.update(batch)
                return Lost("chance")
            return Lost("its machine left", by_batch=False, replaced=way < 5 or len(self._queues) < 2)
        try:
            return self._work.squares(batch)
        except SightlineError as error:
            return error

    def close(self) -> None:
        self.closed = True


def batches_of(n: int, size: int) -> Iterator[list[int]]:
    return (list(range(start, min(start + size, n))) for start in range(0, n, size))


def collected(done: Iterator[tuple[Sequence[int], Sequence[int | str]]]) -> dict[int, int | str]:
    found: dict[int, int | str] = {}
    for batch, results in done:
        for item, result in zip(batch, results, strict=True):
            assert item not in found, "an item ended twice"
            found[item] = result
    return found


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(0, 40),
    size=st.integers(1, 7),
    workers=st.integers(1, 4),
    depth=st.integers(1, 3),
    losses=st.sampled_from((0.0, 0.1, 0.4)),
    deadly=st.frozensets(st.integers(0, 39), max_size=3),
    hasty=st.booleans(),
)
def test_every_item_ends_once_with_the_result_of_the_work(
    seed: int,
    n: int,
    size: int,
    workers: int,
    depth: int,
    losses: float,
    deadly: frozenset[int],
    hasty: bool,
) -> None:
    work = Squares(deadly)
    stage = Stage(work, random.Random(seed), workers, depth, losses)
    with pytest.MonkeyPatch.context() as patch:
        if hasty:
            # Every batch is slow at once: idle workers compute what others have.
            patch.setattr(working, "LEAST_SECONDS", 0.0)
            patch.setattr(working, "SLOW", 0.0)
            patch.setattr(working, "ENOUGH", 1)
        found: dict[int, int | str] = {}
        failed = False
        try:
            for batch, results in run_crew(work, batches_of(n, size), lambda: stage):
                for item, result in zip(batch, results, strict=True):
                    assert item not in found, "an item ended twice"
                    found[item] = result
        except SightlineError as error:
            failed = True
            assert "ended unexpectedly" in error.what
    assert stage.closed == bool(n)
    expected = collected(run_here(Squares(), batches_of(n, size)))
    for item, result in found.items():
        if isinstance(result, str):
            assert result.startswith(ASIDE) and stage.ended[item] >= TRIES
        else:
            assert result == expected[item] and item not in deadly
    if not failed:
        assert set(found) == set(expected)
    assert stage.most <= depth
    if not losses and len(deadly) < HOPELESS:
        assert not failed and {item for item in found if isinstance(found[item], str)} == {
            item for item in deadly if item < n
        }


def test_an_error_of_the_work_is_raised_as_it_is_after_what_was_under_way() -> None:
    work = Squares(refused=frozenset({5}))
    stage = Stage(work, random.Random(1), size=3, depth=1)
    found: dict[int, int | str] = {}
    with pytest.raises(DataError) as raised:
        for batch, results in run_crew(work, batches_of(40, 1), lambda: stage):
            found.update(zip(batch, results, strict=True))
    assert (raised.value.what, raised.value.where) == ("a number that is refused", "here")
    assert stage.closed and 5 not in found and set(found) >= set(range(4))


def test_where_everything_ends_its_worker_nothing_is_quarantined() -> None:
    """It is not the items then: none may be set aside for good."""
    work = Squares(deadly=frozenset(range(50)))
    with pytest.raises(SightlineError, match=rf"ended unexpectedly \(poison\) on {HOPELESS} items"):
        for _ in run_crew(work, batches_of(50, 1), lambda: Stage(work, random.Random(2))):
            pytest.fail("an item was set aside")


def test_nobody_is_hired_for_nothing() -> None:
    assert not list(run_crew(Squares(), iter(()), lambda: pytest.fail("hired")))


class Sleepy(Stage):
    """A crew whose first worker never answers."""

    def answers(self, seconds: float | None) -> list[tuple[int, int, Answer]]:
        asleep, self._queues[0] = self._queues[0], {}
        try:
            if not any(self._queues.values()):
                assert seconds is not None, "waits for ever for a worker that sleeps"
                time.sleep(seconds)
                return []
            return super().answers(seconds)
        finally:
            self._queues[0] = asleep


@pytest.mark.parametrize("depth", [1, 2])
def test_what_a_worker_sleeps_over_is_computed_by_another(
    monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    monkeypatch.setattr(working, "LEAST_SECONDS", 0.02)
    stage = Sleepy(Squares(), random.Random(3), size=2, depth=depth)
    found = collected(run_crew(Squares(), batches_of(12, 2), lambda: stage))
    assert found == {n: n * n for n in range(12)}
    # Nothing but what the sleeper has was given twice.
    assert stage.given == 6 + depth


def test_what_may_not_be_repeated_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "LEAST_SECONDS", 0.02)
    stage = Sleepy(Squares(), random.Random(3), size=2, depth=1)
    with pytest.raises(AssertionError, match="for ever"):
        list(run_crew(Squares(repeatable=False), batches_of(12, 2), lambda: stage))


def test_a_place_is_read_and_refused_with_what_to_write() -> None:
    assert place_of() == HERE and not HERE.crew
    assert place_of(workers=3) == Place(3) and Place(3).crew
    pytest.importorskip("ray")
    assert place_of("ray", gpus=0.5) == Place(0, "ray", 0.5)
    assert place_of("head.example:6379", 4) == Place(4, "head.example:6379")
    for wrong in ("head.example", "ray://head.example", "http://head.example:80", "a:99999", "a b:1"):
        with pytest.raises(UsageError, match="cannot read --on"):
            place_of(wrong)
    for gpus in (-1.0, 1.5):
        with pytest.raises(UsageError, match="cannot have"):
            place_of("ray", gpus=gpus)
    with pytest.raises(UsageError, match="0 workers"):
        place_of(workers=0)
    with pytest.raises(UsageError, match="none is named"):
        place_of(gpus=1)


def test_without_ray_an_address_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.study.running.on_ray.find_spec", lambda name: None)
    with pytest.raises(MissingPackage) as raised:
        place_of("ray")
    assert raised.value.remedy == 'pip install "sightline[ray]"'


class Scripted:
    """A crew that answers by a script: worker, number and, where it ends, the loss."""

    size, depth, spread = 3, 1, True

    def __init__(self, *script: Sequence[tuple[int, Answer]]) -> None:
        self.given: dict[int, int] = {}
        self._script = iter(script)

    def give(self, worker: int, ticket: int, batch: Sequence[int]) -> None:
        self.given[worker] = ticket

    def answers(self, seconds: float | None) -> list[tuple[int, int, Answer]]:
        return [(worker, self.given[worker], answer) for worker, answer in next(self._script)]

    def close(self) -> None:
        pass


def test_what_is_given_back_waits_for_a_worker_that_is_busy_with_what_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(working, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(working, "SLOW", 0.0)
    monkeypatch.setattr(working, "ENOUGH", 1)
    gone = Lost("its machine left", by_batch=False, replaced=False)
    # Worker 2 computes its own number and what worker 0 sleeps over, then has what worker 1 has as well.
    crew = Scripted([(2, [4])], [(2, [0])], [(1, gone), (2, gone)], [(0, [0])], [(0, [1])])
    assert collected(run_crew(Squares(), batches_of(3, 1), lambda: crew)) == {0: 0, 1: 1, 2: 4}
