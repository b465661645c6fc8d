"""Visual Genome: scene graphs, that is objects with attributes and the relations between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sightline.data.sources import Source
from sightline.errors import DataError, UsageError
from sightline.extension import importer
from sightline.records import Image, ImageKey, Record

GRAPHS = "scene_graphs.json"
OBJECTS = "objects.json"
ATTRIBUTES = "attributes.json"
RELATIONSHIPS = "relationships.json"
SIZES = "image_data.json"
PARTS = (OBJECTS, ATTRIBUTES, RELATIONSHIPS)


def claims(source: Source) -> float:
    """scene_graphs.json, or one or more of objects.json, attributes.json and relationships.json."""
    if source.is_file:
        return 0.9 * (source.the_file() in (GRAPHS, *PARTS))
    named = source.has(GRAPHS) or source.has(RELATIONSHIPS)
    return 0.9 * (named or (source.has(OBJECTS) and source.has(ATTRIBUTES)))


@importer(
    claims=claims,
    source="Krishna et al. 2017, Visual Genome",
    licence="CC-BY-4.0",
    files={
        "vg/image_data.json": '[{"image_id": 11, "width": 200, "height": 100, "coco_id": 7}]',
        "vg/objects.json": '[{"image_id": 11, "objects": [{"object_id": 1, "names": ["man"], "x": 20, '
        '"y": 10, "w": 50, "h": 90}, {"object_id": 2, "names": ["horse"], "x": 0, "y": 0, "w": 200, '
        '"h": 100}]}]',
        "vg/attributes.json": '[{"image_id": 11, "attributes": [{"object_id": 2, "names": ["horse"], '
        '"attributes": ["brown"], "x": 0, "y": 0, "w": 200, "h": 100}]}]',
        "vg/relationships.json": '[{"image_id": 11, "relationships": [{"predicate": "Riding", "subject": '
        '{"object_id": 1, "name": "man"}, "object": {"object_id": 2, "names": ["horse"]}}]}]',
    },
)
def visual_genome(
    source: Source, *, collection: str = "visual_genome", name: str = "image_id"
) -> Iterator[Record]:
    """Scene graphs of Visual Genome: scene_graphs.json, or objects, attributes and relationships apart.

    The scene of an image is {"objects": [{"kind", "box", "attributes"}], "relations": [{"subject",
    "relation", "object"}]}. Boxes are fractions, so they are kept only where image_data.json gives the size
    of the image. Images are called by their image_id; `name` "coco_id" takes the number in COCO instead, of
    which images without one are left out. With `collection` the graphs go to images that the study has, for
    example conqa's.
    """
    if name not in ("image_id", "coco_id"):
        raise UsageError(f"images have no {name!r}", remedy="name is image_id or coco_id.")
    known = _known(source)
    if name == "coco_id" and not known:
        raise DataError("coco_id stands in image_data.json, which is not there", where=str(source.path))
    for at, image, graph in _graphs(source):
        size = known.get(image, {})
        called = size.get(name) if name == "coco_id" else image
        if called is None:
            source.skip(at, "images without a coco_id")
            continue
        yield Image(ImageKey(collection, str(called)), at=at, scene=_scene(graph, size, at))


def _known(source: Source) -> dict[int, Mapping[str, Any]]:
    """What image_data.json says of every image: its size, and its number in COCO."""
    if not source.has(SIZES):
        return {}
    return {_image(item, at): item for at, item in _entries(source, SIZES)}


def _entries(source: Source, file: str) -> Iterator[tuple[str, Any]]:
    """The entries of a list, each after its place."""
    number = 0
    for number, item in source.entries(file):
        yield f"{file}[{number}]", item
    if not number:
        raise DataError("it is not a list of images", where=f"{file}:1", remedy="Obtain the file again.")


def _graphs(source: Source) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Place, image and graph of each image, in the form of scene_graphs.json."""
    if source.has(GRAPHS):
        for at, item in _entries(source, GRAPHS):
            yield at, _image(item, at), item
        return
    yield from _joined({file: _entries(source, file) for file in PARTS if source.has(file)})


def _joined(
    files: Mapping[str, Iterator[tuple[str, Any]]],
) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """The parts of each image together; they come in one order, and what is early waits for the others."""
    waiting: dict[int, dict[str, tuple[str, Any]]] = {}
    open_files = dict(files)
    whole: set[int] = set()
    while open_files:
        for file in list(open_files):
            at, item = next(open_files[file], ("", None))
            if item is None:
                del open_files[file]
                continue
            image = _image(item, at)
            parts = waiting.setdefault(image, {})
            if file in parts or image in whole:
                raise DataError(f"image {image} is there twice", where=at, remedy="Keep one of the two.")
            parts[file] = (at, item)
            if len(parts) == len(files):
                whole.add(image)
                yield _one(image, waiting.pop(image))
    for image, parts in waiting.items():
        yield _one(image, parts)


def _one(image: int, parts: Mapping[str, tuple[str, Any]]) -> tuple[str, int, Mapping[str, Any]]:
    objects: dict[Any, dict[str, Any]] = {}
    for file, listed in ((OBJECTS, "objects"), (ATTRIBUTES, "attributes")):
        at, item = parts.get(file, ("", {}))
        for each in _list(item, listed, at):
            objects.setdefault(each.get("object_id"), {}).update(each)
    at, item = parts.get(RELATIONSHIPS, ("", {}))
    relations = _list(item, "relationships", at)
    first = next(iter(parts.values()))[0]
    return at or first, image, {"objects": list(objects.values()), "relationships": relations}


def _scene(graph: Mapping[str, Any], size: Mapping[str, Any], at: str) -> dict[str, Any]:
    objects = _list(graph, "objects", at)
    names = {each.get("object_id"): _name(each, at) for each in objects}
    seen = []
    for each in objects:
        entry: dict[str, Any] = {"kind": _name(each, at)}
        box = _box(each, size)
        if box is not None:
            entry["box"] = box
        described = [str(word).strip().lower() for word in each.get("attributes") or []]
        if described:
            entry["attributes"] = described
        seen.append(entry)
    relations = []
    for each in _list(graph, "relationships", at):
        ends = [names.get(each.get(f"{end}_id")) or _name(each.get(end), at) for end in ("subject", "object")]
        relation = str(each.get("predicate") or "").strip().lower()
        relations.append({"subject": ends[0], "relation": relation, "object": ends[1]})
    return {"objects": seen, "relations": relations}


def _box(each: Mapping[str, Any], size: Mapping[str, Any]) -> list[float] | None:
    """Left, top, right and bottom as fractions; published boxes may reach a little beyond the image."""
    given = [*(each.get(side) for side in ("x", "y", "w", "h")), size.get("width"), size.get("height")]
    numbers = [float(number) for number in given if isinstance(number, int | float)]
    if len(numbers) < len(given) or not all(numbers[4:]):
        return None
    x, y, w, h, width, height = numbers
    edges = [x / width, y / height, (x + w) / width, (y + h) / height]
    box = [round(min(1.0, max(0.0, edge)), 6) for edge in edges]
    return box if box[0] < box[2] and box[1] < box[3] else None


def _name(each: Any, at: str) -> str:
    """The first name of an object: `names` in some of the published files, `name` in others."""
    listed = each.get("names") or [each.get("name")] if isinstance(each, Mapping) else [None]
    name = str(listed[0] or "").strip().lower() if isinstance(listed, Sequence) else ""
    if not name:
        raise DataError("an object has no name", where=at, remedy="Obtain the files again.")
    return name


def _image(item: Any, at: str) -> int:
    found = item.get("image_id", item.get("id")) if isinstance(item, Mapping) else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise DataError("an entry has no image_id", where=at, remedy="Obtain the files again.")
    return found


def _list(item: Mapping[str, Any], name: str, at: str) -> list[Mapping[str, Any]]:
    found = item.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise DataError(f"{name} is not a list of objects", where=at, remedy="Obtain the files again.")
    return found
