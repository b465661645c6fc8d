"""The reciprocal rank to be expected of a ranking that nobody judged."""

from __future__ import annotations

from typing import Any

from sightline.extension import TextEncoder, Values, measure, needs
from sightline.measures.of_ranking._expected import predicted, told
from sightline.measures.of_ranking._places import need_places
from sightline.records import Rankings
from sightline.statistics import expected_precision as expected


@measure.of_ranking(
    direction="higher", range=(0, 1), rests_on="everything", source="PQPP (Poesina et al. 2025)",
    licence="Apache-2.0",
)  # fmt: skip
def expected_reciprocal_rank(
    run: Rankings,
    *,
    k: int = 25,
    min_rel: float = 1.0,
    predictor: Any = needs("predictor", "logistic"),
    encoder: TextEncoder = needs("encoder", "hashed_words"),
    folds: int = 5,
    seed: int = 0,
) -> Values:
    """Expected 1 / rank of the first relevant image, from the predicted relevance p of the first k.

    Sum over ranks r of (1/r) p_r (1 - p_1) ... (1 - p_{r-1}): images are taken to be relevant independently.
    What was said of `predictor`, `encoder`, `folds`, `seed` and `min_rel` in expected_precision holds here; a
    first relevant image past place `k` would add less than 1 / k.
    """
    need_places("expected_reciprocal_rank", k)
    p = predicted(run, predictor, encoder, depth=k, min_rel=min_rel, folds=folds, seed=seed)
    return told(run, p, lambda known, offsets: expected.expected_reciprocal_rank(known, offsets, k=k), k)
