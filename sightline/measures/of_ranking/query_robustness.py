"""Whether a query finds the same images when it is nudged."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sightline.errors import UsageError, near
from sightline.extension import NoValue, Values, measure
from sightline.measures.of_ranking._places import need_places
from sightline.measures.of_ranking._scores import NOTHING
from sightline.records import Rankings
from sightline.statistics.ranking_difficulty import robustness

NOISES = ("vector", "words")


@measure.of_ranking(
    direction="none", range=(0, 1), rests_on="run", beyond=True,
    source="Zhou and Croft 2006; PQPP (Poesina et al. 2025)", licence="Apache-2.0",
)  # fmt: skip
def query_robustness(
    run: Rankings,
    *,
    k: int = 100,
    noise: Literal["vector", "words"] = "vector",
    share: float = 0.1,
    draws: int = 5,
    seed: int = 0,
) -> Values:
    """Overlap |A and B| / |A or B| of the first k images found with and without noise on the query.

    The engine is asked again, which only engines that were run here can be; a run that kept fewer than `k`
    answers is asked for as many. With `noise` "vector" the query's vector is nudged in a random direction by
    `share` of its length; with "words" each word is left out with chance `share`, and at least one, but never
    all: for engines that compare words. The mean over `draws` nudges, drawn with `seed`. Foretells how well a
    query was answered without any judgement: higher means easier. Of a collection of hardly more than `k`
    images everything is found again.
    """
    need_places("query_robustness", k)
    if noise not in NOISES:
        raise UsageError(f"query_robustness: noise {noise!r}", remedy=near(noise, NOISES))
    if not 0 < share <= 1 or draws < 1:
        raise UsageError(
            f"query_robustness: share={share:g}, draws={draws}",
            remedy="The share lies above 0 and up to 1, and there is at least 1 draw.",
        )
    rankings = len(run.offsets) - 1
    if run.beyond is None or run.images is None:
        return [NoValue("the engine cannot be asked again")] * rankings
    overlaps = np.zeros((draws, rankings))
    for draw in range(draws):
        images, offsets, why = run.beyond.asked_again(k, noise=noise, share=share, seed=seed + draw)
        overlaps[draw] = robustness(run.images, run.offsets, images, offsets, k=k)
    empty = np.diff(run.offsets) == 0
    return [
        NoValue(NOTHING) if gone else float(value) if reason is None else NoValue(reason)
        for value, gone, reason in zip(overlaps.mean(axis=0), empty, why, strict=True)
    ]
