"""The precision to be expected of a ranking that nobody judged."""

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
def expected_precision(
    run: Rankings,
    *,
    k: int = 10,
    min_rel: float = 1.0,
    predictor: Any = needs("predictor", "logistic"),
    encoder: TextEncoder = needs("encoder", "hashed_words"),
    folds: int = 5,
    seed: int = 0,
) -> Values:
    """Expected share of relevant images among the first k: the mean of their predicted relevance.

    A `predictor` learns from judged pairs of a query and an image of other queries (in `folds` folds of
    queries, drawn with `seed`) how probably an image with this score, rank and similarity to the query is
    relevant; `encoder` says how similar the query is to what is said of the image, and to the image itself if
    it encodes images. Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant
    where the query was judged at all. A place past the end of a short ranking holds nothing.
    """
    need_places("expected_precision", k)
    p = predicted(run, predictor, encoder, depth=k, min_rel=min_rel, folds=folds, seed=seed)
    return told(run, p, lambda known, offsets: expected.expected_precision(known, offsets, k=k), k)
