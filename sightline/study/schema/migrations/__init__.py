"""Numbered steps from an older study to this program's tables.

A new study is made from `tables.py` at once and stamped with its VERSION. A study of version n runs every
`mNNNN_*.py` here with a number above n, in order, inside one transaction. A module holds one function,
`upgrade(connection)`, written in SQL that both databases take. Changing `tables.py` without a new step
fails a test that compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Step = Callable[[Any], None]


def steps() -> dict[int, Step]:
    """Every migration by the version it leads to."""
    found: dict[int, Step] = {}
    for file in sorted(Path(__file__).parent.glob("m[0-9][0-9][0-9][0-9]_*.py")):
        number = int(file.stem[1:5])
        found[number] = import_module(f"{__name__}.{file.stem}").upgrade
    return found
