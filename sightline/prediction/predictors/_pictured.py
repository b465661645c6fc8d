"""What predictors that see images share: the vectors of the images of each prompt, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sightline.errors import DataError
from sightline.extension import ImageEncoder, Picture
from sightline.records import Examples

SYSTEMS = "systems"
"""Examples may carry, under this name, who answered with each picture: one row per prompt, "" for none."""


def with_images(x: Examples, encoder: ImageEncoder) -> Examples:
    """The same examples carrying the vectors of their images, so that folds need not encode them again."""
    return replace(x, vectors={**x.vectors, _place(encoder): image_vectors(x, encoder)})


def image_vectors(x: Examples, encoder: ImageEncoder) -> np.ndarray:
    """Examples x images x numbers, NaN where a prompt has fewer images or one has no vector."""
    carried = x.vectors.get(_place(encoder))
    if carried is not None:
        return carried
    shown: Sequence[Sequence[Picture]] = x.pictures
    if not shown and len(x):
        raise DataError(
            "the images of the prompts are needed, and none were given",
            remedy="Choose a predictor that sees prompts, or have the systems answer first.",
        )
    # An image that several prompts have is encoded once.
    distinct = {picture.sha256: picture for mine in shown for picture in mine}
    number = {sha256: n for n, sha256 in enumerate(distinct)}
    rows = np.asarray(encoder.image(list(distinct.values())), dtype=np.float32)
    most = max((len(mine) for mine in shown), default=0)
    found = np.full((len(x), most, rows.shape[1]), np.nan, dtype=np.float32)
    for n, mine in enumerate(shown):
        if mine:
            found[n, : len(mine)] = rows[[number[picture.sha256] for picture in mine]]
    return found


def seen(vectors: np.ndarray) -> np.ndarray:
    """Which images of which example have a vector."""
    return np.isfinite(vectors).all(axis=2) if vectors.shape[2] else np.zeros(vectors.shape[:2], dtype=bool)


def names_of(x: Examples, images: int) -> np.ndarray:
    """Who answered with each image, "" where nobody says: examples x images."""
    carried = x.vectors.get(SYSTEMS)
    if carried is None:
        return np.full((len(x), images), "", dtype=np.str_)
    if carried.shape != (len(x), images):
        raise DataError(f"names of {carried.shape[1]} images a prompt for {images} images")
    return carried


def unit(rows: np.ndarray) -> np.ndarray:
    """Vectors of length 1 in double precision; one of zeros stays as it is."""
    wide = np.asarray(rows, dtype=np.float64)
    length = np.sqrt((wide**2).sum(axis=-1, keepdims=True))
    return np.asarray(wide / np.where(length > 0, length, 1))


def _place(encoder: ImageEncoder) -> str:
    # Known within this process only, which is as long as the examples live.
    return f"images by {id(encoder)}"
