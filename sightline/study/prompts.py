"""Which prompts of a study are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.errors import UsageError, near
from sightline.study import reading
from sightline.study.study import Study

if TYPE_CHECKING:
    import polars as pl


def prompts_of(study: Study, suite: str | None) -> pl.DataFrame:
    """The prompts of one suite, or of all; an unknown suite is an error that suggests near names."""
    import polars as pl

    prompts = reading.prompts(study)
    if suite is None:
        return prompts
    chosen = prompts.filter(pl.col("suite") == suite)
    if chosen.is_empty():
        known = prompts["suite"].unique().to_list()
        raise UsageError(f"there is no suite called {suite!r}", remedy=near(suite, known))
    return chosen
