"""What several search engines share: ordering scores, and leaving out what is no answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import DataError
from sightline.extension import ImageEncoder
from sightline.records import Candidates
from sightline.statistics.search import merged, top_k, unit

BLOCK = 65_536
"""Images whose vectors are in memory at once."""


def need_captions(candidates: Candidates) -> None:
    """Raise if there are images to search, and not one has a caption."""
    if candidates.keys and not any(candidates.captions):
        raise DataError(
            "none of the images to search has a caption",
            remedy="Import a table of image and caption, or search the images themselves: "
            "sightline list retriever",
        )


def need_pictures(candidates: Candidates) -> list[int]:
    """The images that have a file; raises if there are images to search, and not one has."""
    there = [number for number, picture in enumerate(candidates.pictures) if picture is not None]
    if candidates.keys and not there:
        raise DataError(
            "none of the images to search has its file in the study",
            remedy="Import the image files, or search captions: sightline list retriever",
        )
    return there


def exactly(
    candidates: Candidates,
    texts: np.ndarray,
    asked: np.ndarray,
    queries: int,
    k: int,
    encoder: ImageEncoder,
) -> tuple[np.ndarray, np.ndarray]:
    """Rankings of the queries `asked`, whose vectors are `texts`, by cosines with every image."""
    there = np.array(need_pictures(candidates))
    found, read = nothing(len(texts), k), 0
    for start in range(0, len(there), BLOCK):
        numbers = there[start : start + BLOCK]
        images, seen = speaking(
            encoder.image([p for n in numbers if (p := candidates.pictures[n]) is not None])
        )
        read += len(seen)
        if len(seen):
            block = placed(top_k(texts, images, k), np.arange(len(texts)), numbers[seen], len(texts))
            found = merged([found, block], k)
    need_readable(read)
    return placed(found, asked, np.arange(len(candidates.keys)), queries)


def need_readable(images: int) -> None:
    """Raise if not one image has a vector."""
    if not images:
        raise DataError(
            "none of the images to search can be read", remedy="sightline check tells which are broken."
        )


def nothing(queries: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rankings without a single answer: indices of -1 and scores of NaN."""
    return np.full((queries, max(k, 0)), -1, dtype=np.int64), np.full((queries, max(k, 0)), np.nan)


def best(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k highest scores of each row that are above 0, in falling order, ties by column.

    Gives indices (-1 where there are fewer) and scores (NaN there), rows x k.
    """
    indices, values = nothing(len(scores), k)
    width = min(k, scores.shape[1])
    kept = np.where(scores > 0, scores, -1.0)
    if width < scores.shape[1]:
        # Partitioning finds the k-th score; everything at or above it is sorted, so that ties stay in order.
        limit = np.partition(kept, -width, axis=1)[:, -width, None]
        kept = np.where(kept >= limit, kept, -1.0)
    order = np.argsort(-kept, axis=1, kind="stable")[:, :width]
    found = np.take_along_axis(kept, order, axis=1)
    indices[:, :width] = np.where(found > 0, order, -1)
    values[:, :width] = np.where(found > 0, found, np.nan)
    return indices, values


def speaking(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of length 1, and which of them say anything: a row of zeros or of NaN does not."""
    rows = np.asarray(vectors, dtype=np.float32)
    # A row of NaN stands for an image that could not be read; one of half NaN is a mistake, reported later.
    there = ~np.isnan(rows).all(axis=1) & rows.any(axis=1)
    return unit(rows[there]), np.flatnonzero(there)


def placed(
    found: tuple[np.ndarray, np.ndarray], asked: np.ndarray, known: Sequence[int] | np.ndarray, queries: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rankings of the queries `asked` over the candidates `known` as rankings of all queries over all."""
    numbers, scores = found
    indices, values = nothing(queries, numbers.shape[1])
    indices[asked] = np.where(numbers >= 0, np.asarray(known, dtype=np.int64)[numbers], -1)
    values[asked] = scores
    return indices, values
