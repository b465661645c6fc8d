"""Anonymous judgements, and rules by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sightline import registry
from sightline.records import Question, Settled, Votes


@pytest.fixture(scope="session")
def anonymous(votes: Callable[..., Votes]) -> Callable[..., Votes]:
    """Anonymous votes from a list of values an item, on a scale with these ends."""

    def cast(*groups: list[float], low: float | None = None, high: float | None = None) -> Votes:
        rows = [(item, -1, value) for item, group in enumerate(groups) for value in group]
        return votes(rows, items=len(groups), question=Question("q", "ordinal", low, high))

    return cast


@pytest.fixture(scope="session")
def settle() -> Callable[[str, Votes], Settled]:
    """What the rule of this name, with parameters, makes of votes."""
    return lambda rule, cast: registry.configure("consensus", rule).load()(cast)
