"""Votes by hand, and rules by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sightline import registry
from sightline.records import AnnotatorKey, Question, Settled, Votes


def make(*rows: tuple[int, int, float], items: int, n: list[int] | None = None) -> Votes:
    item, annotator, value = (
        (np.array(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    )
    people = int(max(annotator, default=-1)) + 1
    return Votes(
        np.asarray(item, dtype=np.int64),
        np.asarray(annotator, dtype=np.int64),
        np.asarray(value, dtype=np.float64),
        np.array(n or [1] * len(rows), dtype=np.int64),
        np.zeros(len(rows), dtype=np.int64),
        np.full(len(rows), np.nan),
        np.zeros(len(rows), dtype=np.bool_),
        np.zeros(len(rows), dtype=np.int64),
        items,
        [AnnotatorKey("panel", str(number)) for number in range(people)],
        Question("q"),
    )


@pytest.fixture(scope="session")
def votes() -> Callable[..., Votes]:
    """Votes from (item, annotator, value); `n` votes a row."""
    return make


@pytest.fixture(scope="session")
def anonymous() -> Callable[..., Votes]:
    """Anonymous votes from a list of values an item, on a scale with these ends."""

    def cast(*groups: list[float], low: float | None = None, high: float | None = None) -> Votes:
        rows = [(item, -1, value) for item, group in enumerate(groups) for value in group]
        return replace(make(*rows, items=len(groups)), question=Question("q", "ordinal", low, high))

    return cast


@pytest.fixture(scope="session")
def settle() -> Callable[[str, Votes], Settled]:
    """What the rule of this name, with parameters, makes of votes."""
    return lambda rule, cast: registry.configure("consensus", rule).load()(cast)
