"""Formats in which the tables of a study leave the house; here is what all of them share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


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


def write_each(
    tables: Mapping[str, pl.DataFrame],
    folder: Path,
    suffix: str,
    write: Callable[[pl.DataFrame, Path], object],
) -> list[Path]:
    """Write every table to a file of its own; a table's name may not lead out of the folder."""
    for name in tables:
        if not name or name != Path(name).name or name.startswith(".") or "\\" in name or "\0" in name:
            raise UsageError(f"a table cannot be called {name!r}", remedy="Its name becomes a file name.")
    files = {folder / f"{name}{suffix}": table for name, table in tables.items()}
    for path, table in files.items():
        with whole(path) as draft:
            write(table, draft)
    return list(files)
