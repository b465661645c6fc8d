"""Computing a function of each of several inputs, here or by others: resampling, one part after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sightline.errors import SightlineError
from sightline.statistics.significance import Each
from sightline.study.running.place import Place, run_work

T = TypeVar("T")
R = TypeVar("R")

WORTH = 5.0
"""Seconds of work that make starting processes worth while; less is done sooner here."""


@dataclass(frozen=True)
class MapWork(Generic[T, R]):
    """Computing a function that can be imported anywhere, and needs nothing but its input."""

    function: Callable[[T], R]
    repeatable: bool = True

    def load(self) -> Callable[[Sequence[tuple[int, T]]], list[R]]:
        return lambda items: [self.function(item) for _, item in items]

    def quarantined(self, item: tuple[int, T], reason: str) -> R:
        raise SightlineError(
            f"a part of this cannot be computed: {reason}", remedy="Run it again with --workers 1."
        )


def mapped_at(place: Place, worth: float = WORTH) -> Each:
    """A map that uses the workers of a place where the work takes longer than `worth` seconds here.

    Results are in the order of the inputs, and depend on nothing else.
    """

    def each(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        started = time.monotonic()
        first = [function(item) for item in items[:1]]
        rest = list(enumerate(items))[1:]
        if not place.crew or (time.monotonic() - started) * len(rest) <= worth:
            return first + [function(item) for _, item in rest]
        found: dict[int, R] = {}
        for batch, results in run_work(MapWork(function), ([item] for item in rest), place):
            found |= {number: result for (number, _), result in zip(batch, results, strict=True)}
        return first + [found[number] for number, _ in rest]

    return each
