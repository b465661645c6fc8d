"""What detectors saw in images: kept once per detector's identity and content."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sightline.study.schema import database, tables
from sightline.study.study import Study


def known_detections(study: Study, detector: str, contents: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The scenes that a study holds of these contents, by a detector's identity."""
    keys = [(detector, content) for content in set(contents)]
    with database.reading(study.engine) as connection:
        rows = database.look_up(connection, tables.detection, ("detector", "content"), keys, ("json",))
    return {content: json.loads(scene) for _, content, scene in rows}


def keep_detections(study: Study, detector: str, scenes: Mapping[str, Mapping[str, Any]]) -> None:
    """Store scenes by content; what is there already stays as it is."""
    rows = [(detector, content, database.as_json(scene)) for content, scene in scenes.items()]
    with database.writing(study.engine, durable=False) as connection:
        database.upsert(connection, tables.detection, ["detector", "content", "json"], rows, replace=False)
