"""Images named by their content: how a sheet names an image without giving away where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sqlalchemy import Connection

from sightline.errors import DataError
from sightline.study.schema import database

CONTENT = "sha256:"


def content_name(sha256: str, collection: str, name: str) -> str:
    """The content hash and, since several images may have the same content, a trace of which one it is."""
    trace = hashlib.sha256(f"{collection}\0{name}".encode()).hexdigest()[:8]
    return f"{CONTENT}{sha256}:{trace}"


def find_contents(connection: Connection, named: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The ids of images by `content_name`, or by `sha256:` and the hash alone where only one image has it.

    `named` are (name, place) pairs; a name that fits no image or several is an error that names its place.
    """
    names = dict(named)
    hashes = {name.removeprefix(CONTENT).partition(":")[0] for name in names}
    database.matching(connection, [("sha256", "TEXT")], [(sha256,) for sha256 in sorted(hashes)])
    rows = connection.exec_driver_sql(
        "SELECT i.sha256, c.name, i.name, i.id FROM wanted w JOIN image i ON i.sha256 = w.sha256 "
        "JOIN collection c ON c.id = i.collection_id ORDER BY i.id"
    ).fetchall()
    fits: dict[str, list[int]] = {}
    for sha256, collection, name, key in rows:
        for said in (f"{CONTENT}{sha256}", content_name(sha256, collection, name)):
            fits.setdefault(said, []).append(int(key))
    for name, at in names.items():
        found = fits.get(name, [])
        if len(found) != 1:
            raise DataError(
                f"{len(found) or 'no'} images of this study are called {name[:24]}...",
                where=at,
                remedy="Import the sheet into the study it was made from, with its image column as it was.",
            )
    return {name: fits[name][0] for name in names}
