"""Votes and controls from tables, and whom a rule leaves out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sightline import registry
from sightline.records import AnnotatorKey, Controls, Exclusion, Question, Votes

MakeVotes = Callable[..., Votes]
MakeControls = Callable[..., Controls]
Excluded = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def make_votes() -> MakeVotes:
    def make(table: object, *, question: Question | None = None, **columns: object) -> Votes:
        """Votes from annotators x items, NaN where not asked; other columns as tables of the same shape."""
        values = np.array(table, dtype=np.float64)
        who, item = np.nonzero(~np.isnan(values))

        def column(name: str, usual: object, kind: type) -> np.ndarray:
            told = np.broadcast_to(np.asarray(columns.get(name, usual)), values.shape)
            return told[who, item].astype(kind)

        return Votes(
            item,
            who,
            values[who, item],
            np.ones(len(who), dtype=np.int64),
            column("session", 0, np.int64),
            column("took_ms", np.nan, np.float64),
            column("control", False, np.bool_),
            column("repetition", 0, np.int64),
            values.shape[1],
            [AnnotatorKey("panel", f"a{number}") for number in range(len(values))],
            question or Question("q"),
        )

    return make


@pytest.fixture(scope="session")
def make_controls() -> MakeControls:
    def make(*rows: tuple[int, float, str, str], tolerance: float = 0.0) -> Controls:
        """Controls from (item, expected, kind, by)."""
        return Controls(
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.float64),
            np.full(len(rows), tolerance),
            [row[2] for row in rows],
            [row[3] for row in rows],
        )

    return make


@pytest.fixture(scope="session")
def excluded() -> Excluded:
    def run(rule: str, votes: Votes, controls: Controls | None = None) -> dict[str, str]:
        found: list[Exclusion] = registry.configure("screening", rule).load()(votes, controls)
        return {each.annotator.name: each.reason for each in found}

    return run
