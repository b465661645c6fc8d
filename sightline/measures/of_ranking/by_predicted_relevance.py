"""Measures of a ranking by predicted relevance: what is to be expected where nobody judged.

A `predictor` learns from judged pairs of a query and an image of other queries (in `folds` folds of queries,
drawn with `seed`) how probably an image with this score, rank and similarity to the query is relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from sightline.extension import NoValue, TextEncoder, Values, measure, needs
from sightline.measures.of_ranking._cut_off import need_cut_off
from sightline.records import Rankings
from sightline.statistics import expected_precision as expected

UNKNOWN = "the relevance of its images cannot be predicted"


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
    """Expected proportion of relevant images among the first k: the mean of their predicted relevance.

    A `predictor` learns from judged pairs of a query and an image of other queries (in `folds` folds of
    queries, drawn with `seed`) how probably an image with this score, rank and similarity to the query is
    relevant; `encoder` gives the similarity of the query to the captions of the image, and to the image
    itself if it encodes images. Relevant is a gain of at least `min_rel`; an image nobody judged counts as
    not relevant if the query was judged at all. A place after the end of a short ranking holds nothing.
    """
    need_cut_off("expected_precision", k)
    context = None if run.beyond is None else run.beyond.relevance(
        predictor, encoder, depth=k, min_rel=min_rel, folds=folds, seed=seed
    )  # fmt: skip
    return _expected(run, context, k, expected.expected_precision)


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

    Sum over ranks r of (1/r) p_r (1 - p_1) ... (1 - p_{r-1}): relevance is taken to be independent between
    images. `predictor`, `encoder`, `folds`, `seed` and `min_rel` are those of expected_precision; a first
    relevant image after place `k` would add less than 1 / k.
    """
    need_cut_off("expected_reciprocal_rank", k)
    context = None if run.beyond is None else run.beyond.relevance(
        predictor, encoder, depth=k, min_rel=min_rel, folds=folds, seed=seed
    )  # fmt: skip
    return _expected(run, context, k, expected.expected_reciprocal_rank)


def _expected(run: Rankings, p: np.ndarray | None, k: int, compute: Callable[..., np.ndarray]) -> Values:
    """`compute` of the relevance p predicted for the first k places of each ranking.

    Empty results hold nothing relevant: that needs no prediction.
    """
    lengths = np.diff(run.offsets)
    if p is None:
        return [NoValue(UNKNOWN) if length else 0.0 for length in lengths.tolist()]
    rank = np.arange(int(lengths.sum())) - np.repeat(run.offsets[:-1], lengths)
    first = p[rank < k]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(lengths, k))])
    values = compute(np.where(np.isfinite(first), first, 0.0), offsets, k=k)
    unknown = [~np.isfinite(first[a:b]).any() for a, b in pairwise(offsets)]
    return [
        NoValue(UNKNOWN) if length and missing else float(value)
        for value, length, missing in zip(values, lengths.tolist(), unknown, strict=True)
    ]
