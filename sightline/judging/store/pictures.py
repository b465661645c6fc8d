"""Which images a round shows, by content."""

from __future__ import annotations

from sqlalchemy import Connection, text

SLOTS = (
    "round_item r JOIN round_item_slot s ON s.round_item_id = r.id JOIN item u ON u.id = s.item_id "
    "{more}JOIN image i ON i.id = {image} WHERE r.round_id = :r AND i.sha256 IS NOT NULL"
)
LINKED = (
    "JOIN prompt_link l ON l.prompt_id = u.prompt_id AND l.kind = 'builds_on' "
    "JOIN answer a ON a.prompt_id = l.prompt_id AND a.image_id = u.image_id "
    "JOIN answer b ON b.prompt_id = l.to_prompt_id AND b.system_id = a.system_id "
)


def shown_contents(connection: Connection, round_id: int) -> list[str]:
    """The content hashes of all images that a round's items show, controls included."""
    parts = [SLOTS.format(more="", image=f"u.{column}") for column in ("image_id", "image_b", "image_c")]
    return _contents(connection, " UNION ".join(f"SELECT i.sha256 FROM {part}" for part in parts), round_id)


def linked_contents(connection: Connection, round_id: int) -> list[str]:
    """The content hashes of the images of prompts that a round's prompts build on."""
    part = SLOTS.format(more=LINKED, image="b.image_id")
    return _contents(connection, f"SELECT DISTINCT i.sha256 FROM {part}", round_id)


def _contents(connection: Connection, query: str, round_id: int) -> list[str]:
    return sorted(str(row[0]) for row in connection.execute(text(query), {"r": round_id}).fetchall())
