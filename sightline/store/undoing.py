"""Taking an import back."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, text

from sightline.errors import UsageError

FACTS = ("truth", "judgement", "answer", "caption", "prompt_tag", "prompt_link")

# What keeps a thing in the study besides the source that brought it.
USES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "settlement": (("truth", "settlement_id"), ("fit", "settlement_id")),
    "subject": (
        ("truth", "subject_id"),
        ("judgement", "subject_id"),
        ("control", "subject_id"),
        ("page_slot", "subject_id"),
    ),
    "question": (("judgement", "question_id"), ("settlement", "question_id"), ("control", "question_id")),
    "annotator": (("judgement", "annotator_id"), ("page", "annotator_id"), ("token", "annotator_id")),
    "prompt": (
        ("answer", "prompt_id"),
        ("subject", "prompt_id"),
        ("prompt_tag", "prompt_id"),
        ("prompt_link", "prompt_id"),
        ("prompt_link", "to_prompt_id"),
    ),
    "image": (
        ("answer", "image_id"),
        ("caption", "image_id"),
        ("subject", "image_id"),
        ("subject", "image_b"),
        ("subject", "image_c"),
    ),
    "system": (("answer", "system_id"), ("subject", "system_id")),
    "collection": (("image", "collection_id"), ("system", "collection_id")),
}
MENTIONED = ("prompt", "image", "system")


def undo_within(connection: Connection, source_id: int) -> dict[str, int]:
    """Undo a source inside an open transaction; gives how many rows of each table went."""
    told = {"source": source_id}
    if connection.execute(text("SELECT 1 FROM source WHERE id = :source"), told).scalar() is None:
        known = connection.execute(text("SELECT id FROM source ORDER BY id")).scalars().all()
        listed = ", ".join(map(str, known)) or "none"
        raise UsageError(f"there is no import number {source_id}", remedy=f"Imports in this study: {listed}.")
    gone: dict[str, int] = {}
    for table in FACTS:
        gone[table] = _delete(connection, f"DELETE FROM {table} WHERE source_id = :source", told)
    _forget_bytes(connection, told)
    connection.execute(text("DELETE FROM mention WHERE source_id = :source"), told)
    gone["settlement"] = _delete_unused(connection, "settlement", "source_id = :source", told)
    gone["subject"] = _delete_unused(connection, "subject", "TRUE", told)
    for table in ("question", "annotator", "prompt", "image", "system", "collection"):
        gone[table] = _delete_unused(connection, table, "source_id = :source", told)
        _hand_over(connection, table, told)
    gone["score"] = _delete_scores(connection)
    connection.execute(text("UPDATE settlement SET source_id = NULL WHERE source_id = :source"), told)
    connection.execute(text("DELETE FROM source WHERE id = :source"), told)
    return {table: n for table, n in gone.items() if n}


def _delete(connection: Connection, statement: str, told: Mapping[str, int]) -> int:
    return int(connection.execute(text(statement), told).rowcount)


def _delete_unused(connection: Connection, table: str, condition: str, told: Mapping[str, int]) -> int:
    unused = [
        f"NOT EXISTS (SELECT 1 FROM {user} u WHERE u.{column} = {table}.id)" for user, column in USES[table]
    ]
    if table in MENTIONED:
        unused.append(
            f"NOT EXISTS (SELECT 1 FROM mention m WHERE m.kind = '{table}' AND m.entity_id = {table}.id)"
        )
    return _delete(connection, f"DELETE FROM {table} WHERE {condition} AND {' AND '.join(unused)}", told)


def _hand_over(connection: Connection, table: str, told: Mapping[str, int]) -> None:
    """What stays belongs from now on to a source that told of it as well, or to nobody."""
    heir = "NULL"
    if table in MENTIONED:
        heir = (
            f"(SELECT min(m.source_id) FROM mention m WHERE m.kind = '{table}' AND m.entity_id = {table}.id)"
        )
    connection.execute(text(f"UPDATE {table} SET source_id = {heir} WHERE source_id = :source"), told)
    if table in MENTIONED:
        connection.execute(
            text(
                f"DELETE FROM mention WHERE kind = '{table}' AND EXISTS (SELECT 1 FROM {table} e "
                "WHERE e.id = mention.entity_id AND e.source_id = mention.source_id)"
            )
        )


def _forget_bytes(connection: Connection, told: Mapping[str, int]) -> None:
    connection.execute(
        text(
            "UPDATE image SET sha256 = NULL, width = NULL, height = NULL, defect = NULL, bytes_source_id = NULL "
            "WHERE bytes_source_id = :source"
        ),
        told,
    )


def _delete_scores(connection: Connection) -> int:
    gone = 0
    for table in ("evidence", "score", "prediction"):
        parts = [("prompt_id", "prompt"), ("system_id", "system")]
        if table != "prediction":
            parts.append(("image_id", "image"))
        lost = " OR ".join(
            f"({column} <> 0 AND NOT EXISTS (SELECT 1 FROM {owner} o WHERE o.id = {table}.{column}))"
            for column, owner in parts
        )
        n = int(connection.execute(text(f"DELETE FROM {table} WHERE {lost}")).rowcount)
        gone += n if table == "score" else 0
    return gone
