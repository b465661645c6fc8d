"""What measures of a ranking's scores share: which rankings have any to go by, and what to say of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sightline.records import NoValue, Rankings

NOTHING = "nothing was retrieved"
NO_SCORES = "its answers have no scores"
RISING = "its scores rise along the ranking, as distances do"


class Scored(NamedTuple):
    """The rankings with scores to go by, as columns: their numbers, scores, offsets and places in the run."""

    number: np.ndarray
    scores: np.ndarray
    offsets: np.ndarray
    places: np.ndarray


def by_scores(
    run: Rankings, k: int, compute: Callable[[Scored], Sequence[float | NoValue] | np.ndarray], nan: str
) -> list[float | NoValue]:
    """What `compute` says of each ranking whose first k answers have falling scores; `nan` is its reason."""
    found: list[float | NoValue] = [NoValue(reason) for reason in _reasons(run, k)]
    number = np.array([n for n, each in enumerate(found) if each == NoValue("")], dtype=np.int64)
    if run.scores is None or not len(number):
        return found
    lengths = np.diff(run.offsets)[number]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(offsets[-1]) + np.repeat(run.offsets[:-1][number] - offsets[:-1], lengths)
    told = compute(Scored(number, run.scores[places], offsets, places))
    for n, value in zip(number.tolist(), told, strict=True):
        if isinstance(value, NoValue):
            found[n] = value
        else:
            found[n] = NoValue(nan) if np.isnan(value) else float(value)
    return found


def _reasons(run: Rankings, k: int) -> list[str]:
    """Why each ranking cannot be gone by; empty where it can."""
    lengths = np.diff(run.offsets)
    query = np.repeat(np.arange(len(lengths)), lengths)
    scores = np.full(len(query), np.nan) if run.scores is None else run.scores
    rank = np.arange(len(query)) - np.repeat(run.offsets[:-1], lengths)
    silent = np.bincount(query[~np.isfinite(scores)], minlength=len(lengths)) > 0
    step = np.diff(scores, prepend=np.nan)
    rises = np.bincount(query[(rank > 0) & (rank < k) & (step > 0)], minlength=len(lengths)) > 0
    return [
        NOTHING if not length else NO_SCORES if mute else RISING if rising else ""
        for length, mute, rising in zip(lengths.tolist(), silent, rises, strict=True)
    ]
