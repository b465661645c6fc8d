"""Dense search over captions: the nearest caption speaks for its image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import TextEncoder, needs, retriever
from sightline.records import Candidates, Prompt
from sightline.statistics.search import top_k_owners
from sightline.systems.retrievers._ranking import need_captions, nothing, placed, speaking


@retriever(source="Sightline", licence="Apache-2.0")
def text_only(
    candidates: Candidates,
    queries: Sequence[Prompt],
    k: int,
    *,
    encoder: TextEncoder = needs("encoder", "hashed_words"),
) -> tuple[np.ndarray, np.ndarray]:
    """Ranks images by the highest cosine between the query and one of their captions; looks at no image.

    Images without a caption are no answers, and a query whose vector is zero has none. Equal cosines keep
    the order of the candidates. Gives two arrays of queries x k: indices into the candidates (-1 where there
    are fewer answers) and cosines (NaN there).
    """
    need_captions(candidates)
    owner = [number for number, captions in enumerate(candidates.captions) for _ in captions]
    captions = [caption for each in candidates.captions for caption in each]
    if not captions or not queries or k < 1:
        return nothing(len(queries), k)
    rows, seen = speaking(encoder.text(captions))
    texts, asked = speaking(encoder.text([query.text for query in queries]))
    if not len(rows):
        return nothing(len(queries), k)
    found = top_k_owners(texts, rows, np.array(owner)[seen], k)
    return placed(found, asked, np.arange(len(candidates.keys)), len(queries))
