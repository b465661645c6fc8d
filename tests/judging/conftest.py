"""Judgements from rows and tables, for everything that reads them as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sightline.records import AnnotatorKey, Question, Votes

USUAL: dict[str, tuple[object, type]] = {
    "n": (1, np.int64),
    "session": (0, np.int64),
    "took_ms": (np.nan, np.float64),
    "control": (False, np.bool_),
    "repetition": (0, np.int64),
}


def make(
    rows: Sequence[tuple[int, int, float]],
    *,
    items: int = 0,
    people: int = 0,
    question: Question | None = None,
    **columns: object,
) -> Votes:
    item, who, value = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    given = {
        name: np.broadcast_to(columns.get(name, usual), len(rows)).astype(kind)
        for name, (usual, kind) in USUAL.items()
    }
    people = people or int(who.max(initial=-1)) + 1
    return Votes(
        item=item.astype(np.int64),
        annotator=who.astype(np.int64),
        value=value,
        items=items or int(item.max(initial=-1)) + 1,
        annotators=[AnnotatorKey("panel", f"a{number}") for number in range(people)],
        question=question or Question("q"),
        **given,
    )


@pytest.fixture(scope="session")
def votes() -> Callable[..., Votes]:
    """Votes from (item, annotator, value); other columns of that length, or one value for all."""
    return make


@pytest.fixture(scope="session")
def tabled() -> Callable[..., Votes]:
    """Votes from annotators x items, NaN where not asked; other columns as tables of the same shape."""

    def tabled(table: object, question: Question | None = None, **columns: object) -> Votes:
        values = np.array(table, dtype=np.float64)
        asked = np.nonzero(~np.isnan(values))
        rows = list(zip(asked[1], asked[0], values[asked], strict=True))
        cells = {name: np.broadcast_to(given, values.shape)[asked] for name, given in columns.items()}
        people, items = values.shape
        return make(rows, items=items, people=people, question=question, **cells)

    return tabled
