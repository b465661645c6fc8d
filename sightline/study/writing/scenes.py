"""What is known to be in an image: stored once per image, from any number of sources."""

from __future__ import annotations

import hashlib
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


def known_scenes(study: Study, contents: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """What is known to be in images, by the content of their files; each different account once."""
    made = dict[str, list[dict[str, Any]]]()
    keys = [(content,) for content in dict.fromkeys(contents)]
    with database.reading(study.engine) as connection:
        images = database.look_up(connection, tables.image, ["sha256"], keys, ["id"])
        content_of = {int(image): content for content, image in images}
        found = [(image,) for image in sorted(content_of)]
        rows = database.look_up(connection, tables.scene, ["image_id"], found, ["json"])
    for image, scene in sorted(rows, key=lambda row: row[0]):
        known = json.loads(scene)
        accounts = made.setdefault(content_of[int(image)], [])
        if known not in accounts:
            accounts.append(known)
    return made


def known_kinds(study: Study) -> tuple[str, ...]:
    """Every kind of object that is known to be in some image of the study."""
    each = [thing.get("kind") for scene in scenes(study).values() for thing in scene.get("objects") or ()]
    return tuple(sorted({kind for kind in each if isinstance(kind, str)}))


def scenes_hash(study: Study) -> str:
    """sha256 over everything that is known to be in images of the study, by their contents."""
    with database.reading(study.engine) as connection:
        rows = database.fetch(
            connection,
            "SELECT DISTINCT i.sha256, CAST(s.json AS TEXT) FROM scene s JOIN image i ON i.id = s.image_id "
            "WHERE i.sha256 IS NOT NULL",
        )
    return hashlib.sha256(json.dumps(sorted(map(list, rows))).encode()).hexdigest()


def _another_scene(at: str) -> ConflictError:
    return ConflictError(
        "something else is said to be in this image elsewhere",
        where=at,
        remedy="Correct one of the two, or import into a collection of its own: --option collection=NAME.",
    )
