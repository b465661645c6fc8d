"""A search engine over captions alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import retriever
from sightline.records import Candidates, Prompt

BLOCK = 256


@retriever(source="Salton and Buckley 1988", licence="Apache-2.0")
def caption_words(
    candidates: Candidates, queries: Sequence[Prompt], k: int, *, words: int = 1, sublinear: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Ranks images by the cosine of TF-IDF vectors between the query and all captions of an image together.

    Word n-grams up to `words`; `sublinear` counts a repeated word as 1 + ln(frequency). Images that share no
    word with the query are not answers. Equal scores keep the order of the candidates. Gives two arrays of
    queries x k: indices into the candidates (-1 where there are fewer answers) and scores (NaN there).
    """
    indices = np.full((len(queries), max(k, 0)), -1, dtype=np.int64)
    scores = np.full(indices.shape, np.nan)
    documents = [" \n ".join(captions) for captions in candidates.captions]
    if not indices.size or not any(any(map(str.isalnum, document)) for document in documents):
        return indices, scores
    from sklearn.feature_extraction.text import TfidfVectorizer

    index = TfidfVectorizer(ngram_range=(1, words), sublinear_tf=sublinear, token_pattern=r"(?u)\b\w+\b")
    known = index.fit_transform(documents).T.tocsr()
    asked = index.transform([query.text for query in queries])
    for start in range(0, len(queries), BLOCK):
        block = (asked[start : start + BLOCK] @ known).toarray()
        best, values = _best(block, k)
        rows = slice(start, start + len(block))
        indices[rows, : best.shape[1]] = np.where(values > 0, best, -1)
        scores[rows, : best.shape[1]] = np.where(values > 0, values, np.nan)
    return indices, scores


def _best(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k highest of each row in falling order, ties by column."""
    # A last-digit difference between equal captions is noise of summation, not a better answer.
    rounded = np.round(scores, 12)
    if k < scores.shape[1]:
        # Partitioning finds the k-th score; everything at or above it is sorted, so that ties stay in order.
        limit = np.partition(rounded, -k, axis=1)[:, -k, None]
        rounded = np.where(rounded >= limit, rounded, -1.0)
    order = np.argsort(-rounded, axis=1, kind="stable")[:, :k]
    return order, np.clip(np.take_along_axis(rounded, order, axis=1), -1.0, 1.0)
