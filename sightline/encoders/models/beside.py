"""Two text encoders side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import TextEncoder, backbone, needs


@backbone(encodes=("text",), source="this project", licence="Apache-2.0")
def beside(
    *,
    first: TextEncoder = needs("backbone", "sentence"),
    second: TextEncoder = needs("backbone", "minilm"),
) -> TextEncoder:
    """Texts as the vectors of two encoders put side by side, each half of the same length, the whole of 1.

    The cosine of two texts is then the mean of both encoders' cosines.
    """
    return _Beside(first, second)


class _Beside:
    def __init__(self, first: TextEncoder, second: TextEncoder) -> None:
        self._encoders = (first, second)
        # How many numbers each encoder, or each block of it, has: known once something was encoded.
        self.blocks: tuple[int, ...] = ()

    def text(self, texts: Sequence[str]) -> np.ndarray:
        halves: list[np.ndarray] = []
        blocks: list[int] = []
        for encoder in self._encoders:
            rows = np.asarray(encoder.text(texts), dtype=np.float32)
            blocks += getattr(encoder, "blocks", (rows.shape[1],))
            halves.append(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
        self.blocks = tuple(blocks)
        return np.hstack(halves) / np.float32(np.sqrt(2))
