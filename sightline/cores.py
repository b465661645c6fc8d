"""How many processor cores this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that this process may use, fewer than the machine has where it is confined to some."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
