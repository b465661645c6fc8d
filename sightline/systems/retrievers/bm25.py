"""The classic search engine over captions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import UsageError
from sightline.extension import retriever
from sightline.language.search_words import search_words
from sightline.records import Candidates, Prompt
from sightline.systems.retrievers._ranking import best, need_captions, nothing

BLOCK = 64


@retriever(source="Robertson et al. 1994; Lucene's form, by bm25s", licence="Apache-2.0", packages=("bm25s",))
def bm25(
    candidates: Candidates, queries: Sequence[Prompt], k: int, *, k1: float = 1.5, b: float = 0.75
) -> tuple[np.ndarray, np.ndarray]:
    """Ranks images by BM25 between the words of the query and of all captions of an image together.

    Sum over the query's words of ln(1 + (N - n + 0.5) / (n + 0.5)) f / (f + k1 (1 - b + b length / mean
    length)), with f the word's frequency in the captions, n the images that have it and N all images with a
    caption. Words are runs of letters and digits in lower case; none is left out. Images that share no word
    with the query are no answers. Equal scores keep the order of the candidates. Gives two arrays of
    queries x k: indices into the candidates (-1 where there are fewer answers) and scores (NaN there).
    """
    if k1 < 0 or not 0 <= b <= 1:
        raise UsageError(f"bm25: k1={k1:g}, b={b:g}", remedy="k1 is 0 or more, b from 0 to 1.")
    need_captions(candidates)
    documents = [search_words(" ".join(captions)) for captions in candidates.captions]
    said = [number for number, words in enumerate(documents) if words]
    indices, scores = nothing(len(queries), k)
    if not said or not indices.size:
        return indices, scores
    import bm25s

    index = bm25s.BM25(method="lucene", k1=k1, b=b, backend="numpy")
    index.index([documents[number] for number in said], show_progress=False)
    known = set(index.vocab_dict)
    place = np.array(said)
    for start in range(0, len(queries), BLOCK):
        part = [search_words(query.text) for query in queries[start : start + BLOCK]]
        found = np.zeros((len(part), len(said)))
        for row, words in enumerate(part):
            asked = [word for word in words if word in known]
            if asked:
                found[row] = index.get_scores(asked)
        numbers, values = best(found, k)
        rows = slice(start, start + len(part))
        indices[rows] = np.where(numbers >= 0, place[numbers], -1)
        scores[rows] = values
    return indices, scores
