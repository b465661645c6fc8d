"""Ranking features: what the rankings of a prompt say about it without any judgement, for predictors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import UsageError
from sightline.measures.rankings import UNJUDGED, Ranked, rankings_of
from sightline.study.study import Study

MEASURES = ("score_variance@100", "nqc@100", "wig@5", "caption_clarity@100", "engine_overlap@100")
AGAIN = ("query_robustness@100",)
"""Asks the engines again: five searches per query."""


def ranking_features(
    study: Study,
    ids: Sequence[int],
    *,
    measures: Sequence[str] = MEASURES,
    again: bool = False,
    ranked: Ranked | None = None,
) -> tuple[np.ndarray, list[str]]:
    """One row per prompt, one column per measure and engine, NaN where there is no value; and their names.

    Scores of engines are on scales of their own, so that each engine has its column; what engines share is
    one column, the mean over them. Columns without any value are left out. With `again` the engines are asked
    again with noise on the query. No judgement is looked at: what is held out cannot leak into features.
    """
    known = rankings_of(study, judged=False) if ranked is None else ranked
    columns: list[np.ndarray] = []
    names: list[str] = []
    for text in (*measures, *(AGAIN if again else ())):
        measure = registry.configure("of_ranking", text)
        if measure.spec.details["rests_on"] not in UNJUDGED:
            raise UsageError(
                f"{measure.name} looks at judgements", remedy="A feature must not depend on judgements."
            )
        values = known.values(measure)
        if measure.spec.details["rests_on"] == "runs":
            parts = {"": values.group_by("prompt_id").agg(pl.col("value").mean())}
        else:
            systems = sorted(known.names.values())
            parts = {f" of {name}": values.filter(pl.col("system") == name) for name in systems}
        for whose, part in parts.items():
            found = dict(part.select("prompt_id", "value").iter_rows())
            if found:
                columns.append(np.array([found.get(key, np.nan) for key in ids], dtype=np.float64))
                names.append(f"{measure.short}{whose}")
    if not columns:
        return np.zeros((len(ids), 0)), []
    return np.stack(columns, axis=1).reshape(len(ids), len(columns)), names
