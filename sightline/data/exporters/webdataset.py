"""A study as WebDataset shards."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from sightline.data.exporters import whole
from sightline.data.exporters._pictured import NOTES, Sample, file_name, samples
from sightline.errors import DataError
from sightline.extension import exporter

if TYPE_CHECKING:
    import polars as pl

SHARD_BYTES = 512 * 1024**2


@exporter(source="WebDataset (Aizman et al. 2019)", licence="Apache-2.0")
def webdataset(tables: Mapping[str, pl.DataFrame], folder: Path) -> Sequence[Path]:
    """Tar archives with an image, a .json and, where there is a prompt, a .txt for each answer.

    The names of samples are numbers; the .json has the name of the image, its prompt, system, seed, settings
    and tags, and `sightline import` reads it back, each image with the bytes it had.
    """
    notes: list[str] = []
    written: list[Path] = []
    numbered = enumerate(samples(tables, notes))
    while True:
        path = folder / f"{len(written):06d}.tar"
        with whole(path) as draft, draft.open("wb") as stream:
            n = _shard(stream, numbered)
        if not n:
            path.unlink()
            break
        written.append(path)
    if not written:
        raise DataError("there are no images to export", remedy="Export as csv instead.")
    if notes:
        with whole(folder / NOTES) as draft:
            draft.write_text("".join(f"{line}\n" for line in notes), "utf-8")
        written.append(folder / NOTES)
    return written


def _shard(stream: BinaryIO, numbered: Iterator[tuple[int, Sample]]) -> int:
    """Write samples until a shard is full; gives how many."""
    n = held = 0
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for number, row in numbered:
            key = f"{number:09d}"
            if row.data is not None:
                suffix = PurePosixPath(file_name("image", row.data)).suffix or ".bin"
                _add(archive, f"{key}{suffix}", row.data)
            fields = {name: cell for name, cell in row.fields.items() if cell is not None}
            if fields.get("prompt"):
                _add(archive, f"{key}.txt", str(fields["prompt"]).encode())
            _add(archive, f"{key}.json", json.dumps(fields, ensure_ascii=False, sort_keys=True).encode())
            n += 1
            held += len(row.data or b"")
            if held >= SHARD_BYTES:
                break
    return n


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    about = tarfile.TarInfo(name)
    about.size = len(data)
    archive.addfile(about, io.BytesIO(data))
