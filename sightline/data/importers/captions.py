"""A collection of captioned images as a plain table: what a retriever may answer with."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Source
from sightline.data.sources.plain import Pictures, fits, rows_of
from sightline.extension import importer
from sightline.records import Image, ImageKey, Record

KNOWN = ("image", "caption", "collection")
OTHERS = ("system", "prompt", "prompt_id", "question", "value")


def claims(source: Source) -> float:
    """A table with `image` and `caption`, and nothing about systems or votes."""
    return 0.8 * fits(source, "image", "caption", without=OTHERS)


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={"captions.csv": "image,caption\na.png,A dog.\nb.png,A cat.\nb.png,A cat asleep.\n"},
)
def captions(source: Source, *, collection: str = "images", names_only: bool = False) -> Iterator[Record]:
    """A table of image and caption, several rows an image if it has several captions: one collection."""
    pictures = Pictures(source, names_only)
    last: Image | None = None
    for row in rows_of(source, ("image", "caption"), KNOWN):
        key = ImageKey(row.text("collection", collection), row.text("image"))
        caption = row.text("caption", None)
        given = () if caption is None else (caption,)
        if last is not None and last.key == key:
            last = last._replace(captions=(*last.captions, *given))
            continue
        if last is not None:
            yield last
        last = Image(key, pictures.path(key.name, row.at), given, row.at)
    if last is not None:
        yield last
