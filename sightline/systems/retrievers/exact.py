"""Dense search over images: the nearest in the joint space of an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.errors import DataError
from sightline.extension import JointEncoder, needs, retriever
from sightline.records import Candidates, Prompt
from sightline.statistics.search import top_k
from sightline.systems.retrievers._ranking import nothing, placed, speaking


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
    there = [number for number, picture in enumerate(candidates.pictures) if picture is not None]
    if candidates.keys and not there:
        raise DataError(
            "none of the images to search has its file in the study",
            remedy="Import the image files, or search captions: sightline list retriever",
        )
    if not there or not queries or k < 1:
        return nothing(len(queries), k)
    pictures = [picture for picture in candidates.pictures if picture is not None]
    images, seen = speaking(encoder.image(pictures))
    texts, asked = speaking(encoder.text([query.text for query in queries]))
    if not len(images):
        raise DataError(
            "none of the images to search can be read", remedy="sightline check tells which are broken."
        )
    return placed(top_k(texts, images, k), asked, np.array(there)[seen], len(queries))
