"""What a page of judging shows: texts in the annotator's language, images by content, linked prompts."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, text

from sightline.study.schema import database


class Wording(NamedTuple):
    """A prompt as it is shown, and as it was written where that differs."""

    shown: str
    original: str | None


def wordings(connection: Connection, prompts: Collection[int], language: str | None) -> dict[int, Wording]:
    """Prompts by id, in a language where they have been translated to it."""
    if not prompts:
        return {}
    rows = database.fetch(
        connection,
        "SELECT p.id, p.text, t.text FROM prompt p LEFT JOIN translation t "
        "ON t.prompt_id = p.id AND t.language = :language WHERE p.id IN :ids",
        {"language": language or "", "ids": list(prompts)},
    )
    return {row[0]: Wording(row[2] or row[1], row[1] if row[2] else None) for row in rows}


def languages(connection: Connection) -> list[str]:
    """The languages that prompts have been translated to."""
    rows = connection.execute(text("SELECT DISTINCT language FROM translation ORDER BY language")).fetchall()
    return [row[0] for row in rows]


def linking(connection: Connection, prompts: Collection[int]) -> set[int]:
    """Which of these prompts build on others."""
    if not prompts:
        return set()
    query = "SELECT DISTINCT prompt_id FROM prompt_link WHERE kind = 'builds_on' AND prompt_id IN :ids"
    return {row[0] for row in database.fetch(connection, query, {"ids": list(prompts)})}


def linked_prompts(connection: Connection, prompt_id: int, image_id: int) -> list[tuple[int, list[int]]]:
    """The prompts that this one builds on, each with the images of whoever answered with this image."""
    rows = connection.execute(
        text(
            "SELECT l.to_prompt_id, b.image_id FROM prompt_link l "
            "LEFT JOIN answer a ON a.prompt_id = l.prompt_id AND a.image_id = :image "
            "LEFT JOIN answer b ON b.prompt_id = l.to_prompt_id AND b.system_id = a.system_id "
            "LEFT JOIN image i ON i.id = b.image_id "
            "WHERE l.prompt_id = :prompt AND l.kind = 'builds_on' "
            "AND (b.image_id IS NULL OR i.sha256 IS NOT NULL) "
            "ORDER BY l.to_prompt_id, b.system_id, b.position"
        ),
        {"prompt": prompt_id, "image": image_id},
    ).fetchall()
    found: dict[int, list[int]] = {}
    for prompt, image in rows:
        images = found.setdefault(int(prompt), [])
        if image is not None and image not in images:
            images.append(int(image))
    return list(found.items())


def content_of(connection: Connection, image_id: int) -> str | None:
    """The content hash of an image whose bytes are here."""
    found = connection.execute(text("SELECT sha256 FROM image WHERE id = :i"), {"i": image_id}).scalar()
    return None if found is None else str(found)
