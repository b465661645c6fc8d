"""Prompts in other languages, for annotators who read those better than the prompt's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sightline.errors import ConflictError, DataError
from sightline.study.schema import database, tables
from sightline.study.schema.storable import refuse_bad_text
from sightline.study.study import Study
from sightline.study.writing.keeping import Keeper

LONGEST = 16
_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")


def language_code(code: str, at: str = "") -> str:
    """A language in the one spelling that BCP 47 recommends (`pt-BR`, `zh-Hant`), or a DataError.

    Case means nothing there: languages are written small, scripts with a capital, regions in capitals.
    """
    if len(code) > LONGEST or not _CODE.fullmatch(code):
        raise DataError(
            f"{code[:40]!r} is not the code of a language",
            where=at,
            remedy="Name translations as prompt.de, prompt.pt-BR or prompt.zh-Hant; keep another column as "
            "a tag with --column tags.NAME=THEIRS.",
        )
    parts = code.lower().split("-")
    return "-".join([parts[0], *map(_written, parts[1:], parts)])


def _written(part: str, before: str) -> str:
    # A single letter begins an extension, whose parts stay small.
    if len(before) == 1 or not part.isalpha() or len(part) not in (2, 4):
        return part
    return part.upper() if len(part) == 2 else part.capitalize()


def keep_translations(keeper: Keeper, translated: Sequence[tuple[int, Mapping[str, str], str]]) -> int:
    """Write translations of prompts, given as (prompt id, texts by language, place); known ones must fit."""
    wanted: dict[tuple[int, str], tuple[str]] = {}
    places: dict[tuple[int, str], str] = {}
    refuse_bad_text((text, at) for _, texts, at in translated for text in texts.values())
    for prompt, texts, at in translated:
        for language, text in texts.items():
            if not text.strip():
                raise DataError(f"the translation ({language}) is empty", where=at, remedy="Leave it out.")
            key = (prompt, language_code(language, at))
            places.setdefault(key, at)
            (earlier,) = wanted.setdefault(key, (text,))
            if earlier != text:
                raise _another(key[1], earlier, text, at)
    return keeper.keep(
        tables.translation,
        ["prompt_id", "language"],
        ["text"],
        wanted,
        lambda key, held: _another(key[1], held[0], wanted[key][0], places[key]),
    )


def translations(study: Study, prompts: Iterable[int] | None = None) -> dict[int, dict[str, str]]:
    """The translations of prompts (by default of all) by prompt id and language."""
    inner = ""
    with database.reading(study.engine) as connection:
        if prompts is not None:
            database.matching(connection, [("id", "BIGINT")], [(key,) for key in set(prompts)])
            inner = "JOIN wanted w ON w.id = t.prompt_id"
        rows = database.fetch(
            connection,
            f"SELECT t.prompt_id, t.language, t.text FROM translation t {inner} "
            "ORDER BY t.prompt_id, t.language",
        )
    found: dict[int, dict[str, str]] = {}
    for prompt, language, text in rows:
        found.setdefault(int(prompt), {})[language] = text
    return found


def _another(language: str, known: str, text: str, at: str) -> ConflictError:
    return ConflictError(
        f"the prompt's translation ({language}) reads {_short(text)!r} here but {_short(known)!r} elsewhere",
        where=at,
        remedy="Correct one of the two, or use --replace if this is a newer version of the file.",
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
