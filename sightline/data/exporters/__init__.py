"""Formats in which the tables of a study leave the house; here is what all of them share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sightline.errors import UsageError
from sightline.parquet import spilled

if TYPE_CHECKING:
    import polars as pl


ROW_GROUP = 50_000
"""Rows of a Parquet file that are packed, and read, together."""


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` once it is on the disk; on error nothing is left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def parts(tables: Mapping[str, pl.DataFrame], name: str) -> Iterator[pl.DataFrame]:
    """The rows of a table as frames, at least one: as they are read, where the tables can be read so."""
    read: Callable[[str], Iterator[pl.DataFrame]] | None = getattr(tables, "parts", None)
    return iter((tables[name],)) if read is None else read(name)


def write_each(
    tables: Mapping[str, pl.DataFrame],
    folder: Path,
    suffix: str,
    write: Callable[[Iterator[pl.DataFrame], Path], object],
) -> list[Path]:
    """Write every table, part by part, to a file of its own; its name may not lead out of the folder."""
    for name in tables:
        if not name or name != Path(name).name or name.startswith(".") or "\\" in name or "\0" in name:
            raise UsageError(f"a table cannot be called {name!r}", remedy="Its name becomes a file name.")
    files = {name: folder / f"{name}{suffix}" for name in tables}
    for name, path in files.items():
        with whole(path) as draft:
            write(parts(tables, name), draft)
    return list(files.values())


def write_parquet(
    frames: Iterator[pl.DataFrame],
    file: Path,
    group: int | None = None,
    about: dict[str, str] | None = None,
) -> None:
    """One Parquet file of the rows of all frames, of which few are in memory at once.

    `group` is the number of rows that are read together, `about` what the file says of itself.
    """
    first, second = next(frames), next(frames, None)
    if second is None:
        first.write_parquet(file, row_group_size=group, metadata=about)
        return
    with TemporaryDirectory(dir=file.parent, prefix=f"{file.name}.") as aside:
        rows = spilled(chain((first, second), frames), Path(aside) / "parts")
        rows.sink_parquet(file, row_group_size=group or ROW_GROUP, metadata=about)
