"""What is known to be in images, as a plain table: objects with boxes, and words that can be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sightline.data.sources import Row, Source
from sightline.data.sources.plain import SYNONYMS, Pictures, fits, rows_of
from sightline.demands import clipped_box, read_scene
from sightline.extension import importer
from sightline.records import Image, ImageKey, Record

KNOWN = ("image", "scene", "collection")
OTHERS = ("system", "prompt", "prompt_id", "question", "value", "caption")
EXAMPLE = 'For example {"objects": [{"kind": "dog", "box": [0.1, 0.2, 0.5, 0.9]}], "complete": true}.'


def claims(source: Source) -> float:
    """A table with `image` and `scene`, and nothing about systems or votes."""
    return 0.8 * fits(source, "image", "scene", without=(*OTHERS, *SYNONYMS["system"]))


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={
        "scenes.csv": "image,scene\n"
        'a.png,"{""objects"": [{""kind"": ""dog"", ""box"": [0, 0, 0.5, 1], ""colour"": ""brown""}]}"\n'
        'b.png,"{""objects"": [], ""text"": [{""text"": ""OPEN""}], ""complete"": true}"\n'
    },
)
def scenes(source: Source, *, collection: str = "images", names_only: bool = False) -> Iterator[Record]:
    """A table of image and scene: what is known to be in each image, as JSON.

    `objects` have kind, box (left, top, right, bottom as fractions of width and height) and optionally
    colour, size and attributes; `text` has lines. With `complete` true nothing else is in the image. Boxes
    that reach beyond the image are clipped, those outside it are dropped, and both are listed.
    """
    pictures = Pictures(source, names_only)
    for row in rows_of(source, ("image", "scene"), KNOWN):
        name = row.text("image")
        path = pictures.path(name, row.at)
        key = ImageKey(row.text("collection", collection), name)
        yield Image(key, path, at=row.at, scene=_scene(source, row))


def _scene(source: Source, row: Row) -> dict[str, Any]:
    scene = row.structure("scene")
    if not isinstance(scene, Mapping):
        raise row.wrong("scene", "a JSON object", EXAMPLE)
    read = read_scene(scene, where=row.at)
    if not read.clipped and not read.dropped:
        return dict(scene)
    if read.clipped:
        source.note(row.at, "scenes with boxes that reach beyond the image: they were clipped")
    if read.dropped:
        source.skip(row.at, "scenes with boxes outside the image: these boxes were dropped")
    return {key: [*_inside(value)] if key in ("objects", "text") else value for key, value in scene.items()}


def _inside(things: Any) -> Iterator[dict[str, Any]]:
    for each in things or ():
        box, outcome = clipped_box(each["box"]) if each.get("box") is not None else (None, "")
        if outcome != "dropped":
            yield {**each, "box": list(box)} if box is not None else dict(each)
