"""Pools: images gathered to be judged, kept as answers of a system that is no engine."""

from __future__ import annotations

from sightline.study.reading import fetch_rows
from sightline.study.study import Study

POOL = "pool"
"""The importer under which pools are kept: what tells them from engines."""


def pools(study: Study) -> set[str]:
    """The names of the systems that are pools."""
    query = "SELECT y.name FROM system y JOIN source s ON s.id = y.source_id WHERE s.importer = :importer"
    return {str(row[0]) for row in fetch_rows(study, query, importer=POOL)}
