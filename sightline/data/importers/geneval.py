"""GenEval's folders: one a prompt, with what the image must show and the samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from sightline.data.importers._geneval import expects_of, tags_of
from sightline.data.sources import Once, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System


def claims(source: Source) -> float:
    """A metadata.jsonl in one folder per prompt, at the top or below one folder per system."""
    return 0.95 * (not source.is_file and (_is_run(source, "") or _first_run(source) is not None))


@importer(
    claims=claims,
    source="Ghosh et al. 2023, GenEval",
    licence="MIT",
    files={
        "out/sd/00000/metadata.jsonl": '{"tag": "x", "include": [{"class": "dog"}], "prompt": "a dog"}\n',
        "out/sd/00000/samples/0000.png": "red",
        "out/sd/00001/metadata.jsonl": '{"tag": "x", "include": [{"class": "cat"}], "prompt": "a cat"}\n',
        "out/sd/00001/samples/0000.png": "blue",
    },
)
def geneval(
    source: Source, *, suite: str = "geneval", collection: str = "geneval", system: str = ""
) -> Iterator[Record]:
    """GenEval output: [system/]00000/metadata.jsonl and samples/0000.png; the grid picture is left out.

    Where the prompts' folders are at the top, `system` names the system, by default as the folder is called.
    """
    once = Once()
    if _is_run(source, ""):
        yield from _run(source, "", system or source.name, suite, collection, once)
        return
    for below in source.folders():
        if _is_run(source, below):
            yield from _run(source, below, below, suite, collection, once)
        else:
            source.skip(below, "folders without a metadata.jsonl in one folder per prompt")


def _is_run(source: Source, under: str) -> bool:
    return next(source.files("*/metadata.jsonl", under), None) is not None


def _first_run(source: Source) -> str | None:
    return next((below for below in source.folders()[:50] if _is_run(source, below)), None)


def _run(
    source: Source, under: str, system: str, suite: str, collection: str, once: Once
) -> Iterator[Record]:
    yield System(system, at=under)
    for folder in source.folders(under):
        metadata = f"{folder}/metadata.jsonl"
        if not source.has(metadata):
            source.skip(folder, "folders without metadata.jsonl")
            continue
        entry = source.json(metadata)
        if not isinstance(entry, dict) or not isinstance(entry.get("prompt"), str):
            raise DataError(
                "it names no prompt", where=f"{metadata}:1", remedy='Expected {"prompt": "...", ...}.'
            )
        key = PromptKey(suite, PurePosixPath(folder).name)
        if once.new((key, entry["prompt"])):
            tags = tags_of(str(entry["tag"])) if entry.get("tag") else {}
            at = f"{metadata}:1"
            yield Prompt(key, entry["prompt"], tags, expects=expects_of(entry, source, at), at=at)
        files = source.pictures(f"{folder}/samples")
        if not files:
            source.skip(folder, "prompts without samples")
        for n, file in enumerate(files):
            stem = PurePosixPath(file).stem
            image = ImageKey(collection, file)
            yield Image(image, str(source.inside(file)), at=file)
            yield Answer(key, system, int(stem) if stem.isdecimal() else n, image, at=file)
