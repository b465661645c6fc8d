"""A search engine over captions alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import retriever
from sightline.records import Candidates, Prompt
from sightline.systems.retrievers._ranking import best, need_captions, nothing

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
    need_captions(candidates)
    indices, scores = nothing(len(queries), k)
    documents = [" \n ".join(captions) for captions in candidates.captions]
    if not indices.size or not any(any(map(str.isalnum, document)) for document in documents):
        return indices, scores
    from sklearn.feature_extraction.text import TfidfVectorizer

    index = TfidfVectorizer(ngram_range=(1, words), sublinear_tf=sublinear, token_pattern=r"(?u)\b\w+\b")
    known = index.fit_transform(documents).T.tocsr()
    asked = index.transform([query.text for query in queries])
    for start in range(0, len(queries), BLOCK):
        block = (asked[start : start + BLOCK] @ known).toarray()
        rows = slice(start, start + len(block))
        # A last-digit difference between equal captions is noise of summation, not a better answer.
        indices[rows], scores[rows] = best(np.clip(np.round(block, 12), 0.0, 1.0), k)
    return indices, scores
