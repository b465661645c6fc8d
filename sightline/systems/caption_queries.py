"""Captions as queries: every caption of a collection asks for the image it was written for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from sightline.errors import DataError, UsageError
from sightline.estimate import plural
from sightline.records import ImageKey, Item, Prompt, PromptKey, Question, Record, Truth
from sightline.rendering.result import Result
from sightline.study import reading
from sightline.study.collections import images_of
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.verbs import SEED, argument, option, verb

RELEVANCE = "relevance"
RULE = "own_caption"
BY = "suite from-captions"


@dataclass(frozen=True)
class CaptionQueries(Result):
    """The captions that became queries, and of how many images."""

    suite: str
    collection: str
    number: int
    already: bool
    queries: int
    images: int
    without: int

    @property
    def sentence(self) -> str:
        done = "were already there" if self.already else "added"
        return (
            f"{plural(self.queries, 'caption')} of {plural(self.images, 'image')} {done} as queries of the "
            f"suite {self.suite}; the image of a caption is its one relevant image."
        )

    @property
    def notes(self) -> Sequence[str]:
        return [f"{plural(self.without, 'image')} without a caption asked nothing."] if self.without else []

    @property
    def next(self) -> Sequence[str]:
        return (
            f"sightline retrieve STUDY ENGINE --with bm25 --collection {self.collection} --without-own",
            f"sightline undo STUDY {self.number}   # removes these queries",
        )


@verb("collect", BY)
def caption_queries(
    study: Study,
    collection: Annotated[str, argument("The collection whose captions become queries.", "COLLECTION")],
    *,
    suite: Annotated[str | None, option("Name of the suite.", metavar="NAME", shown="COLLECTION")] = None,
    per_image: Annotated[
        int | None, option("Take this many captions of each image at random.", least=1, shown="all")
    ] = None,
    seed: Annotated[int, SEED] = 0,
) -> CaptionQueries:
    """Make queries of the captions of a collection.

    As in MS-COCO and ConQA's MS-COCO-VG: the image that a caption was written for is its one relevant image
    (question `relevance`, rule `own_caption`). An engine that reads captions must not see the query itself:
    retrieve with --without-own leaves it out, without that option the comparison is with it.
    """
    import numpy as np

    if seed < 0:
        raise UsageError(f"the seed is {seed}", remedy="A seed is 0 or more.")
    images = images_of(study, collection)
    rows = reading.captions(study).join(images, on="image_id", maintain_order="left")
    if rows.is_empty():
        raise DataError(
            f"no image of collection {collection!r} has a caption",
            remedy="Import a table of image and caption: sightline import STUDY captions.csv",
        )
    name, rng = suite or collection, np.random.default_rng(seed)
    records: list[Record] = []
    asked = 0
    captioned = rows.group_by("name", maintain_order=True).agg("caption")
    for image, captions in captioned.iter_rows():
        chosen: Sequence[int] = range(len(captions))
        if per_image is not None and per_image < len(captions):
            chosen = sorted(rng.choice(len(captions), per_image, replace=False).tolist())
        for place in chosen:
            key = PromptKey(name, f"{image}#{place}")
            records.append(Prompt(key, captions[place]))
            records.append(Truth(RELEVANCE, Item(key, image=ImageKey(collection, image)), 1.0, rule=RULE))
            asked += 1
    digest = hashlib.sha256(repr((name, collection, records)).encode("utf-8", "surrogatepass")).hexdigest()
    if not any(each.name == RELEVANCE for _, each in reading.questions(study)):
        records.insert(0, Question(RELEVANCE, "ordinal", 0.0, 1.0, 1.0))
    stored = loading.load(study, records, importer=BY, path=f"captions of {collection}", digest=digest)
    without = images.height - captioned.height
    return CaptionQueries(
        name, collection, stored.source_id, stored.already, asked, captioned.height, without
    )
