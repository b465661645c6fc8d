"""The places that tasks take: an item is given so often, and what excluded annotators judged takes none."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, text

from sightline.study.schema import database


def take_out(connection: Connection, annotator_id: int, out: bool, round_id: int | None = None) -> None:
    """Free the places an annotator's tasks take, or let them take these again; answers stay as they are.

    In one round, or in all.
    """
    first = (
        "NOT EXISTS (SELECT 1 FROM task q WHERE q.round_item_id = task.round_item_id "
        "AND q.annotator_id = task.annotator_id AND q.ordinal < task.ordinal)"
    )
    counted = "0" if out else f"CASE WHEN {first} THEN 1 ELSE 0 END"
    who, own = {"a": annotator_id}, "annotator_id = :a"
    if round_id is not None:
        who, own = {**who, "r": round_id}, f"{own} AND round_id = :r"
    connection.execute(text(f"UPDATE task SET counted = {counted} WHERE {own}"), who)
    taken = (
        "SELECT count(*) FROM task p WHERE p.round_item_id = round_item.id AND p.counted = 1 AND p.state IN"
    )
    connection.execute(
        text(
            f"UPDATE round_item SET given = ({taken} ('open', 'done')), done = ({taken} ('done')) "
            f"WHERE id IN (SELECT round_item_id FROM task WHERE {own})"
        ),
        who,
    )


OUT = (
    "SELECT p.annotator_id FROM task p JOIN annotator a ON a.id = p.annotator_id WHERE p.round_id = :r "
    "AND a.excluded IS NULL GROUP BY p.annotator_id HAVING max(p.counted) = 0"
)
"""Whom screening rules exclude from a round: none of their tasks takes a place."""


def screen_out(connection: Connection, round_id: int, people: Collection[int]) -> tuple[list[int], list[int]]:
    """Free the places of these people in a round, and give those of all others back; gives who changed.

    Whom the owner excluded is out in any case.
    """
    known = {int(who) for (who,) in database.fetch(connection, OUT, {"r": round_id})}
    able = {
        int(who)
        for (who,) in database.fetch(
            connection,
            "SELECT DISTINCT p.annotator_id FROM task p JOIN annotator a ON a.id = p.annotator_id "
            "WHERE p.round_id = :r AND a.excluded IS NULL",
            {"r": round_id},
        )
    }
    out, back = sorted((able & set(people)) - known), sorted(known - set(people))
    for who in out:
        take_out(connection, who, True, round_id)
    for who in back:
        take_out(connection, who, False, round_id)
    return out, back
