"""A crew on a Ray cluster: each worker is an actor that loads the work once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightline.study.running.work import Answer, Work


class RayCrew:
    """Actors on a cluster at an address, by default as many as it has room for."""

    depth = 2
    spread = True

    def __init__(self, work: Work[Any, Any], on: str, workers: int = 0, gpus: float = 0.0) -> None:
        self.size = workers
        raise NotImplementedError

    def give(self, worker: int, ticket: int, batch: Sequence[Any]) -> None:
        raise NotImplementedError

    def answers(self, seconds: float | None) -> list[tuple[int, int, Answer]]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
