"""What measures of predicted relevance share: asking for it once, and leaving out rankings without it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from sightline.extension import NoValue
from sightline.records import Rankings

UNKNOWN = "nothing predicts which of its images are relevant"


def predicted(
    run: Rankings, predictor: Any, encoder: Any, *, depth: int, min_rel: float, folds: int, seed: int
) -> np.ndarray | None:
    """How probably the image at each place is relevant; None where there is nothing to tell it from."""
    if run.beyond is None:
        return None
    return run.beyond.relevance(predictor, encoder, depth=depth, min_rel=min_rel, folds=folds, seed=seed)


def told(
    run: Rankings, p: np.ndarray | None, compute: Callable[[np.ndarray, np.ndarray], np.ndarray], k: int
) -> list[float | NoValue]:
    """What `compute` makes of the probabilities of the first k places of each ranking, and their offsets.

    An engine that found nothing has found nothing relevant: that needs no prediction.
    """
    lengths = np.diff(run.offsets)
    if p is None:
        return [NoValue(UNKNOWN) if length else 0.0 for length in lengths.tolist()]
    rank = np.arange(int(lengths.sum())) - np.repeat(run.offsets[:-1], lengths)
    first = p[rank < k]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(lengths, k))])
    values = compute(np.where(np.isfinite(first), first, 0.0), offsets)
    silent = np.array([~np.isfinite(first[a:b]).any() for a, b in pairwise(offsets)])
    return [
        NoValue(UNKNOWN) if length and mute else float(value)
        for value, length, mute in zip(values, lengths.tolist(), silent, strict=True)
    ]
