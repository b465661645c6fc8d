"""Reads CSV, TSV, JSONL and Parquet files row by row, each row with the line it begins on."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sightline.data.sources.rows import Columns, Layout, Row, few_columns, short
from sightline.data.sources.strict_json import parse_json
from sightline.errors import DataError
from sightline.parquet import parquet_frames, parquet_schema
from sightline.regular import LONGEST_LINE, LONGEST_TEXT, open_regular

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
TABLES = (*SEPARATORS, *JSON_LINES, *PARQUET)
_LAYOUTS = 1_000
"""Sets of columns that are remembered; every line of JSON may have its own."""


def read_lines(path: Path, name: str, longest: int = LONGEST_LINE) -> Iterator[str]:
    """The lines of a UTF-8 text file, or a DataError that says where it is none."""
    if path.stat().st_size == 0:
        raise DataError("the file is empty", where=name, remedy="Give a file that holds data.")
    offset = 0
    with open_regular(path, name) as stream:
        for number, raw in enumerate(iter(lambda: stream.readline(longest + 1), b""), 1):
            if len(raw) > longest:
                raise DataError(
                    f"a line of more than {longest:,} bytes",
                    where=f"{name}:{number}",
                    remedy="Break it into lines, or write it again.",
                )
            try:
                line = raw.decode("utf-8-sig") if number == 1 else raw.decode()
            except UnicodeDecodeError as error:
                wide = number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff")
                encoding = "UTF-16" if wide else "WINDOWS-1252"
                raise DataError(
                    f"not UTF-8 text: byte 0x{raw[error.start]:02x} at offset {offset + error.start:,}"
                    + ("; it looks like UTF-16" if wide else ""),
                    where=f"{name}:{number}",
                    remedy=f"Save the file as UTF-8, for example: iconv -f {encoding} -t UTF-8 {path.name}",
                ) from None
            if "\0" in line:
                raise DataError(
                    f"a NUL byte at offset {offset + raw.index(0):,}",
                    where=f"{name}:{number}",
                    remedy="The file is damaged or no text: write it again.",
                )
            offset += len(raw)
            yield line


def header(path: Path, name: str) -> list[str]:
    """The column names of a table; of JSONL those of the first line."""
    suffix = _suffix(name)
    if suffix in PARQUET:
        return _parquet_header(path, name)
    if suffix in JSON_LINES:
        names = next((list(_flatten(content)) for _, content in _json_lines(path, name)), [])
    else:
        separator = SEPARATORS[suffix]
        first = _csv_cells(path, name, separator)
        names = next((_header(cells, name, separator) for cells, _ in first), [])
    few_columns(names, f"{name}:1")
    return names


def pictured(path: Path, name: str) -> Sequence[str]:
    """The columns of a Parquet file that hold image files."""
    return parquet_schema(path, name).pictures


def rows(path: Path, name: str, columns: Columns) -> Iterator[Row]:
    """The rows of a table; objects in JSONL and Parquet become columns such as `tags.colour`."""
    suffix = _suffix(name)
    if suffix in PARQUET:
        columns.layout(name, _parquet_header(path, name), name)
        return _flat_rows(_parquet_objects(path, name), name, columns, ":row ")
    if suffix in JSON_LINES:
        return _flat_rows(_json_lines(path, name), name, columns, ":")
    return _csv_rows(path, name, SEPARATORS[suffix], columns)


def _suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in TABLES:
        raise DataError(
            f"a table cannot be read from a {suffix or 'nameless'} file",
            where=name,
            remedy="Give CSV (.csv), TSV (.tsv), JSON lines (.jsonl) or Parquet (.parquet).",
        )
    return suffix


def _csv_rows(path: Path, name: str, separator: str, columns: Columns) -> Iterator[Row]:
    pieces = _csv_cells(path, name, separator)
    cells, line = next(pieces, ([], 1))
    names = _header(cells, name, separator)
    layout = columns.layout(name, names, f"{name}:{line}")
    width = len(names)
    for cells, line in pieces:
        if len(cells) == width:
            yield Row(cells, layout, line)
        else:
            raise DataError(
                f"{len(cells)} cells where the header has {width}",
                where=f"{name}:{line}",
                remedy=f"Complete or remove the row; a text with {_spoken(separator)} in it needs quotes.",
            )


def _csv_cells(path: Path, name: str, separator: str) -> Iterator[tuple[list[str], int]]:
    # strict: a stray quote otherwise swallows the rows after it without a word.
    reader = csv.reader(read_lines(path, name), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield cells, line
            line = reader.line_num + 1
    except csv.Error as error:
        raise _csv_error(str(error), f"{name}:{line}") from None


def _csv_error(reason: str, at: str) -> DataError:
    limit = csv.field_size_limit()
    known = {
        "field limit": (
            f"a cell of more than {limit:,} characters: is a quote never closed?",
            'Close it; a quote inside a cell is "".',
        ),
        "unexpected end of data": (
            "a quote is opened in this row and never closed",
            'Close it; a quote inside a cell is "".',
        ),
        "new-line character": (
            "a carriage return without a line feed",
            "Save the file with Unix or Windows line ends, or put the cell in quotes.",
        ),
        "": (
            f"the quotes of this row do not match ({reason})",
            'Put the whole cell in quotes and write "" for each quote inside it.',
        ),
    }
    what, remedy = next(known[sign] for sign in known if sign in reason)
    return DataError(what, where=at, remedy=remedy)


def _header(cells: Sequence[str], name: str, separator: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(names) == 1:
        for other in (";", "\t", ",", "|"):
            if other != separator and other in names[0]:
                raise DataError(
                    f"the header is one column, {short(names[0])}; is {_spoken(other)} between the cells?",
                    where=f"{name}:1",
                    remedy="Save it with commas as .csv, or with tabs as .tsv.",
                )
    return names


def _flat_rows(
    objects: Iterable[tuple[int, dict[str, Any]]], name: str, columns: Columns, mark: str
) -> Iterator[Row]:
    """Rows of objects, each of which comes after its number."""
    layouts: dict[tuple[str, ...], Layout] = {}
    for number, content in objects:
        flat = _flatten(content)
        for column, cell in flat.items():
            if cell.__class__ is str and len(cell) > LONGEST_TEXT:
                raise DataError(
                    f"{column}: a text of more than {LONGEST_TEXT:,} characters",
                    where=f"{name}{mark}{number}",
                    remedy="Shorten it, or leave the row out.",
                )
        names = tuple(flat)
        if names not in layouts:
            if len(layouts) >= _LAYOUTS:
                layouts.clear()
            layouts[names] = columns.layout(name, names, f"{name}:{number}" if mark == ":" else name, mark)
        yield Row(list(flat.values()), layouts[names], number)


def _json_lines(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(read_lines(path, name), 1):
        if line.isspace():
            continue
        at = f"{name}:{number}"
        try:
            found = parse_json(line)
        except ValueError as error:
            raise DataError(
                f"not JSON ({error})", where=at, remedy="Each line must be one JSON object."
            ) from None
        if not isinstance(found, dict):
            raise DataError(
                f"not a JSON object: {short(found)}", where=at, remedy='Write {"name": value, ...}.'
            )
        yield number, found


def _flatten(found: Mapping[str, Any]) -> dict[str, Any]:
    """Objects of the groups we know as columns: {"tags": {"a": 1}} becomes {"tags.a": 1}."""
    if "tags" not in found and "settings" not in found:
        return dict(found)
    flat: dict[str, Any] = {}
    for name, value in found.items():
        if name in ("tags", "settings") and isinstance(value, dict):
            flat.update({f"{name}.{inner}": cell for inner, cell in value.items()})
        else:
            flat[name] = value
    return flat


def _parquet_objects(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    for frame in parquet_frames(path, name):
        yield from enumerate(frame.iter_rows(named=True), number + 1)
        number += frame.height


def _parquet_header(path: Path, name: str) -> list[str]:
    names: list[str] = []
    for column, fields in parquet_schema(path, name).columns:
        if column in ("tags", "settings") and fields:
            names += [f"{column}.{each}" for each in fields]
        else:
            names.append(column)
    few_columns(names, name)
    return names


def _spoken(separator: str) -> str:
    return {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}[separator]
