"""Images without prompts: a folder of them is a collection, to compare with or to search in."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import TABLES, Source, composed
from sightline.extension import importer
from sightline.records import Image, ImageKey, Record


def claims(source: Source) -> float:
    """A folder with images directly inside, and no table next to them that would say more.

    Where there are folders of images as well, they are rather taken for systems.
    """
    if not source.pictures() or any(file.lower().endswith((*TABLES, ".json")) for file in source.files()):
        return 0.0
    folders = [below for top in source.folders()[:50] for below in (top, *source.folders(top)[:50])]
    return 0.2 if any(source.pictures(below) for below in folders) else 0.3


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={"photos/000000000139.png": "tan", "photos/000000000285.png": "red"},
)
def images(source: Source, *, collection: str = "images") -> Iterator[Record]:
    """A folder of images without prompts, such as the reference of `fid`.

    Images in folders below are taken too, whatever the depth: their tag `folder` is where they were.
    """
    yield from _below(source, collection, "")


def _below(source: Source, collection: str, folder: str) -> Iterator[Record]:
    for file in source.pictures(folder):
        tags = {"folder": composed(folder)} if folder else {}
        yield Image(ImageKey(collection, file), str(source.inside(file)), at=file, tags=tags)
    for below in source.folders(folder):
        yield from _below(source, collection, below)
