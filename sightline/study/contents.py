"""What scores rest on: the hash of what a measure is given, of what the study holds now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from sightline.study.schema import database

Key = tuple[int, int, int]
"""Prompt, system and image of a score, 0 where there is none."""
NAME_ONLY = 0
"""In the place of a hash: the images are known by name alone, so that only imported scores can be of them."""


def hashed(*parts: Any) -> int:
    """64 bits over what a measure is given, signed for the databases."""
    canonical = json.dumps(parts, ensure_ascii=False, sort_keys=True, default=str)
    return int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:8], "big", signed=True)


def prompt_inputs(text: str, expects: Any) -> int:
    """The hash of a prompt as a measure is given it."""
    return hashed(text, expects)


def image_inputs(sha256: str) -> int:
    """The hash of an image: that of `hashed`, without its detour, since there are many."""
    return int.from_bytes(hashlib.sha256(f'["{sha256}"]'.encode()).digest()[:8], "big", signed=True)


def answer_inputs(prompt: int, sha256: str) -> int:
    """The hash of a prompt, given by its own, and an image: that of `hashed` as well."""
    canonical = f'[{prompt}, "{sha256}"]'
    return int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:8], "big", signed=True)


def set_inputs(contents: Sequence[str]) -> int:
    """The hash of a set of images, in their order: that of `hashed` as well."""
    canonical = '[["' + '", "'.join(contents) + '"]]' if contents else "[[]]"
    return int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:8], "big", signed=True)


def current_inputs(
    connection: Connection, kind: str, keys: Collection[Key] | None = None
) -> Mapping[Key, int] | None:
    """The hash that a measure of this kind would be given now, of these keys or of all that exist.

    NAME_ONLY where the images are known by name alone. None for measures of rankings, which rest on more than
    contents: their readers compute them again.
    """
    if kind not in _CURRENT:
        return None
    return {} if keys is not None and not keys else _CURRENT[kind](connection, keys)


def _rows(
    connection: Connection, query: str, keys: Collection[Key] | None, **columns: int
) -> list[tuple[Any, ...]]:
    """The rows of a query whose columns hold these parts of the keys (0 prompt, 1 system, 2 image)."""
    if keys is None:
        return database.fetch(connection, query.format(among="1 = 1"))
    chosen = [sorted({key[part] for key in keys}) for part in columns.values()]
    among = " AND ".join(database.among(connection, name.replace("__", ".")) for name in columns)
    parameters = [database.id_list(connection, ids) for ids in chosen]
    return database.fetch(connection, query.format(among=among), parameters)


def _of_prompt(connection: Connection, keys: Collection[Key] | None) -> dict[Key, int]:
    return {(prompt, 0, 0): inputs for prompt, inputs in _prompts(connection, keys).items()}


def _prompts(connection: Connection, keys: Collection[Key] | None) -> dict[int, int]:
    query = "SELECT id, text, CAST(expects AS TEXT) FROM prompt WHERE {among}"
    return {
        int(key): prompt_inputs(text, None if expects is None else json.loads(expects))
        for key, text, expects in _rows(connection, query, keys, id=0)
    }


def _of_image(connection: Connection, keys: Collection[Key] | None) -> dict[Key, int]:
    query = "SELECT id, sha256 FROM image WHERE {among}"
    return {
        (0, 0, int(key)): NAME_ONLY if sha is None else image_inputs(sha)
        for key, sha in _rows(connection, query, keys, id=2)
    }


def _of_answer(connection: Connection, keys: Collection[Key] | None) -> dict[Key, int]:
    query = (
        "SELECT DISTINCT a.prompt_id, a.image_id, i.sha256 FROM answer a JOIN image i ON i.id = a.image_id "
        "WHERE {among}"
    )
    prompts = _prompts(connection, keys)
    return {
        (int(prompt), 0, int(image)): NAME_ONLY if sha is None else answer_inputs(prompts[int(prompt)], sha)
        for prompt, image, sha in _rows(connection, query, keys, a__prompt_id=0, a__image_id=2)
        if int(prompt) in prompts
    }


def _of_set(connection: Connection, keys: Collection[Key] | None) -> dict[Key, int]:
    query = (
        "SELECT a.prompt_id, a.system_id, i.sha256 FROM answer a JOIN image i ON i.id = a.image_id "
        "WHERE {among} ORDER BY a.prompt_id, a.system_id, a.position"
    )
    sets: dict[Key, list[str]] = {}
    for prompt, system, sha in _rows(connection, query, keys, a__prompt_id=0, a__system_id=1):
        contents = sets.setdefault((int(prompt), int(system), 0), [])
        contents += [] if sha is None else [sha]
    return {key: set_inputs(shas) if shas else NAME_ONLY for key, shas in sets.items()}


_CURRENT: Mapping[str, Callable[[Connection, Collection[Key] | None], dict[Key, int]]] = {
    "of_prompt": _of_prompt,
    "of_image": _of_image,
    "of_answer": _of_answer,
    "of_set": _of_set,
    "verdict": _of_answer,
}
