"""Dense search over images: the nearest in the joint space of an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.extension import JointEncoder, needs, retriever
from sightline.records import Candidates, Prompt
from sightline.systems.retrievers._ranking import exactly, need_pictures, nothing, speaking


@retriever(source="Radford et al. 2021", licence="Apache-2.0")
def exact(
    candidates: Candidates,
    queries: Sequence[Prompt],
    k: int,
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
) -> tuple[np.ndarray, np.ndarray]:
    """Ranks images by the cosine between the query and the image itself, compared with every image.

    `encoder` puts texts and images into one space. Images without a readable file are no answers, and a
    query whose vector is zero has none. Equal cosines keep the order of the candidates. Gives two arrays of
    queries x k: indices into the candidates (-1 where there are fewer answers) and cosines (NaN there).
    """
    if not need_pictures(candidates) or not queries or k < 1:
        return nothing(len(queries), k)
    texts, asked = speaking(encoder.text([query.text for query in queries]))
    return exactly(candidates, texts, asked, len(queries), k, encoder)
