"""Two text encoders side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import TextEncoder, encoder, needs


@encoder(encodes=("text",), source="this project", licence="Apache-2.0")
def concat(
    *,
    first: TextEncoder = needs("encoder", "sentence"),
    second: TextEncoder = needs("encoder", "minilm"),
) -> TextEncoder:
    """Concatenate the vectors of two encoders, each half of the same length, the whole of length 1.

    The cosine of two texts is then the mean of both encoders' cosines.
    """
    return _Concat(first, second)


class _Concat:
    def __init__(self, first: TextEncoder, second: TextEncoder) -> None:
        self._encoders = (first, second)
        # How many numbers each encoder, or each block of it, has: known once something was encoded.
        self.blocks: tuple[int, ...] = ()

    def unread(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text are beyond what one of the encoders reads."""
        counts = [each.unread(texts) for each in self._encoders if hasattr(each, "unread")]
        return [max(each) for each in zip(*counts, strict=True)] if counts else [0] * len(texts)

    def text(self, texts: Sequence[str]) -> np.ndarray:
        halves: list[np.ndarray] = []
        blocks: list[int] = []
        for each in self._encoders:
            rows = np.asarray(each.text(texts), dtype=np.float32)
            blocks += getattr(each, "blocks", (rows.shape[1],))
            halves.append(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
        self.blocks = tuple(blocks)
        return np.hstack(halves) / np.float32(np.sqrt(2))
