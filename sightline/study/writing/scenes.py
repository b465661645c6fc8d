"""What is known to be in an image: stored once per image, from any number of sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from sightline.errors import ConflictError
from sightline.records import ImageKey
from sightline.study.schema import database, tables
from sightline.study.study import Study


def keep_scenes(
    connection: Connection,
    source_id: int | None,
    records: Sequence[tuple[int, Mapping[str, Any], str]],
    lean_on: Callable[[int | None], None],
) -> int:
    """Write scenes of images, given as (image id, scene, place); one that is there must be the same."""
    wanted: dict[int, tuple[str | None, str]] = {}
    for key, scene, at in records:
        text = database.as_json(scene, at)
        if wanted.setdefault(key, (text, at))[0] != text:
            raise _another_scene(at)
    if not wanted:
        return 0
    database.matching(connection, [("image_id", "BIGINT")], [(key,) for key in wanted])
    rows = database.fetch(
        connection,
        "SELECT s.image_id, CAST(s.json AS TEXT), s.source_id FROM wanted w "
        "JOIN scene s ON s.image_id = w.image_id",
    )
    for key, known, owner in rows:
        text, at = wanted.pop(key)
        if text != known:
            raise _another_scene(at)
        lean_on(owner)
    fresh = [(key, text, source_id) for key, (text, _) in wanted.items()]
    database.insert(connection, tables.scene, ["image_id", "json", "source_id"], fresh)
    return len(fresh)


def scenes(study: Study) -> dict[ImageKey, dict[str, Any]]:
    """What is known to be in each image of which anything is."""
    with database.reading(study.engine) as connection:
        rows = database.fetch(
            connection,
            "SELECT c.name, i.name, CAST(s.json AS TEXT) FROM scene s JOIN image i ON i.id = s.image_id "
            "JOIN collection c ON c.id = i.collection_id ORDER BY s.image_id",
        )
    return {ImageKey(collection, name): json.loads(scene) for collection, name, scene in rows}


def _another_scene(at: str) -> ConflictError:
    return ConflictError(
        "something else is said to be in this image elsewhere",
        where=at,
        remedy="Correct one of the two, or import into a collection of its own: --option collection=NAME.",
    )
