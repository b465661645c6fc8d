"""Measures of a ranking against known relevance.

Relevant is a gain of at least `min_rel`; an image that nobody judged counts as not relevant. `k` is the
cut-off.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.errors import UsageError, near
from sightline.extension import measure
from sightline.measures.of_ranking._cut_off import need_cut_off
from sightline.records import Rankings
from sightline.statistics import rankings
from sightline.statistics.rankings import Hits, count_relevant, find_hits
from sightline.statistics.runs import count_judged

GAINS = ("linear", "exponential", "binary")


def _hits(run: Rankings, min_rel: float) -> Hits:
    """The ranks of the relevant images, computed once for all measures."""
    if min_rel not in run.found:
        known = count_relevant(run.ideal, run.ideal_offsets, min_rel=min_rel)
        run.found[min_rel] = find_hits(run.gains, run.offsets, known, min_rel=min_rel)
    hits: Hits = run.found[min_rel]
    return hits


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (P)", licence="Apache-2.0")
def precision(run: Rankings, *, k: int = 10, min_rel: float = 1.0) -> np.ndarray:
    """Proportion of the first k places that hold a relevant image.

    Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant, and so does a
    place after the end of a short ranking.
    """
    need_cut_off("precision", k)
    return _hits(run, min_rel).precision(k)


@measure.of_ranking(direction="higher", range=(0, 1), source="trec_eval (recall)", licence="Apache-2.0")
def recall(run: Rankings, *, k: int = 10, min_rel: float = 1.0) -> np.ndarray:
    """Proportion of the relevant images that are among the first k; not the papers' Recall@k (hit_rate).

    Relevant is a gain of at least `min_rel`; an image nobody judged is not relevant. With more than `k`
    relevant images it cannot reach 1.
    """
    need_cut_off("recall", k)
    return _hits(run, min_rel).recall(k)


@measure.of_ranking(
    direction="higher", range=(0, 1), source="trec_eval (success); Karpathy and Fei-Fei 2015 (Recall@K)",
    licence="Apache-2.0", aliases=("recall_at", "success", "r_at"),
)  # fmt: skip
def hit_rate(run: Rankings, *, k: int = 10, min_rel: float = 1.0) -> np.ndarray:
    """1 if a relevant image is among the first k, else 0: what image retrieval calls Recall@k.

    Its mean is the proportion of queries with a hit. It equals `recall` where each query has one relevant
    image. Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant.
    """
    need_cut_off("hit_rate", k)
    return _hits(run, min_rel).hit_rate(k)


@measure.of_ranking(
    direction="higher", range=(0, 1), source="trec_eval (Rprec)", licence="Apache-2.0", aliases=("rprec",)
)
def r_precision(run: Rankings, *, min_rel: float = 1.0) -> np.ndarray:
    """Proportion of relevant images among the first R, where R is the number of known relevant images.

    Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant.
    """
    return _hits(run, min_rel).r_precision()


@measure.of_ranking(
    direction="higher", range=(0, 1), source="trec_eval (recip_rank)", licence="Apache-2.0",
    aliases=("mrr", "rr", "recip_rank"),
)  # fmt: skip
def reciprocal_rank(run: Rankings, *, min_rel: float = 1.0) -> np.ndarray:
    """1 / rank of the first relevant image; 0 if none was retrieved. Its mean is MRR.

    Relevant is a gain of at least `min_rel`; an image nobody judged counts as not relevant.
    """
    return _hits(run, min_rel).reciprocal_rank()


@measure.of_ranking(
    direction="higher", range=(0, 1), source="trec_eval (map, map_cut)", licence="Apache-2.0",
    aliases=("map", "ap"),
)  # fmt: skip
def average_precision(run: Rankings, *, k: int | None = None, min_rel: float = 1.0) -> np.ndarray:
    """Mean over all relevant images of the precision at the rank of each; its mean over queries is MAP.

    A relevant image that was not retrieved, or stands after place `k`, adds 0. Relevant is a gain of at
    least `min_rel`; an image nobody judged counts as not relevant.
    """
    need_cut_off("average_precision", k)
    return _hits(run, min_rel).average_precision(k)


@measure.of_ranking(
    direction="higher", range=(0, 1), source="Jarvelin and Kekalainen 2002", licence="Apache-2.0"
)
def ndcg(
    run: Rankings,
    *,
    k: int | None = None,
    gains: Literal["linear", "exponential", "binary"] = "linear",
    min_rel: float = 1.0,
) -> np.ndarray:
    """Normalised discounted cumulative gain: discounted gains divided by those of the ideal ranking.

    sum of g / log2(rank + 1) over the ranking or its first k places, divided by the same sum for all known
    gains in falling order. g is the gain itself ("linear"), 2^gain - 1 ("exponential"), or 1 for every image
    with a gain of at least `min_rel` ("binary", the only one that uses min_rel); unjudged images and negative
    gains count as 0.
    """
    if gains not in GAINS:
        raise UsageError(f"ndcg: there are no gains {gains!r}", remedy=near(gains, GAINS))
    need_cut_off("ndcg", k)
    if gains == "binary":
        values = _hits(run, min_rel).ndcg(k)
    else:
        values = rankings.ndcg_graded(run.gains, run.offsets, run.ideal, run.ideal_offsets, k=k, gains=gains)
    # Summing in another order can put a perfect ranking a hair above 1; more than that would be wrong.
    return np.where((values > 1) & (values < 1 + 1e-9), 1.0, values)


@measure.of_ranking(
    direction="none", range=(0, 1), nan="nothing was retrieved", source="Buckley and Voorhees 2004",
    licence="Apache-2.0",
)  # fmt: skip
def judged(run: Rankings, *, k: int | None = 10) -> np.ndarray:
    """Proportion of the images among the first k that were judged: how far other measures can be trusted.

    Images, not places: a ranking shorter than `k` (None for all of it) is fully judged if all its images are.
    It says nothing about quality, but what was not judged counts as not relevant elsewhere.
    """
    need_cut_off("judged", k)
    count = count_judged(run.gains, run.offsets, k=k)
    return np.where(count.of > 0, count.judged / np.maximum(count.of, 1), np.nan)
