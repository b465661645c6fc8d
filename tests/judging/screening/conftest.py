"""Whom a rule excludes, by a table of judgements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sightline import registry
from sightline.records import Controls, Exclusion, Votes

Vouched = tuple[int, float, str, str]


@pytest.fixture(scope="session")
def excluded(tabled: Callable[..., Votes]) -> Callable[..., dict[str, str]]:
    """Name and reason by a rule, Votes or a table of annotators x items, and controls.

    Controls are rows of (item, expected, kind, by), all with one tolerance.
    """

    def excluded(
        rule: str, judged: object, rows: Sequence[Vouched] | None = None, tolerance: float = 0.0
    ) -> dict[str, str]:
        controls = None
        if rows is not None:
            item, expected, kind, by = zip(*rows, strict=True) if rows else ([], [], [], [])
            controls = Controls(
                np.array(item, dtype=np.int64),
                np.array(expected, dtype=np.float64),
                np.full(len(rows), tolerance),
                list(kind),
                list(by),
            )
        cast = judged if isinstance(judged, Votes) else tabled(judged)
        found: list[Exclusion] = registry.configure("screening", rule).load()(cast, controls)
        return {each.annotator.name: each.reason for each in found}

    return excluded
