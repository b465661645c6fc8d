"""Where batch work is done: in this process, by processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sightline.errors import UsageError
from sightline.study.running.on_ray import LOCAL, RayCrew, need_ray
from sightline.study.running.work import Done, Work, run_crew, run_here
from sightline.study.running.workers import Processes

T = TypeVar("T")
R = TypeVar("R")

_ADDRESS = re.compile(r"(ray://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")


@dataclass(frozen=True)
class Place:
    """So many workers, on a cluster where `on` is its address, each with this part of graphics cards.

    Without a number of workers a cluster gives as many as it has room for.
    """

    workers: int = 1
    on: str = ""
    gpus: float = 0.0

    @property
    def crew(self) -> bool:
        """Whether others than this process do the work."""
        return bool(self.on) or self.workers > 1


HERE = Place()


def place_of(on: str | None = None, workers: int | None = None, gpus: float | None = None) -> Place:
    """The place that a user described: by default this process, or all that a cluster has room for."""
    address = (on or "").strip()
    if workers is not None and workers < 1:
        raise UsageError(f"{workers} workers cannot do anything", remedy="Give --workers 1 or more.")
    if gpus is not None and gpus < 0:
        raise UsageError(f"a worker cannot have {gpus:g} graphics cards", remedy="Give --gpus 0 or more.")
    if not address:
        if gpus:
            raise UsageError(
                "--gpus places the workers of a cluster, and none is named",
                remedy="Name it: --on ray for this machine, --on ray://HOST:10001 for another.",
            )
        return Place(workers or 1)
    if gpus and gpus > 1 and gpus != int(gpus):
        raise UsageError(
            f"a worker cannot have {gpus:g} graphics cards",
            remedy="Give a fraction of one, such as 0.5, or a whole number.",
        )
    found = _ADDRESS.fullmatch(address)
    if address not in (LOCAL, "auto") and (found is None or int(found[3]) > 65535):
        raise UsageError(
            f"cannot read --on {on!r}",
            remedy="Write ray (on this machine), ray://HOST:10001, HOST:6379 or auto.",
        )
    need_ray(address)
    return Place(workers or 0, address, gpus or 0.0)


def run_work(
    work: Work[T, R], batches: Iterator[Sequence[T]], place: Place
) -> Generator[Done[T, R], None, None]:
    """Compute batches where the place says; their results are the same anywhere."""
    if place.on:
        return run_crew(work, batches, lambda: RayCrew(work, place.on, place.workers, place.gpus))
    if place.workers > 1:
        return run_crew(work, batches, lambda: Processes(work, place.workers))
    return run_here(work, batches)
