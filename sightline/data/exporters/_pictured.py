"""What exporters with images share: one row per answer, with its image and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import polars as pl

NOTES = "notes.txt"
SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"BM": ".bmp", b"II*\x00": ".tif"}
FIELDS = ("suite", "prompt_id", "prompt", "system", "kind", "position", "seed", "score")


class Sample(NamedTuple):
    """An image with its name, its bytes if they are here, and the fields of its row."""

    name: str
    data: bytes | None
    fields: Mapping[str, Any]


def columns(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """The fields that rows may have, the same for all of them."""
    answers, prompts, tags = (tables.get(name) for name in ("answers", "prompts", "image_tags"))
    found = ["image_name", "collection", "sha256", "captions", *FIELDS]
    found += [] if answers is None else [name for name in answers.columns if name.startswith("settings.")]
    found += [] if prompts is None else _described(prompts)
    if tags is not None:
        found += [f"image_tags.{name}" for name in tags["tag"].unique().sort()]
    return found


def _described(prompts: pl.DataFrame) -> list[str]:
    return [name for name in prompts.columns if name.startswith(("tags.", "prompt."))]


def samples(tables: Mapping[str, pl.DataFrame], notes: list[str]) -> Iterator[Sample]:
    """Every answer that has an image, then the images that answer nothing."""
    read: Callable[[str], bytes] | None = getattr(tables, "picture", None)
    images = _keyed(tables, "images", "sha256")
    captions = _listed(tables, "captions", "caption")
    marks, prompt_tags = _tags_of_images(tables), _tags_of_prompts(tables)
    answers = tables.get("answers")
    shown: set[tuple[str, str]] = set()
    failed = nameless = 0
    for row in () if answers is None else answers.iter_rows(named=True):
        if row["image"] is None:
            failed += 1
            continue
        key = (row["collection"], row["image"])
        shown.add(key)
        data = _bytes(read, images.get(key))
        nameless += data is None
        fields = {name: row.get(name) for name in FIELDS}
        fields |= {name: cell for name, cell in row.items() if name.startswith("settings.")}
        fields |= prompt_tags.get((row["suite"], row["prompt_id"]), {})
        yield Sample(row["image"], data, _about(key, images, captions, marks) | fields)
    for key in images:
        if key not in shown:
            data = _bytes(read, images[key])
            nameless += data is None
            yield Sample(key[1], data, _about(key, images, captions, marks))
    if failed:
        notes.append(f"{failed} answers failed and have no image: they are left out.")
    if nameless:
        notes.append(f"{nameless} images are known by name alone: their rows have no image.")


def _bytes(read: Callable[[str], bytes] | None, sha256: str | None) -> bytes | None:
    return None if read is None or sha256 is None else read(sha256)


def _about(
    key: tuple[str, str],
    images: Mapping[tuple[str, str], str | None],
    captions: Mapping[tuple[str, str], list[str]],
    marks: Mapping[tuple[str, str], Mapping[str, str]],
) -> dict[str, Any]:
    named = {"image_name": key[1], "collection": key[0], "sha256": images.get(key)}
    return {**named, "captions": captions.get(key) or None, **marks.get(key, {})}


def _keyed(tables: Mapping[str, pl.DataFrame], table: str, column: str) -> dict[tuple[str, str], Any]:
    frame = tables.get(table)
    if frame is None:
        return {}
    return {
        (home, name): cell for home, name, cell in frame.select("collection", "image", column).iter_rows()
    }


def _listed(tables: Mapping[str, pl.DataFrame], table: str, column: str) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    frame = tables.get(table)
    if frame is not None:
        for home, name, cell in frame.select("collection", "image", column).iter_rows():
            found.setdefault((home, name), []).append(cell)
    return found


def _tags_of_images(tables: Mapping[str, pl.DataFrame]) -> dict[tuple[str, str], dict[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    frame = tables.get("image_tags")
    for row in () if frame is None else frame.iter_rows(named=True):
        if row["prompt_id"] is None:
            tags = found.setdefault((row["collection"], row["image"]), {})
            tags[f"image_tags.{row['tag']}"] = row["value"]
    return found


def _tags_of_prompts(tables: Mapping[str, pl.DataFrame]) -> dict[tuple[str, str], dict[str, str]]:
    frame = tables.get("prompts")
    if frame is None:
        return {}
    kept = _described(frame)
    return {
        (row["suite"], row["prompt_id"]): {name: row[name] for name in kept}
        for row in frame.iter_rows(named=True)
    }


def file_name(name: str, data: bytes) -> str:
    """The last part of an image's name, with the suffix that its content has."""
    plain = PurePosixPath(name.replace("\\", "/"))
    webp = ".webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""
    suffix = next((end for start, end in SUFFIXES.items() if data.startswith(start)), webp)
    same = plain.suffix.lower() in (suffix, ".jpeg" if suffix == ".jpg" else suffix, ".tiff")
    return plain.name if same else f"{plain.name}{suffix}"
