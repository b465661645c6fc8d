"""COCO photos with boxes, as YOLO writes them: a text file of boxes next to each image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Image, ImageKey, Record

# Published boxes are rounded to six digits: an edge may lie that far outside.
ROUNDING = 1e-5
NAMED = re.compile(r"\s+(\d+):\s*(.+?)\s*")
LISTED = re.compile(r"\s*-\s*(.+?)\s*")


def claims(source: Source) -> float:
    """Folders images and labels, and a .yaml file with the names of the classes."""
    if source.is_file or not {"images", "labels"} <= set(source.folders()):
        return 0.0
    return 0.95 * (_classes_file(source) is not None and bool(_labels(source)))


@importer(
    claims=claims,
    source="Lin et al. 2014, COCO, in the layout of YOLO",
    licence="CC-BY-4.0 (annotations)",
    files={
        "coco/data.yaml": "# ours\nnames:\n  - person\n  - 'traffic light'  # two words\nnc: 2\n",
        "coco/images/train/a.png": "red",
        "coco/images/train/b.png": "tan",
        "coco/images/train/c.png": "blue",
        "coco/labels/train/a.txt": "1 0.5 0.5 1.0 0.5\n",
        "coco/labels/train/b.txt": "",
    },
)
def coco_boxes(source: Source, *, collection: str = "coco_boxes") -> Iterator[Record]:
    """Images with boxes: images/NAME.jpg, labels/NAME.txt (class, centre, width, height) and classes.yaml.

    The boxes are the scene of an image: {"objects": [{"kind", "box": [left, top, right, bottom]}]}, as
    fractions of its width and height. An image without a label file has nothing labelled in it, as in YOLO.
    """
    classes = _classes(source)
    labels = _labels(source)
    for file in _pictures(source):
        label = labels.pop(_stem(file), None)
        if label is None:
            source.skip(file, "images without a label file: what is in them is not known")
        scene = None if label is None else {"objects": list(_boxes(source, label, classes))}
        yield Image(ImageKey(collection, file), str(source.inside(file)), at=label or file, scene=scene)
    for label in labels.values():
        raise DataError("there is no image for these boxes", where=f"{label}:1", remedy="Add the image.")


def _stem(file: str) -> str:
    """The place of a file below its first folder, without its ending: the same for an image and its label."""
    return str(PurePosixPath(*PurePosixPath(file).parts[1:]).with_suffix(""))


def _pictures(source: Source) -> list[str]:
    return [file for under in ("images", *source.folders("images")) for file in source.pictures(under)]


def _labels(source: Source) -> dict[str, str]:
    found = [file for under in ("labels", *source.folders("labels")) for file in source.files("*.txt", under)]
    return {_stem(file): file for file in found}


def _classes_file(source: Source) -> str | None:
    for pattern in ("*.yaml", "*.yml"):
        for file in source.files(pattern):
            if any(line.startswith("names:") for _, line in source.lines(file)):
                return file
    return None


def _classes(source: Source) -> dict[int, str]:
    """The names under `names:`, written as `0: person` or as `- person`: all of YAML these files use."""
    file = _classes_file(source)
    if file is None:
        raise DataError(
            "there is no .yaml file with the names of the classes",
            where=str(source.path),
            remedy="Add the one the boxes were published with: names: and below it 0: person and so on.",
        )
    found: dict[int, str] = {}
    inside = False
    for at, line in source.lines(file):
        content = line.split("#")[0]
        if line.startswith("names:"):
            inside = True
            if content.removeprefix("names:").strip():
                raise DataError("the names stand on one line", where=at, remedy="Write one a line.")
            continue
        if not inside or not content.strip():
            continue
        named, listed = NAMED.fullmatch(content), LISTED.fullmatch(content)
        if named is None and listed is None:
            break
        key, name = (int(named[1]), named[2]) if named else (len(found), listed[1] if listed else "")
        if key in found:
            raise DataError(f"class {key} is there twice", where=at, remedy="Remove one.")
        found[key] = name.strip("'\"")
    if not found:
        raise DataError("names: names no class", where=file, remedy="Below it: 0: person and so on.")
    return found


def _boxes(source: Source, file: str, classes: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    # An image in which nothing is has an empty label file.
    if source.inside(file).stat().st_size == 0:
        return
    for at, line in source.lines(file):
        cells = line.split()
        if len(cells) != 5:
            raise DataError(
                f"{len(cells)} cells instead of 5",
                where=at,
                remedy="A line is: class, centre x, centre y, width, height.",
            )
        kind = classes.get(int(cells[0])) if cells[0].isdecimal() else None
        if kind is None:
            raise DataError(
                f"there is no class {cells[0]!r}", where=at, remedy=f"They are 0 to {max(classes)}."
            )
        yield {"kind": kind, "box": _corners(cells[1:], at)}


def _corners(cells: list[str], at: str) -> list[float]:
    try:
        x, y, width, height = map(float, cells)
    except ValueError:
        x = y = width = height = float("nan")
    edges = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    if not (width > 0 and height > 0 and all(-ROUNDING <= edge <= 1 + ROUNDING for edge in edges)):
        raise DataError(
            f"{' '.join(cells)} is no box within the image",
            where=at,
            remedy="Centre, width and height are fractions of the image's size, from 0 to 1.",
        )
    return [round(min(1.0, max(0.0, edge)), 7) for edge in edges]
