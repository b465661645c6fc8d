"""What is known to be in an image: stored once per image, from any number of sources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sightline.errors import ConflictError
from sightline.records import ImageKey
from sightline.study.schema import database, tables
from sightline.study.study import Study
from sightline.study.writing.keeping import Keeper


def keep_scenes(keeper: Keeper, records: Sequence[tuple[int, Mapping[str, Any], str]]) -> int:
    """Write scenes of images, given as (image id, scene, place); one that is there must be the same."""
    wanted: dict[tuple[int], tuple[str | None]] = {}
    places: dict[tuple[int], str] = {}
    for key, scene, at in records:
        encoded = (database.as_json(scene, at),)
        places.setdefault((key,), at)
        if wanted.setdefault((key,), encoded) != encoded:
            raise _another_scene(at)
    return keeper.keep(
        tables.scene, ["image_id"], ["json"], wanted, lambda key, _: _another_scene(places[key])
    )


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
