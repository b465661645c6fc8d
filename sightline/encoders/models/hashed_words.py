"""A text encoder that needs no weights: hashed words and letter sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import TextEncoder, encoder


@encoder(encodes=("text",), source="Weinberger et al. 2009", licence="Apache-2.0")
def hashed_words(*, dimensions: int = 512, words: int = 2, letters: int = 5) -> TextEncoder:
    """Texts as hashed counts of their words, word pairs and letter sequences, of length 1.

    One half of the vector counts word n-grams up to `words`, the other letter n-grams of 3 up to `letters`
    within words; each half is scaled to the same length. Nothing is learned, so the same text has the same
    vector everywhere. A text without a single letter or digit is the zero vector.
    """
    if dimensions < 2 or dimensions % 2:
        raise UsageError(f"hashed_words: dimensions={dimensions}", remedy="An even number, such as 512.")
    if words < 1 or letters < 3:
        raise UsageError(
            f"hashed_words: words={words}, letters={letters}", remedy="At least words=1 and letters=3."
        )
    return _HashedWords(dimensions, words, letters)


class _HashedWords:
    def __init__(self, dimensions: int, words: int, letters: int) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        half = dimensions // 2
        self._dimensions = dimensions
        # One-letter words matter in prompts ("a", "5"), and scikit-learn's own pattern drops them.
        self._words = HashingVectorizer(
            n_features=half, ngram_range=(1, words), token_pattern=r"(?u)\b\w+\b", norm="l2"
        )
        self._letters = HashingVectorizer(
            n_features=half, analyzer="char_wb", ngram_range=(3, letters), norm="l2"
        )

    def text(self, texts: Sequence[str]) -> np.ndarray:
        if not texts:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        spoken = [text if any(map(str.isalnum, text)) else "" for text in texts]
        halves = [half.transform(spoken).toarray() for half in (self._words, self._letters)]
        both = np.hstack(halves)
        length = np.linalg.norm(both, axis=1, keepdims=True)
        return (both / np.where(length > 0, length, 1)).astype(np.float32)
