"""An encoder whose weights come inside its package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sightline.extension import ImageEncoder, Picture, Weights, encoder

SHA256 = "ca738cc53ed81796287dfd8e3e60ed3403af6b10854e172f0960d09cadf9df4c"


@encoder(
    encodes=("image",),
    dimensions=4,
    weights=Weights(sha256=SHA256, package="sightline-example:sightline_example/tiny_colours.npz"),
    source="an example",
    licence="Apache-2.0",
)
def tiny_colours(weights: Path, *, squash: bool = True) -> ImageEncoder:
    """Mean colour, mixed by a small matrix of weights."""
    with np.load(weights, allow_pickle=False) as arrays:
        return _TinyColours(arrays["projection"], squash)


class _TinyColours:
    def __init__(self, projection: np.ndarray, squash: bool) -> None:
        self._projection = projection
        self._squash = squash

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        colours = np.array([image.rgb.mean(axis=(0, 1)) / 255 for image in images]).reshape(-1, 3)
        mixed = colours @ self._projection
        return np.tanh(mixed) if self._squash else mixed
