"""Two text encoders side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.encoders.models.concat import concat


class Fixed:
    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self.rows = np.array(rows)

    def text(self, texts: Sequence[str]) -> np.ndarray:
        return self.rows[: len(texts)]


def test_the_cosine_is_the_mean_of_both_cosines() -> None:
    # First encoder: cosine 0.6; second, not of length 1: cosine 0. Mean 0.3.
    both = concat(first=Fixed([[1, 0], [0.6, 0.8]]), second=Fixed([[5, 0, 0], [0, 2, 0]]))
    one, two = both.text(["a", "b"])
    np.testing.assert_allclose([one @ one, two @ two, one @ two], [1, 1, 0.3], atol=1e-4)
    assert both.text([]).shape == (0, 5)


def test_blocks_of_encoders_stay_known() -> None:
    inner = Fixed([[1, 2, 3, 4, 5]])
    inner.blocks = (2, 3)  # type: ignore[attr-defined]
    both = concat(first=concat(first=Fixed([[1, 0]]), second=inner), second=Fixed([[1.0, 1, 1]]))
    both.text(["a"])
    assert both.blocks == (2, 2, 3, 3)
