"""Data sets of Hugging Face: Parquet files with images inside, and folders of images with their metadata."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from sightline.data.importers._samples import KNOWN, Samples, renamed, split_of
from sightline.data.sources import TABLES, Row, Source
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import Record

FILE = "file_name"
PARQUET = (".parquet", ".pq")
METADATA = "metadata."
NO_BYTES = "rows without an image: neither bytes nor a file of that name"


def claims(source: Source) -> float:
    """Parquet files with a column of images; or metadata.jsonl or metadata.csv with a column file_name."""
    files = source.shards(*PARQUET)[:4]
    if any(source.pictured(file) for file in files):
        return 0.92
    # Above the layouts that have a metadata.jsonl of another kind.
    return 0.97 * any(FILE in source.header(file) for file in _metadata(source)[:4])


@importer(
    claims=claims,
    source="Hugging Face datasets: Parquet with images, ImageFolder",
    licence="Apache-2.0",
    files={
        "set/train/metadata.csv": "file_name,prompt,model\n1.png,a ball,careful\n2.png,two dogs,careful\n",
        "set/train/1.png": "red",
        "set/train/2.png": "tan",
    },
)
def huggingface(
    source: Source, *, suite: str = "prompts", collection: str = "images", image: str = "", system: str = ""
) -> Iterator[Record]:
    """A Hugging Face dataset: Parquet files with image bytes, or images next to metadata.jsonl or .csv.

    Rows with a prompt (or caption, text) and a system (or model, generator) are answers; without a system the
    images are a collection with captions, unless `system` names the one that made all of them. `image` names
    the column of images where there are several. What `sightline export --as huggingface` writes comes back
    with prompts, seeds, settings and tags. The split, such as train, becomes a tag of the image.
    """
    samples = Samples(source, suite, collection, system)
    packed = [file for file in source.shards(*PARQUET) if source.pictured(file)]
    for file in packed:
        column = _column(source, file, image)
        known = (*KNOWN, *source.pictured(file))
        theirs = renamed(source.header(file), source.columns)
        for row in source.rows(file, known=known, renamed=theirs):
            name, data, path = _picture(source, row, column, file)
            if data is None and path is None:
                source.skip(row.at, NO_BYTES)
                continue
            yield from samples.records(row, name, data, path, split_of(file))
    for file in [each for each in source.shards(*PARQUET) if packed and each not in packed]:
        source.skip(file, "tables without images: import each by itself, such as truths and scores")
    for file in [] if packed else _metadata(source):
        yield from _folder(source, samples, file)


def _metadata(source: Source) -> list[str]:
    """The tables that say what the images of a folder are."""
    return [file for file in source.shards(*TABLES) if PurePosixPath(file).name.lower().startswith(METADATA)]


def _folder(source: Source, samples: Samples, file: str) -> Iterator[Record]:
    home = file.rpartition("/")[0]
    theirs = renamed(source.header(file), source.columns)
    for row in source.rows(file, required=(FILE,), known=(*KNOWN, FILE), renamed=theirs):
        name = row.text(FILE)
        within = f"{home}/{name}" if home else name
        path = source.picture(within, row.at)
        if path is None:
            source.skip(f"{row.at} ({name})", NO_BYTES)
            continue
        yield from samples.records(row, within, None, path, split_of(within))


def _column(source: Source, file: str, asked: str) -> str:
    found = source.pictured(file)
    if asked and asked not in found:
        raise DataError(
            f"{asked!r} is no column of images", where=file, remedy=f"There are: {', '.join(found)}."
        )
    if len(found) > 1 and not asked and "image" not in found:
        raise DataError(
            f"several columns hold images: {', '.join(found)}",
            where=file,
            remedy=f"Say which: --option image={found[0]}",
        )
    return asked or ("image" if "image" in found else found[0])


def _picture(source: Source, row: Row, column: str, file: str) -> tuple[str, bytes | None, str | None]:
    """The name of a row's image, and its bytes or the file that it names."""
    cell = row.get(column)
    name = f"{PurePosixPath(file).stem}-{row.line}"
    if isinstance(cell, bytes):
        return name, cell, None
    if not isinstance(cell, dict):
        return name, None, None
    data, path = cell.get("bytes"), cell.get("path")
    named = path if isinstance(path, str) and path else ""
    if isinstance(data, bytes) and data:
        return PurePosixPath(named.replace("\\", "/")).name or name, data, None
    return named or name, None, source.picture(named, row.at) if named else None
