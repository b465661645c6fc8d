"""Ranking features: what the rankings of a prompt say about it without any judgement, for predictors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sightline import registry
from sightline.measures.rankings import rankings_of
from sightline.study.study import Study

MEASURES = ("score_variance@100", "nqc@100", "wig@5", "caption_clarity@100", "engine_overlap@100")


def ranking_features(study: Study, ids: Sequence[int]) -> tuple[np.ndarray, list[str]]:
    """One row per prompt, one column per measure and engine, NaN where there is no value; and their names.

    Scores of engines are on scales of their own, so that each engine has its column; what engines share is
    one column, the mean over them. Columns without any value are left out. No judgement is looked at: what is
    held out cannot leak into features.
    """
    known = rankings_of(study, judged=False)
    columns: list[np.ndarray] = []
    names: list[str] = []
    for text in MEASURES:
        measure = registry.configure("of_ranking", text)
        values = known.values(measure)
        if measure.spec.details["rests_on"] == "runs":
            parts = {"": values.group_by("prompt_id").agg(pl.col("value").mean())}
        else:
            systems = sorted(known.names.values())
            parts = {f" of {name}": values.filter(pl.col("system") == name) for name in systems}
        for whose, part in parts.items():
            by_prompt = dict(part.select("prompt_id", "value").iter_rows())
            if by_prompt:
                columns.append(np.array([by_prompt.get(key, np.nan) for key in ids], dtype=np.float64))
                names.append(f"{measure.short}{whose}")
    return np.array(columns).reshape(len(columns), len(ids)).T, names
