"""How many connections a process keeps to PostgreSQL, as a study's settings say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sightline.errors import StudyError


class Pool(NamedTuple):
    """Connections of one process to PostgreSQL, as the table [store] of a study's settings may give them.

    `pool_size` are kept, `pool_overflow` more are made when those are in use; who gets none within
    `pool_wait_seconds` gets an error. One is replaced after `pool_recycle_seconds`, since networks forget
    connections. Without `prepared` statements a pooler may give each transaction to another connection.
    """

    pool_size: int = 5
    pool_overflow: int = 10
    pool_wait_seconds: int = 30
    pool_recycle_seconds: int = 1_800
    prepared: bool = True

    @classmethod
    def given(cls, store: Mapping[str, Any], where: str) -> Pool:
        """The pool that these settings say, each of the type and size it must have."""
        least = {"pool_size": 1, "pool_wait_seconds": 1, "pool_recycle_seconds": 1}
        values = {name: store[name] for name in cls._fields if name in store}
        for name, value in values.items():
            if type(value) is not type(cls._field_defaults[name]) or value < least.get(name, 0):
                kind = "true or false" if name == "prepared" else f"a whole number from {least.get(name, 0)}"
                raise StudyError(f"{name} of [store] is {value!r}", where=where, remedy=f"It is {kind}.")
        return cls(**values)


USUAL = Pool()
