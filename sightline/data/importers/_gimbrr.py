"""Image files that GIMBRR's way of naming ties to prompts: p<ID>_<n>, with anything after it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from pathlib import PurePosixPath

from sightline.data.sources import Source, composed
from sightline.records import Answer, Image, ImageKey, PromptKey, Record, System

SECOND = "second images of one prompt and sample (the first was taken)"
_NAME = re.compile(r"p0*(\d{1,12})_0*(\d{1,9})(?!\d)", re.ASCII)


def parse_name(file: str) -> tuple[str, int] | None:
    """The prompt and the position, from 0, that a file name tells; None if it is named otherwise."""
    found = _NAME.match(PurePosixPath(file).name)
    if found is None or found[2] == "0":
        return None
    return found[1], int(found[2]) - 1


def image_key(collection: str, system: str, file: str) -> ImageKey:
    """What an image is called, whether a table or a folder tells of it."""
    return ImageKey(collection, f"{system}/{composed(PurePosixPath(file).name)}")


def images(
    source: Source, suite: str, collection: str, system: str, known: Container[str] | None
) -> Iterator[Record]:
    """Systems, images and answers of all folders; a file that fits no prompt is noted as left out.

    `system` answered with what lies outside any folder; `known` are the prompts, if the source tells them.
    """
    for folder in ("", *source.folders()):
        name = composed(folder) or system
        found = False
        taken: set[tuple[str, int]] = set()
        for file in source.pictures(folder):
            parsed = parse_name(file)
            if parsed is None:
                source.skip(file, "images not called p<ID>_<n>, with n from 1")
                continue
            ref, position = parsed
            if known is not None and ref not in known:
                source.skip(file, "images of prompts that the directory does not hold")
                continue
            if parsed in taken:
                source.skip(file, SECOND)
                continue
            taken.add(parsed)
            if not found:
                yield System(name, at=folder or file)
            found = True
            image = image_key(collection, name, file)
            yield Image(image, str(source.inside(file)), at=file)
            yield Answer(PromptKey(suite, ref), name, position, image, at=file)
