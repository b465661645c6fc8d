"""Parquet files of others, read slice by slice in a bounded process.

A few kilobytes can stand for any number of rows and any length of text: pages are packed, values repeated.
What a file says of its own size proves nothing: it is read where memory is limited, and what comes out
is counted.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.bounded import MEGABYTE, READERS, Crew
from sightline.errors import DataError
from sightline.regular import LONGEST_TEXT, open_regular

if TYPE_CHECKING:
    import polars

SLICE = 50_000
SLICE_BYTES = 32 * MEGABYTE
"""Of cells in one slice; where rows are longer there are fewer."""
PICTURED = Crew(4_000 * MEGABYTE, most=1)
PICTURED_BYTES = 96 * MEGABYTE
"""For files with pictures: to read a few rows a whole group of them is decoded, which may have a thousand."""
FREE_ROWS = 50_000
ROWS_A_BYTE = 8
FREE_BYTES = 100 * MEGABYTE
BYTES_A_BYTE = 200
"""So many rows, and bytes of cells, a file may hold for each of its own bytes, besides the free ones."""


class Schema(NamedTuple):
    """The columns of a file, each with the names of its fields where it has any, and the number of rows.

    `pictures` are the columns that hold files: bytes, or as Hugging Face has it, bytes and path.
    """

    columns: Sequence[tuple[str, Sequence[str]]]
    rows: int
    pictures: Sequence[str] = ()


def parquet_schema(path: Path, where: str) -> Schema:
    """What a Parquet file says it holds; a DataError where it is too much for its size."""
    size = _size(path, where)
    facts, _ = READERS.run(_schema, b"", os.path.abspath(path), where, seconds=_seconds(size), where=where)
    most = FREE_ROWS + ROWS_A_BYTE * size
    if facts["rows"] > most:
        raise DataError(
            f"it claims {facts['rows']:,} rows: more than the {most:,} that a file of its size may hold",
            where=where,
            remedy="If that is right, split it, or give it as JSON lines or CSV.",
        )
    return Schema([(name, fields) for name, fields in facts["columns"]], facts["rows"], facts["pictures"])


def parquet_frames(
    path: Path, where: str, columns: Sequence[str] | None = None
) -> Iterator[polars.DataFrame]:
    """The rows of a Parquet file, some at a time."""
    import polars

    schema = parquet_schema(path, where)
    rows, size = schema.rows, _size(path, where)
    crew, most_rows, most_bytes = READERS, SLICE, SLICE_BYTES
    if schema.pictures:
        # Pictures are packed already: the file is about as long as its cells.
        crew, most_bytes = PICTURED, PICTURED_BYTES
        most_rows = max(1, min(SLICE, most_bytes * rows // max(1, size)))
    most = FREE_BYTES + BYTES_A_BYTE * size
    start = 0
    while start < rows:
        chosen = None if columns is None else tuple(columns)
        asked = (os.path.abspath(path), where, start, chosen, most_rows, most_bytes)
        cells, stored = crew.run(_slice, b"", *asked, seconds=_seconds(size), where=where)
        most -= cells
        if most < 0:
            raise DataError(
                f"its cells unfold to more than {FREE_BYTES + BYTES_A_BYTE * size:,} bytes",
                where=where,
                remedy="If that is right, split it, or give it as JSON lines or CSV.",
            )
        frame = polars.read_ipc_stream(io.BytesIO(stored))
        if frame.height == 0:
            raise DataError(
                f"it has {start:,} rows where it claims {rows:,}", where=where, remedy="Write it again."
            )
        yield frame
        start += frame.height


def spilled(frames: Iterable[polars.DataFrame], folder: Path) -> polars.LazyFrame:
    """Frames, one in memory at a time, written to files of a folder and read as they are asked for."""
    import polars

    folder.mkdir()
    for number, part in enumerate(frames):
        # The first also where it is empty: it has the columns.
        if part.height or not number:
            part.write_parquet(folder / f"{number:09d}.parquet", compression="lz4", statistics=False)
    return polars.scan_parquet(folder / "*.parquet", glob=True)


def _size(path: Path, where: str) -> int:
    with open_regular(path, where) as stream:
        return stream.seek(0, io.SEEK_END)


def _seconds(size: int) -> float:
    return 4.0 + size / (5 * MEGABYTE)


def _schema(_: bytes, path: str, where: str) -> tuple[Any, tuple[bytes, ...]]:
    import polars

    with _errors(where):
        lazy = polars.scan_parquet(path, glob=False)
        schema = lazy.collect_schema()
        rows = lazy.select(polars.len()).collect().item()
    fields = {name: [each.name for each in getattr(kind, "fields", ())] for name, kind in schema.items()}
    pictures = [
        name
        for name, kind in schema.items()
        if kind == polars.Binary or {"bytes", "path"} <= set(fields[name])
    ]
    return {"columns": list(fields.items()), "rows": rows, "pictures": pictures}, ()


def _slice(
    _: bytes,
    path: str,
    where: str,
    start: int,
    columns: Sequence[str] | None,
    most_rows: int,
    most_bytes: int,
) -> tuple[int, tuple[bytes, ...]]:
    """The bytes that cells have, and rows as polars writes them."""
    import polars

    with _errors(where):
        lazy = polars.scan_parquet(path, glob=False)
        lazy = lazy if columns is None else lazy.select(list(columns))
        frame = lazy.slice(start, most_rows).collect()
        texts = frame.select(
            polars.col(polars.String).str.len_bytes(),
            polars.col(polars.Categorical, polars.Enum).cat.len_bytes(),
        )
        for column in texts:
            longest = column.arg_max()
            if longest is not None and column[longest] > LONGEST_TEXT:
                raise DataError(
                    f"{column.name}: a text of more than {LONGEST_TEXT:,} bytes",
                    where=f"{where}:row {start + 1 + longest}",
                    remedy="Shorten it, or leave the row out.",
                )
        cells = _bytes(frame, texts)
        if cells > most_bytes and frame.height > 1:
            frame = frame.head(max(1, frame.height * most_bytes // cells))
            cells = _bytes(frame, texts.head(frame.height))
        out = io.BytesIO()
        # The older form writes the texts of these rows; the newer, all that they were cut from.
        frame.write_ipc_stream(out, compat_level=polars.CompatLevel.oldest())
    return cells, (out.getbuffer(),)  # type: ignore[return-value]


def _bytes(frame: polars.DataFrame, texts: polars.DataFrame) -> int:
    # Repeated texts are held once, but become as many as there are rows.
    return max(int(frame.estimated_size()), sum(int(column.sum() or 0) for column in texts))


@contextmanager
def _errors(where: str) -> Iterator[None]:
    import polars

    try:
        yield
    except (polars.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"not a readable Parquet file ({str(error).splitlines()[0]})",
            where=where,
            remedy="Write it again.",
        ) from None
