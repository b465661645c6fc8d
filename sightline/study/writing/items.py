"""What is judged: any of a prompt, a system or two and up to three images, known by one id."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from sightline.study.schema import database, tables

Ids = tuple[int, int, int, int, int, int]
PARTS = ("prompt_id", "system_id", "image_id", "image_b", "image_c", "system_b")


def item_ids(connection: Connection, wanted: Sequence[Ids]) -> list[int]:
    """The ids of items by their parts (0 = not part of it), made if need be, in the order given."""
    distinct = list(dict.fromkeys(wanted))
    rows = database.look_up(connection, tables.item, PARTS, distinct, ["id"])
    found: dict[Ids, int] = {row[:-1]: row[-1] for row in rows}
    fresh = [ids for ids in distinct if ids not in found]
    keys = database.add(connection, tables.item, PARTS, fresh)
    found.update(zip(fresh, keys, strict=True))
    return [found[ids] for ids in wanted]
