"""Query performance prediction: measures of a ranking that need no relevance.

They predict how well a query was answered from the scores of the first answers, the captions of the images
found, the engine run again with noise on the query, or what other engines found. Higher means an easier
query. Scores of engines are on scales of their own: compare queries of one engine only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from sightline.errors import UsageError, near
from sightline.extension import NoValue, Values, measure
from sightline.language.search_words import search_words
from sightline.measures.of_ranking._cut_off import NOTHING, need_cut_off
from sightline.records import Rankings
from sightline.statistics import ranking_difficulty

NO_SCORES = "its answers have no scores"
RISING = "its scores rise along the ranking, as distances do"
NO_CAPTIONS = "what was retrieved has no captions"
ALONE = "no other engine answered this prompt"
AGAINST = ("ranking", "collection")
NOISES = ("vector", "words")


@measure.of_ranking(
    direction="none", range=(0, None), rests_on="run", source="Perez-Iglesias and Araujo 2010",
    licence="Apache-2.0",
)  # fmt: skip
def score_variance(run: Rankings, *, k: int = 100) -> Values:
    """Population variance of the scores of the first k answers: a confident engine's top stands out.

    Predicts how well a query was answered without any judgement: higher means easier. Scores of different
    engines are on different scales; compare queries of one engine only. A ranking shorter than `k` counts
    with what it has; one with a single score has variance 0.
    """
    need_cut_off("score_variance", k)
    variance = ranking_difficulty.variance
    return _by_scores(run, k, lambda scored: variance(scored.scores, scored.offsets, k=k), NOTHING)


@measure.of_ranking(
    direction="none", range=(0, None), rests_on="run", beyond=("against", "collection"),
    source="Shtok et al. 2012", licence="Apache-2.0",
)  # fmt: skip
def nqc(run: Rankings, *, k: int = 100, against: Literal["ranking", "collection"] = "ranking") -> Values:
    """Normalised query commitment: standard deviation of the first k scores / |score of the collection|.

    The score of the collection is, `against` "ranking", the mean over the whole stored ranking (all that a
    run says about the rest), or, `against` "collection", the mean over all images that the engine searched:
    it is run again, which is possible for engines that were run here. Predicts how well a query was answered
    without any judgement: higher means easier. Compare queries of one engine only.
    """
    need_cut_off("nqc", k)

    def commitment(scored: _Scored, whole: np.ndarray) -> np.ndarray:
        return ranking_difficulty.nqc(scored.scores, scored.offsets, whole, k=k)

    return _against(run, "nqc", k, against, commitment, "the collection as a whole scores 0")


@measure.of_ranking(
    direction="none", rests_on="run", beyond=("against", "collection"), source="Zhou and Croft 2007",
    licence="Apache-2.0",
)  # fmt: skip
def wig(run: Rankings, *, k: int = 5, against: Literal["ranking", "collection"] = "ranking") -> Values:
    """Weighted information gain: (mean of the first k scores - score of the collection) / sqrt(query words).

    The score of the collection is, `against` "ranking", the mean over the whole stored ranking, or, `against`
    "collection", the mean over all images that the engine searched: it is run again. Predicts how well a
    query was answered without any judgement: higher means easier. Compare queries of one engine only.
    """
    need_cut_off("wig", k)
    texts = [] if run.beyond is None else run.beyond.texts()

    def gain(scored: _Scored, whole: np.ndarray) -> np.ndarray:
        # Where the query is not known, it counts as one word.
        words = [len(search_words(texts[n])) if texts else 1 for n in scored.number.tolist()]
        return ranking_difficulty.wig(scored.scores, scored.offsets, whole, words, k=k)

    return _against(run, "wig", k, against, gain, "the query has no words")


@measure.of_ranking(
    direction="none", range=(0, None), rests_on="run", beyond=True,
    source="Cronen-Townsend, Zhou and Croft 2002", licence="Apache-2.0",
)  # fmt: skip
def caption_clarity(run: Rankings, *, k: int = 100, own: float = 0.6, sharpness: float = 1.0) -> Values:
    """Clarity: divergence in bits of the caption words of the first k images from those of all captions.

    An image counts with weight exp(`sharpness` x score); its word distribution is `own` parts its captions'
    and the rest the collection's. A query that finds a mixture of images finds the words of the collection,
    and its clarity is near 0. Predicts how well a query was answered without any judgement: higher means
    easier. Cosines differ too little to weight by: with a `sharpness` of 1 the first k images count nearly
    equally.
    """
    need_cut_off("caption_clarity", k)
    if not 0 <= own <= 1 or sharpness < 0:
        raise UsageError(
            f"caption_clarity: own={own:g}, sharpness={sharpness:g}",
            remedy="own lies from 0 to 1, and sharpness is 0 or more.",
        )

    def divergence(scored: _Scored) -> list[float | NoValue]:
        if run.beyond is None:
            return [NoValue("the captions are not available")] * len(scored.number)
        counts, row = run.beyond.caption_words()
        captioned = np.asarray(counts.sum(axis=1)).ravel() > 0
        rows = row[scored.places]
        values = ranking_difficulty.clarity(
            scored.scores, scored.offsets, rows, counts, k=k, own=own, sharpness=sharpness
        )
        first = [slice(start, min(end, start + k)) for start, end in pairwise(scored.offsets)]
        return [
            max(float(value), 0.0) if captioned[rows[mine]].any() else NoValue(NO_CAPTIONS)
            for value, mine in zip(values, first, strict=True)
        ]

    return _by_scores(run, k, divergence, NO_CAPTIONS)


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

    The engine is run again, which is only possible for engines that were run here; a run that stored fewer
    than `k` answers is asked for as many. With `noise` "vector" the query's vector is moved in a random
    direction by `share` of its length; with "words" each word is dropped with probability `share`, at least
    one and never all: for engines that compare words. The mean over `draws` noisy queries, drawn with `seed`.
    Predicts how well a query was answered without any judgement: higher means easier. In a collection of
    hardly more than `k` images everything is found again.
    """
    need_cut_off("query_robustness", k)
    if noise not in NOISES:
        raise UsageError(f"query_robustness: noise {noise!r}", remedy=near(noise, NOISES))
    if not 0 < share <= 1 or draws < 1:
        raise UsageError(
            f"query_robustness: share={share:g}, draws={draws}",
            remedy="The share lies above 0 and up to 1, and there is at least 1 draw.",
        )
    rankings = len(run.offsets) - 1
    if run.beyond is None or run.images is None:
        return [NoValue("the engine cannot be run again")] * rankings
    overlaps = np.zeros((draws, rankings))
    for draw in range(draws):
        images, offsets, why = run.beyond.asked_again(k, noise=noise, share=share, seed=seed + draw)
        overlaps[draw] = ranking_difficulty.robustness(run.images, run.offsets, images, offsets, k=k)
    empty = np.diff(run.offsets) == 0
    return [
        NoValue(NOTHING) if nothing else float(value) if reason is None else NoValue(reason)
        for value, nothing, reason in zip(overlaps.mean(axis=0), empty, why, strict=True)
    ]


@measure.of_ranking(direction="none", range=(0, 1), rests_on="runs", source="Sightline", licence="Apache-2.0")
def engine_overlap(run: Rankings, *, k: int = 100) -> Values:
    """Mean overlap |A and B| / |A or B| of the first k images with those of each other engine.

    Engines that agree have found what there is to find. The mean of these values over the engines of a prompt
    is the mean over all their pairs. Needs no judgement and no score; higher means easier. An engine with
    empty results shares nothing; one that was not run on the prompt does not count.
    """
    need_cut_off("engine_overlap", k)
    lengths = np.diff(run.offsets)
    if run.images is None or run.prompts is None or run.systems is None:
        return [NoValue(ALONE)] * len(lengths)
    overlap = ranking_difficulty.engine_overlap(run.images, run.offsets, run.prompts, run.systems, k=k)
    return [
        float(value) if value == value else NoValue(ALONE if length else NOTHING)
        for value, length in zip(overlap, lengths.tolist(), strict=True)
    ]


class _Scored(NamedTuple):
    """The rankings with usable scores, as columns: their numbers, scores, offsets and places in the run."""

    number: np.ndarray
    scores: np.ndarray
    offsets: np.ndarray
    places: np.ndarray


def _by_scores(
    run: Rankings, k: int, compute: Callable[[_Scored], Sequence[float | NoValue] | np.ndarray], nan: str
) -> list[float | NoValue]:
    """`compute` for each ranking whose first k answers have falling scores; `nan` is the reason for NaN."""
    results: list[float | NoValue] = [NoValue(reason) for reason in _reasons(run, k)]
    number = np.array([n for n, each in enumerate(results) if each == NoValue("")], dtype=np.int64)
    if run.scores is None or not len(number):
        return results
    lengths = np.diff(run.offsets)[number]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(offsets[-1]) + np.repeat(run.offsets[:-1][number] - offsets[:-1], lengths)
    values = compute(_Scored(number, run.scores[places], offsets, places))
    for n, value in zip(number.tolist(), values, strict=True):
        if isinstance(value, NoValue):
            results[n] = value
        else:
            results[n] = NoValue(nan) if np.isnan(value) else float(value)
    return results


def _reasons(run: Rankings, k: int) -> list[str]:
    """Why the scores of each ranking cannot be used; empty where they can."""
    lengths = np.diff(run.offsets)
    query = np.repeat(np.arange(len(lengths)), lengths)
    scores = np.full(len(query), np.nan) if run.scores is None else run.scores
    rank = np.arange(len(query)) - np.repeat(run.offsets[:-1], lengths)
    missing = np.bincount(query[~np.isfinite(scores)], minlength=len(lengths)) > 0
    step = np.diff(scores, prepend=np.nan)
    rises = np.bincount(query[(rank > 0) & (rank < k) & (step > 0)], minlength=len(lengths)) > 0
    return [
        NOTHING if not length else NO_SCORES if without else RISING if rising else ""
        for length, without, rising in zip(lengths.tolist(), missing, rises, strict=True)
    ]


def _against(
    run: Rankings,
    name: str,
    k: int,
    against: str,
    compute: Callable[[_Scored, np.ndarray], np.ndarray],
    nan: str,
) -> Values:
    """`compute` for each ranking and the score of its collection, or why that is not known."""
    if against not in AGAINST:
        raise UsageError(f"{name}: against {against!r}", remedy=near(against, AGAINST))

    def values(scored: _Scored) -> list[float | NoValue]:
        if against == "ranking":
            # No ranking here is empty, and reduceat adds up between the offsets.
            whole = np.add.reduceat(scored.scores, scored.offsets[:-1]) / np.diff(scored.offsets)
            return list(compute(scored, whole))
        if run.beyond is None:
            return [NoValue("the collection is not available")] * len(scored.number)
        every = run.beyond.collection_scores()
        own = [every[n] for n in scored.number.tolist()]
        known = np.array([0.0 if isinstance(each, NoValue) else each for each in own])
        return [
            each if isinstance(each, NoValue) else float(value)
            for each, value in zip(own, compute(scored, known), strict=True)
        ]

    return _by_scores(run, k, values, nan)
