"""Texts encoded a batch at a time on every core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from sightline.cores import cores

Batch = TypeVar("Batch")
Made = TypeVar("Made")

_ALONE = Lock()
"""The limit of BLAS's threads is one for the whole process: two that set and lift it would lose it."""


def on_all_cores(encode: Callable[[Batch], Made], batches: Sequence[Batch]) -> list[Made]:
    """What `encode` makes of each batch, in their order: one batch per core at a time, each with one thread.

    The products of a batch of short texts are too small to be shared: with more threads of BLAS than cores
    they wait for each other, and take twenty times as long.
    """
    from threadpoolctl import threadpool_limits

    with _ALONE, threadpool_limits(1, "blas"):
        if len(batches) < 2:
            return [encode(batch) for batch in batches]
        with ThreadPoolExecutor(min(cores(), len(batches))) as pool:
            return list(pool.map(encode, batches))


def alike(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """The rows by their length, at most so many at once: those of a batch are about equally long."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for start in range(0, len(order), most):
        yield order[start : start + most]


def equal(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """The same, with rows of one length alone in a batch."""
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    for length in sorted(by_length):
        rows = by_length[length]
        for start in range(0, len(rows), most):
            yield rows[start : start + most]
