"""A collection of captioned images as a plain table: what a retriever may answer with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sightline.data.sources import Row, Source
from sightline.data.sources.plain import SYNONYMS, Pictures, fits, rows_of
from sightline.extension import importer
from sightline.records import Image, ImageKey, Record

KNOWN = ("image", "caption", "collection", "image_tags.")
OTHERS = ("system", "prompt", "prompt_id", "question", "value")


def claims(source: Source) -> float:
    """A table with `image` and `caption`, and nothing about systems or votes."""
    return 0.8 * fits(source, "image", "caption", without=(*OTHERS, *SYNONYMS["system"]))


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={"captions.csv": "image,caption\na.png,A dog.\nb.png,A cat.\nb.png,A cat asleep.\n"},
)
def captions(source: Source, *, collection: str = "images", names_only: bool = False) -> Iterator[Record]:
    """A table of image and caption, several rows an image if it has several captions: one collection.

    Columns image_tags.<name> hold tags of the images.
    """
    pictures = Pictures(source, names_only)

    def image(row: Row) -> ImageKey:
        return ImageKey(row.text("collection", collection), row.text("image"))

    for key, group in groupby(rows_of(source, ("image", "caption"), KNOWN), image):
        first, *rest = group
        path = pictures.path(key.name, first.at)
        captions = (row.text("caption", None) for row in (first, *rest))
        said = tuple(caption for caption in captions if caption is not None)
        marks = {name: value for row in (first, *rest) for name, value in row.group("image_tags.").items()}
        yield Image(key, path, said, first.at, tags=marks)
