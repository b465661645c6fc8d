"""Where what is built of a collection to search it is kept, by the content of its images in their order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlalchemy import Connection

from sightline.extension import Configured
from sightline.study.schema import database
from sightline.study.study import Study

INDEXES = "indexes"
"""The folder of indexes; they are made again when they are missing, so that no backup holds them."""


def index_folder(study: Study, contents: Iterable[str | None], encoders: Sequence[Configured]) -> Path:
    """The folder for what is built of these images with these encoders."""
    made_by = hashlib.sha256("".join(each.identity for each in encoders).encode()).hexdigest()
    return study.home / INDEXES / contents_key(contents) / made_by[:32]


def contents_key(contents: Iterable[str | None]) -> str:
    """A hash of the contents of images in their order."""
    whole = hashlib.sha256()
    for content in contents:
        whole.update(f"{content or ''}\n".encode())
    return whole.hexdigest()[:32]


def folders_in_use(connection: Connection) -> set[str]:
    """The names of the folders of collections as they stand; others are of images that have changed."""
    contents: dict[int, list[str | None]] = {}
    for home, content in database.fetch(connection, "SELECT collection_id, sha256 FROM image ORDER BY id"):
        contents.setdefault(int(home), []).append(content)
    return {contents_key(each) for each in contents.values()}
