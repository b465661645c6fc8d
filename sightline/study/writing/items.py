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
    database.matching(connection, [(name, "BIGINT") for name in PARTS], distinct)
    same = " AND ".join(f"s.{name} = w.{name}" for name in PARTS)
    rows = database.fetch(
        connection,
        f"SELECT s.id, {', '.join(f's.{name}' for name in PARTS)} FROM wanted w JOIN item s ON {same}",
    )
    found: dict[Ids, int] = {row[1:]: row[0] for row in rows}
    fresh = [ids for ids in distinct if ids not in found]
    keys = database.fresh_ids(connection, tables.item, len(fresh))
    made = [(key, *ids) for key, ids in zip(keys, fresh, strict=True)]
    database.insert(connection, tables.item, ["id", *PARTS], made)
    found.update(zip(fresh, keys, strict=True))
    return [found[ids] for ids in wanted]
