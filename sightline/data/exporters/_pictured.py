"""What exporters with images share: one row per answer, with its image and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.data.exporters import parts

if TYPE_CHECKING:
    import polars as pl

NOTES = "notes.txt"
SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"BM": ".bmp", b"II*\x00": ".tif"}
AT_ONCE = 1_000
"""Rows whose images are looked up together."""
FIELDS = ("suite", "prompt_id", "prompt", "system", "kind", "position", "seed", "score")


class Sample(NamedTuple):
    """An image with its name, its bytes if they are here, and the fields of its row."""

    name: str
    data: bytes | None
    fields: Mapping[str, Any]


def columns(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """The fields that rows may have, the same for all of them."""
    found = ["image_name", "collection", "sha256", "captions", *FIELDS]
    if "answers" in tables:
        found += [name for name in next(parts(tables, "answers")).columns if name.startswith("settings.")]
    if "prompts" in tables:
        found += _described(tables["prompts"])
    if "image_tags" in tables:
        names = {name for part in parts(tables, "image_tags") for name in part["tag"].unique()}
        found += [f"image_tags.{name}" for name in sorted(names)]
    return found


def _described(prompts: pl.DataFrame) -> list[str]:
    return [name for name in prompts.columns if name.startswith(("tags.", "prompt."))]


def samples(tables: Mapping[str, pl.DataFrame], notes: list[str]) -> Iterator[Sample]:
    """Every answer that has an image, then the images that answer nothing."""
    read: Callable[[str], bytes] | None = getattr(tables, "picture", None)
    images: Any = tables if hasattr(tables, "described") else _Images(tables)
    prompt_tags = _tags_of_prompts(tables)
    failed = nameless = 0
    for part in parts(tables, "answers") if "answers" in tables else ():
        shown = part.filter(part["image"].is_not_null())
        failed += part.height - shown.height
        for some in shown.iter_slices(AT_ONCE):
            about = images.described(list(some.select("collection", "image").iter_rows()))
            for row in some.iter_rows(named=True):
                sample = _sample((row["collection"], row["image"]), about, read)
                nameless += sample.data is None
                fields = {name: row.get(name) for name in FIELDS}
                fields |= {name: cell for name, cell in row.items() if name.startswith("settings.")}
                fields |= prompt_tags.get((row["suite"], row["prompt_id"]), {})
                yield sample._replace(fields={**sample.fields, **fields})
    for part in images.unanswered():
        for some in part.iter_slices(AT_ONCE):
            keys = list(some.select("collection", "image").iter_rows())
            about = images.described(keys)
            for key in keys:
                sample = _sample(key, about, read)
                nameless += sample.data is None
                yield sample
    if failed:
        notes.append(f"{failed} answers failed and have no image: they are left out.")
    if nameless:
        notes.append(f"{nameless} images are known by name alone: their rows have no image.")


def _sample(
    key: tuple[str, str], about: Mapping[tuple[str, str], Any], read: Callable[[str], bytes] | None
) -> Sample:
    sha256, captions, tags = about.get(key, (None, [], {}))
    data = None if read is None or sha256 is None else read(sha256)
    named = {"image_name": key[1], "collection": key[0], "sha256": sha256, "captions": captions or None}
    return Sample(key[1], data, {**named, **{f"image_tags.{name}": value for name, value in tags.items()}})


class _Images:
    """What plain tables say of images, as an export of a study looks it up."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self._tables = tables
        self._found: dict[tuple[str, str], tuple[str | None, list[str], dict[str, str]]] = {}
        for home, name, sha256 in self._rows("images", "collection", "image", "sha256"):
            self._of(home, name)
            self._found[home, name] = (sha256, [], {})
        for home, name, caption in self._rows("captions", "collection", "image", "caption"):
            self._of(home, name)[1].append(caption)
        columns = ("collection", "image", "prompt_id", "tag", "value")
        for home, name, prompt, tag, value in self._rows("image_tags", *columns):
            if prompt is None:
                self._of(home, name)[2][tag] = value

    def _rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        return self._tables[table].select(*columns).iter_rows() if table in self._tables else iter(())

    def _of(self, home: str, name: str) -> tuple[str | None, list[str], dict[str, str]]:
        return self._found.setdefault((home, name), (None, [], {}))

    def described(self, keys: object) -> Mapping[tuple[str, str], Any]:
        """All that is known; which keys are asked for makes no difference."""
        return self._found

    def unanswered(self) -> Iterator[pl.DataFrame]:
        """Images that are no answer."""
        if "images" in self._tables:
            images = self._tables["images"]
            answers = self._tables.get("answers")
            keys = ["collection", "image"]
            yield (
                images
                if answers is None
                else images.join(answers, on=keys, how="anti", maintain_order="left")
            )


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
