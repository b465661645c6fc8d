"""GenEval's prompts: what every image must show, before there are images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sightline.data.importers._geneval import SKILLS, expects_of, tags_of
from sightline.data.sources import Row, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Prompt, PromptKey, Record

METADATA = "evaluation_metadata.jsonl"
PROMPTS = "generation_prompts.txt"
OBJECTS = "object_names.txt"
COLUMNS = ("tag", "include", "prompt")


def claims(source: Source) -> float:
    """JSON lines with tag, include and prompt: a file, or evaluation_metadata.jsonl in a folder."""
    file = source.one_file(METADATA)
    lines = file is not None and file.lower().endswith((".jsonl", ".ndjson"))
    return 0.95 * (lines and source.has_table(METADATA, COLUMNS))


@importer(
    claims=claims,
    source="Ghosh et al. 2023, GenEval",
    licence="MIT",
    suite={
        "prompts": 553,
        "home": "https://github.com/djghosh13/geneval",
        "files": f"prompts/{METADATA}",
        "skills": SKILLS,
    },
    files={
        "geneval/evaluation_metadata.jsonl": '{"tag": "single_object", "include": [{"class": "bench", '
        '"count": 1}], "prompt": "a photo of a bench"}\n{"tag": "colors", "include": [{"class": "cow", '
        '"count": 1, "color": "red"}], "prompt": "a photo of a red cow"}\n',
        "geneval/generation_prompts.txt": "a photo of a bench\na photo of a red cow\n",
        "geneval/object_names.txt": "bench\ncow\n",
    },
)
def geneval_prompts(source: Source, *, suite: str = "geneval") -> Iterator[Record]:
    """GenEval's evaluation_metadata.jsonl: prompts with what an image must show, numbered as its folders are.

    The same prompt as given by a folder of GenEval's images is the same record. `generation_prompts.txt` and
    `object_names.txt`, where they lie next to it, must agree with it.
    """
    file = source.one_file(METADATA)
    if file is None:
        raise DataError(
            f"there is no {METADATA}", where=str(source.path), remedy="It is the file that GenEval reads."
        )
    in_folder = not source.is_file
    wordings = source.text(PROMPTS).splitlines() if in_folder and source.has(PROMPTS) else None
    objects = None
    if in_folder and source.has(OBJECTS):
        objects = {text.strip() for _, text in source.lines(OBJECTS)}
    n = 0
    for n, row in enumerate(source.rows(file, required=COLUMNS), 1):
        text = row.text("prompt")
        if wordings is not None:
            _same(wordings, n, text, row)
        conditions = {name: row.structure(name) for name in ("include", "exclude")}
        _check(row, conditions, objects)
        expects = expects_of(conditions, source, row.at)
        key = PromptKey(suite, f"{n - 1:05d}")
        yield Prompt(key, text, tags_of(row.text("tag")), expects=expects, at=row.at)
    if wordings is not None and len([text for text in wordings if text.strip()]) != n:
        raise DataError(
            f"{n} prompts in {METADATA}, {len(wordings)} in {PROMPTS}",
            where=f"{PROMPTS}:{min(n + 1, len(wordings))}",
            remedy="One of the two is cut short: obtain both again.",
        )


def _same(wordings: list[str], n: int, text: str, row: Row) -> None:
    wording = wordings[n - 1] if n <= len(wordings) else None
    if wording is None or wording.strip() != text:
        raise row.error(
            f"prompt {n} reads {text!r} here, but {PROMPTS} has {wording!r}",
            "The two files are not of the same version: obtain both again.",
        )


def _check(row: Row, conditions: dict[str, Any], objects: set[str] | None) -> None:
    for name, found in conditions.items():
        if found is None and name == "exclude":
            continue
        if not isinstance(found, list) or not all(isinstance(e, dict) and "class" in e for e in found):
            raise row.wrong(name, "a list of objects with a class", 'Expected [{"class": ..., "count": 1}].')
        for each in found:
            if objects is not None and each["class"] not in objects:
                what = f"{each['class']!r} is no object of {OBJECTS}"
                raise row.error(what, "Correct the class or complete the list.")
