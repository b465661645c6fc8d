"""Work for bounded processes: what they give back, and what goes beyond their limits."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Any

from sightline.errors import DataError

STATUS = Path("/proc/self/status")
Given = tuple[Any, tuple[bytes, ...]]


def doubled(data: bytes, *more: Any) -> Given:
    """The data twice, and what else was given."""
    return list(more), (data, data)


def refuse(data: bytes) -> Given:
    raise DataError("it is odd", where=data.decode(), remedy="Make it even.")


def fail(data: bytes) -> Given:
    raise KeyError("a mistake of ours")


def fill_memory(data: bytes, size: int) -> Given:
    return len(bytearray(size)), ()


def fill_shared_memory(data: bytes, size: int) -> Given:
    return None, tuple(data for _ in range(size // len(data)))


def spin(data: bytes) -> Given:
    while True:
        pass


def die(data: bytes) -> Given:
    os.abort()


def peak_memory() -> int:
    """The most memory that this process has had, in bytes; what its parent had does not count."""
    if STATUS.exists():
        return int(STATUS.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak(data: bytes) -> Given:
    """The most memory that this process has had, in bytes."""
    return peak_memory(), ()


def wait_for(data: bytes, started: str, go: str) -> Given:
    """Leaves a mark when it starts, and goes on when another file is there."""
    with open(started, "ab") as file:
        file.write(b"x")
    while not Path(go).exists():
        time.sleep(0.005)
    return None, (data,)
