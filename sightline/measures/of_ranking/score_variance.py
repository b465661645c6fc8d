"""How far the scores of the first answers lie apart."""

from __future__ import annotations

from sightline.extension import Values, measure
from sightline.measures.of_ranking._places import need_places
from sightline.measures.of_ranking._scores import NOTHING, by_scores
from sightline.records import Rankings
from sightline.statistics.ranking_difficulty import variance


@measure.of_ranking(
    direction="none", range=(0, None), rests_on="run", source="Perez-Iglesias and Araujo 2010",
    licence="Apache-2.0",
)  # fmt: skip
def score_variance(run: Rankings, *, k: int = 100) -> Values:
    """Population variance of the scores of the first k answers: a sure engine's top stands out.

    Foretells how well a query was answered without any judgement: higher means easier. Scores of different
    engines are on different scales; compare queries of one engine only. A ranking shorter than `k` counts
    with what it has; one with a single score varies by 0.
    """
    need_places("score_variance", k)
    return by_scores(run, k, lambda told: variance(told.scores, told.offsets, k=k), NOTHING)
