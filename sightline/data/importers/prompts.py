"""Prompts as a plain table, or as a text file with one prompt a line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from sightline.data.sources import SLIP, Row, Source, prompt_ref
from sightline.data.sources.plain import TRANSLATION, fits, rows_of, synonyms, translated
from sightline.expects import sound
from sightline.extension import importer
from sightline.records import Prompt, PromptKey, Record

KNOWN = ("suite", "prompt_id", "prompt", "expects", "builds_on", "rephrases", "line", "tags.")
OTHERS = ("image", "system", "question", "value", "annotator")
LINKS = ("builds_on", "rephrases")


def claims(source: Source) -> float:
    """A table with `prompt` and nothing about images or votes; a .txt file, with less confidence."""
    if source.is_file and source.path.suffix.lower() == ".txt":
        return 0.2
    if not fits(source, "prompt", without=OTHERS) or {"image", "system"} <= synonyms(source).keys():
        return 0
    # `sytem` beside a prompt is a table of answers with a slip in it, not prompts with a column to leave out.
    unknown = [column for column in source.header(source.the_file()) if not column.startswith(KNOWN)]
    slips = any(get_close_matches(column.lower(), OTHERS, 1, SLIP) for column in unknown)
    return 0 if slips else 0.8


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={"prompts.csv": "prompt_id,prompt,tags.category\n1,a red ball,colour\n2,two dogs,number\n"},
)
def prompts(source: Source, *, suite: str = "prompts") -> Iterator[Record]:
    """A table of prompts: prompt, and optionally prompt_id, tags.<name>, expects, builds_on, rephrases.

    A column such as prompt.de or prompt.zh-Hant has the prompt in another language, for annotators. A prompt
    without id gets one that is made from its text. A part of what it expects that cannot be read, such as a
    count that is no number, is taken out and counted; the prompt then says that it is not complete.
    """
    file = source.the_file()
    if file.lower().endswith(".txt"):
        for at, line in source.lines(file):
            yield Prompt(PromptKey(suite, prompt_ref(line.strip())), line.strip(), at=at)
        return
    for row in rows_of(source, ("prompt",), (*KNOWN, *translated(source))):
        text = row.text("prompt")
        home = row.text("suite", suite)
        ref = row.text("prompt_id", "")
        if not ref and "prompt_id" in row:
            source.note(row.at, "rows without prompt_id (their id is made from the text)")
        key = PromptKey(home, ref or prompt_ref(text))
        translations = row.group(TRANSLATION)
        yield Prompt(
            key, text, row.group("tags."), _links(row, home), _expects(source, row), row.at, translations
        )


def _links(row: Row, suite: str) -> list[tuple[str, PromptKey]]:
    found = []
    for kind in LINKS:
        cell: Any = row.get(kind)
        if cell is None:
            continue
        if isinstance(cell, str) and cell.startswith("["):
            # Ids with white space in them come as a JSON list.
            cell = row.structure(kind)
        refs = cell if isinstance(cell, list) else str(cell).split()
        found += [(kind, PromptKey(suite, str(ref))) for ref in refs]
    return found


def _expects(source: Source, row: Row) -> dict[str, Any] | None:
    found = row.structure("expects")
    if found is not None and not isinstance(found, dict):
        raise row.wrong(
            "expects", "a JSON object", 'For example {"objects": [{"kind": "ball", "count": 2}]}.'
        )
    if found is None:
        return None
    kept, wrong = sound(found)
    for fault in wrong:
        source.note(f"{row.at} ({fault})", "parts of what is expected that cannot be read (taken out)")
    return kept
