"""Tables as files: CSV for people and spreadsheets, JSON lines and Parquet for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.data.exporters import write_each, write_parquet
from sightline.extension import exporter

if TYPE_CHECKING:
    import polars as pl

# With the apostrophes that stand before it already: so what the guard does can be undone exactly.
FORMULA = r"^('*[=+\-@\t\r])"


@exporter(suffix=".csv", source="RFC 4180; OWASP CSV injection", licence="Apache-2.0")
def csv(tables: Mapping[str, pl.DataFrame], folder: Path) -> Sequence[Path]:
    """One UTF-8 CSV file a table, safe to open in a spreadsheet.

    Text that a spreadsheet would run as a formula (it starts with = + - @, a tab or a carriage return) gets
    an apostrophe in front, as does text that looks so guarded; numbers stay numbers. Importing an export
    takes the apostrophes away again. Lists and structures become JSON, bytes hexadecimal.
    """
    return write_each(tables, folder, ".csv", _write_csv)


def _write_csv(parts: Iterator[pl.DataFrame], file: Path) -> None:
    with file.open("wb") as stream:
        for number, part in enumerate(parts):
            _safe(part).write_csv(stream, quote_style="necessary", include_header=number == 0)


def _safe(table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    columns = []
    for name, kind in table.schema.items():
        column = pl.col(name)
        if kind.is_nested():
            column = column.map_elements(_as_json, return_dtype=pl.String)
        elif kind == pl.Binary:
            column = column.bin.encode("hex")
        elif kind in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        elif kind != pl.String:
            columns.append(column)
            continue
        columns.append(column.str.replace(FORMULA, "'${1}"))
    safe = table.select(columns) if columns else table
    return safe.rename({name: re.sub(FORMULA, r"'\1", name) for name in safe.columns})


def _as_json(value: Any) -> str:
    plain = value.to_list() if hasattr(value, "to_list") else value
    return json.dumps(plain, ensure_ascii=False, default=str)


@exporter(suffix=".jsonl", source="jsonlines.org", licence="Apache-2.0")
def jsonl(tables: Mapping[str, pl.DataFrame], folder: Path) -> Sequence[Path]:
    """One file per table, one JSON object per row, in UTF-8; a missing value is null."""
    return write_each(tables, folder, ".jsonl", _write_lines)


def _write_lines(parts: Iterator[pl.DataFrame], file: Path) -> None:
    with file.open("wb") as stream:
        for part in parts:
            part.write_ndjson(stream)


@exporter(suffix=".parquet", source="Apache Parquet", licence="Apache-2.0")
def parquet(tables: Mapping[str, pl.DataFrame], folder: Path) -> Sequence[Path]:
    """One compressed Parquet file a table; types and missing values come back as they were."""
    return write_each(tables, folder, ".parquet", write_parquet)
