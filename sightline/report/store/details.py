"""What the explorer shows of the rows in view, fetched by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from sightline.study.predicted import FOR
from sightline.study.reading import UNREVISED, decoded
from sightline.study.schema import database


def _by_ids(connection: Connection, query: str, column: str, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    found = query.format(among=database.among(connection, column))
    return database.fetch(connection, found, [database.id_list(connection, ids)])


def contents(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[str | None, str | None]]:
    """Content hash and defect of these images."""
    query = "SELECT id, sha256, defect FROM image WHERE {among}"
    return {int(key): (sha, defect) for key, sha, defect in _by_ids(connection, query, "id", ids)}


def failures(connection: Connection, prompts: Sequence[int]) -> dict[tuple[int, int, int], str]:
    """Why answers to these prompts failed, by system, prompt and position."""
    query = "SELECT system_id, prompt_id, position, failure FROM answer WHERE failure IS NOT NULL AND {among}"
    return {
        (int(s), int(p), int(n)): why for s, p, n, why in _by_ids(connection, query, "prompt_id", prompts)
    }


def tags_of(
    connection: Connection, prompts: Sequence[int], images: Sequence[int]
) -> tuple[dict[int, dict[str, str]], dict[tuple[int, int], dict[str, str]]]:
    """The tags of these prompts, and those of these images by (image, prompt or 0)."""
    of_prompts: dict[int, dict[str, str]] = {}
    query = "SELECT prompt_id, name, value FROM prompt_tag WHERE {among} ORDER BY prompt_id, name"
    for prompt, name, value in _by_ids(connection, query, "prompt_id", prompts):
        of_prompts.setdefault(int(prompt), {})[name] = value
    of_images: dict[tuple[int, int], dict[str, str]] = {}
    query = "SELECT image_id, prompt_id, name, value FROM image_tag WHERE {among} ORDER BY image_id, name"
    for image, prompt, name, value in _by_ids(connection, query, "image_id", images):
        of_images.setdefault((int(image), int(prompt)), {})[name] = value
    return of_prompts, of_images


def knows_content(connection: Connection, sha256: str) -> str | None:
    """The defect of an image with this content, "" where it has none; None where there is no such image."""
    rows = database.fetch(connection, "SELECT defect FROM image WHERE sha256 = ? LIMIT 1", [sha256])
    return None if not rows else rows[0][0] or ""


def about_prompt(connection: Connection, prompt: int) -> dict[str, Any]:
    """Suite, name, text, expectations, tags, links and translations of a prompt."""
    query = "SELECT suite, ref, text, expects FROM prompt WHERE id = ?"
    ((suite, ref, text, expects),) = database.fetch(connection, query, [prompt])
    tags = database.fetch(
        connection, "SELECT name, value FROM prompt_tag WHERE prompt_id = ? ORDER BY name", [prompt]
    )
    links = database.fetch(
        connection,
        "SELECT l.kind, l.to_prompt_id, p.text FROM prompt_link l JOIN prompt p ON p.id = l.to_prompt_id "
        "WHERE l.prompt_id = ? ORDER BY l.kind, l.to_prompt_id",
        [prompt],
    )
    return {
        "id": prompt, "suite": suite, "ref": ref, "text": text, "expects": decoded(expects),
        "tags": dict(tags),
        "links": [{"kind": kind, "prompt_id": to, "prompt": said} for kind, to, said in links],
    }  # fmt: skip


def about_image(connection: Connection, image: int) -> dict[str, Any]:
    """Where an image is from, its captions, scene, and the import that brought its bytes."""
    query = (
        "SELECT c.name, i.name, i.sha256, i.width, i.height, i.defect, "
        "coalesce(i.bytes_source_id, i.source_id) FROM image i JOIN collection c ON c.id = i.collection_id "
        "WHERE i.id = ?"
    )
    ((collection, name, sha256, width, height, defect, source),) = database.fetch(connection, query, [image])
    captions = database.fetch(connection, "SELECT text FROM caption WHERE image_id = ? ORDER BY n", [image])
    scene = database.fetch(connection, "SELECT json FROM scene WHERE image_id = ?", [image])
    return {
        "id": image, "collection": collection, "name": name, "sha256": sha256, "width": width,
        "height": height, "defect": defect, "captions": [row[0] for row in captions],
        "scene": decoded(scene[0][0]) if scene else None, "source_id": source,
    }  # fmt: skip


def about_answer(connection: Connection, system: int, prompt: int, position: int) -> dict[str, Any]:
    """How an answer was made: settings, seed, the system's own score, failure, and the import."""
    query = (
        "SELECT a.score, a.seed, a.failure, a.source_id, s.json FROM answer a "
        "LEFT JOIN settings s ON s.id = a.settings_id "
        "WHERE a.system_id = ? AND a.prompt_id = ? AND a.position = ?"
    )
    ((score, seed, failure, source, settings),) = database.fetch(
        connection, query, [system, prompt, position]
    )
    return {
        "score": score, "seed": seed, "failure": failure, "source_id": source, "settings": decoded(settings),
    }  # fmt: skip


def imported_by(connection: Connection, source: int | None) -> dict[str, Any] | None:
    """The import that a source was: number, importer, path and time."""
    if source is None:
        return None
    rows = database.fetch(connection, "SELECT id, importer, path, at FROM source WHERE id = ?", [source])
    return dict(zip(("number", "importer", "path", "at"), rows[0], strict=True)) if rows else None


_ABOUT = (
    "((s.image_id = :image OR s.image_b = :image OR s.image_c = :image) "
    "AND :image > 0 AND (s.prompt_id = 0 OR s.prompt_id = :prompt) "
    "AND (s.system_id = 0 OR s.system_b > 0 OR s.system_id = :system)) "
    "OR (s.image_id = 0 AND s.prompt_id = :prompt AND :prompt > 0 AND s.system_id IN (0, :system))"
)
"""That an item `s` is about a row: its image, alone or among others, its system's answers, or its prompt."""
_ITEMS = (
    "SELECT s.id FROM item s WHERE s.image_id = :image AND :image > 0 UNION "
    "SELECT s.id FROM item s WHERE s.image_b = :image AND s.image_b <> 0 UNION "
    "SELECT s.id FROM item s WHERE s.image_c = :image AND s.image_c <> 0 UNION "
    "SELECT s.id FROM item s WHERE s.prompt_id = :prompt AND s.image_id = 0 AND :prompt > 0"
)
"""The items that may be; `<> 0` lets SQLite use the indexes that leave it out."""


def votes_on(connection: Connection, prompt: int, system: int, image: int) -> list[tuple[Any, ...]]:
    """Every judgement about a row: question and labels, value or reason skipped, annotator, and the rest."""
    query = (
        "SELECT q.name, q.labels, j.value, j.skipped, j.annotator_id, p.name, p.excluded, j.at, j.took_ms, "
        "j.control, j.n, s.image_id, s.image_b, s.image_c FROM judgement j JOIN item s ON s.id = j.item_id "
        "JOIN question q ON q.id = j.question_id LEFT JOIN annotator p ON p.id = j.annotator_id "
        f"WHERE j.item_id IN ({_ITEMS}) AND ({_ABOUT}) AND {UNREVISED} ORDER BY q.name, j.id"
    )
    return database.fetch(connection, query, {"prompt": prompt, "system": system, "image": image})


def truths_of(connection: Connection, prompt: int, system: int, image: int) -> list[tuple[Any, ...]]:
    """Truth about a row: settlement, question, rule, item's images, value, interval, n, reason."""
    query = (
        "SELECT t.settlement_id, q.name, e.rule, s.image_id, s.image_b, s.image_c, t.value, t.low, t.high, "
        "t.n, t.reason, t.item_id FROM truth t JOIN item s ON s.id = t.item_id "
        "JOIN settlement e ON e.id = t.settlement_id JOIN question q ON q.id = e.question_id "
        f"WHERE t.item_id IN ({_ITEMS}) AND ({_ABOUT}) ORDER BY q.name, t.settlement_id DESC"
    )
    return database.fetch(connection, query, {"prompt": prompt, "system": system, "image": image})


_OF_ROW = (
    "c.prompt_id IN (0, :prompt) AND c.system_id IN (0, :system) AND c.image_id IN (0, :image) "
    "AND ((c.prompt_id = :prompt AND c.prompt_id <> 0) OR (c.image_id = :image AND c.image_id <> 0))"
)
"""That a score or a prediction `c` is about a row: of its prompt or of its image."""


def scores_of(connection: Connection, prompt: int, system: int, image: int) -> list[tuple[Any, ...]]:
    """Scores about a row: measure id, kind, spec, direction, keys, inputs, value, reason, evidence, file."""
    query = (
        "SELECT m.id, m.kind, m.spec, m.direction, c.prompt_id, c.system_id, c.image_id, c.inputs, c.value, "
        "c.reason, e.json, s.path FROM score c JOIN measure m ON m.id = c.measure_id "
        "LEFT JOIN source s ON s.id = c.source_id LEFT JOIN evidence e "
        "ON e.measure_id = c.measure_id AND e.prompt_id = c.prompt_id AND e.system_id = c.system_id "
        f"AND e.image_id = c.image_id WHERE {_OF_ROW} ORDER BY m.spec, m.id"
    )
    return database.fetch(connection, query, {"prompt": prompt, "system": system, "image": image})


def evidence_of(
    connection: Connection, measure: int, images: Sequence[int]
) -> list[tuple[int, int, dict[str, Any]]]:
    """What the scores of a measure of answers rest on, for these images: prompt, image and evidence."""
    query = f"SELECT prompt_id, image_id, json FROM evidence WHERE measure_id = {int(measure)} AND {{among}}"
    return [(int(p), int(i), decoded(cell)) for p, i, cell in _by_ids(connection, query, "image_id", images)]


def predictions_of(connection: Connection, prompt: int, system: int, image: int) -> list[tuple[Any, ...]]:
    """Predictions about a row: fit id, spec, question, settlement, value, interval, reason."""
    query = (
        "SELECT f.id, f.spec, q.name, f.settlement_id, c.value, c.low, c.high, c.reason FROM prediction c "
        "JOIN fit f ON f.id = c.fit_id JOIN settlement e ON e.id = f.settlement_id "
        f"JOIN question q ON q.id = e.question_id WHERE {_OF_ROW} AND f.spec NOT LIKE '%{FOR}%' "
        "ORDER BY q.name, f.spec, f.id"
    )
    return database.fetch(connection, query, {"prompt": prompt, "system": system, "image": image})


def annotator_order(connection: Connection) -> list[int]:
    """The ids of all annotators, first come first."""
    return [int(row[0]) for row in database.fetch(connection, "SELECT id FROM annotator ORDER BY id")]
