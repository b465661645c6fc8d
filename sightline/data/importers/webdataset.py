"""WebDataset: tar archives in which the files of one sample have the same name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sightline.data.importers._samples import KNOWN, Samples, renamed, row_of, split_of
from sightline.data.sources import IMAGES, Source
from sightline.data.sources.archives import Sample
from sightline.data.sources.strict_json import parse_json
from sightline.errors import DataError
from sightline.extension import importer
from sightline.published import looks_like_score
from sightline.records import Record

TEXTS = ("txt", "text", "caption", "prompt")
PICTURES = tuple(suffix.removeprefix(".") for suffix in IMAGES)
LONGEST = 1_000_000


def claims(source: Source) -> float:
    """Tar archives, one or a folder of them."""
    shards = source.shards(".tar")
    return 0.9 * bool(shards and source.is_shard(shards[0]))


@importer(
    claims=claims,
    source="WebDataset (Aizman et al. 2019)",
    licence="Apache-2.0",
    files={
        "shards/000000.tar": '{"0.png": "red", "0.json": {"prompt": "a red ball", "system": "careful"}, '
        '"1.png": "tan", "1.json": {"prompt": "two dogs", "system": "careful"}}'
    },
)
def webdataset(
    source: Source, *, suite: str = "prompts", collection: str = "images", system: str = ""
) -> Iterator[Record]:
    """WebDataset shards (.tar): for each sample an image, and a .txt with its prompt or a .json with more.

    Fields of the .json are those of a table of answers: prompt, system (or model), seed, position, tags and
    so on; a .txt is the prompt. Samples without a system are a collection with captions, unless `system`
    names the one that made all of them. The name of a sample is that of its image.
    """
    made = Samples(source, suite, collection, system)
    for file in source.shards(".tar"):
        for number, sample in enumerate(source.samples(file), 1):
            images = [part for part in sample.parts if part.rpartition(".")[2] in PICTURES]
            if not images:
                source.skip(sample.at, "samples without an image")
                continue
            if len(images) > 1:
                source.skip(f"{sample.at}.{images[1]}", "further images of a sample")
            cells = _cells(source, sample)
            row = row_of(cells, file, number, source.columns)
            _note_unknown(source, cells)
            name = f"{sample.key}.{images[0]}"
            yield from made.records(row, name, sample.parts[images[0]], split=split_of(file))


def _cells(source: Source, sample: Sample) -> dict[str, Any]:
    """What a sample says of its image: the fields of its .json, and its .txt as the prompt."""
    cells: dict[str, Any] = {}
    for part, data in sample.parts.items():
        if part not in (*TEXTS, "json"):
            continue
        at = f"{sample.at}.{part}"
        try:
            text = data[: LONGEST + 1].decode()
        except UnicodeDecodeError:
            raise DataError("not UTF-8 text", where=at, remedy="Write the shard again.") from None
        if len(data) > LONGEST:
            raise DataError(f"a text of more than {LONGEST:,} bytes", where=at, remedy="Shorten it.")
        if part == "json":
            cells = {**_object(text, at), **cells}
        elif text.strip():
            cells["prompt"] = text.strip()
    return cells


def _object(text: str, at: str) -> dict[str, Any]:
    try:
        found = parse_json(text)
    except ValueError as error:
        raise DataError(f"not JSON ({error})", where=at, remedy="Write the shard again.") from None
    if not isinstance(found, dict):
        raise DataError("not a JSON object", where=at, remedy='Write {"prompt": "..."}.')
    flat: dict[str, Any] = {}
    for name, value in found.items():
        inner = value if name in ("tags", "image_tags", "settings") and isinstance(value, dict) else None
        flat |= {name: value} if inner is None else {f"{name}.{each}": cell for each, cell in inner.items()}
    return flat


def _note_unknown(source: Source, cells: dict[str, Any]) -> None:
    theirs = renamed(cells, source.columns).values()
    prefixes = tuple(name for name in KNOWN if name.endswith("."))
    for name in cells:
        if name in KNOWN or name in theirs or name.startswith(prefixes) or name in source.columns.values():
            continue
        source.skip(name, "fields that look like scores" if looks_like_score(name) else "fields not taken")
