"""Rows of CSV, JSONL and Parquet files that know where they came from and what their cells should be."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from sightline.errors import DataError, UsageError, near

T = TypeVar("T")
_REQUIRED: Any = object()
_TRUE = frozenset(("true", "1", "yes", "t", "y"))
_FALSE = frozenset(("false", "0", "no", "f", "n"))
_LARGEST = 2**63 - 1
_PARQUET_BATCH = 50_000

Required = Sequence[str | tuple[str, ...]]


class Layout:
    """The columns of a file: which cell each of our names stands for."""

    __slots__ = ("_groups", "file", "index", "mark")

    def __init__(self, file: str, index: Mapping[str, int], mark: str = ":") -> None:
        self.file = file
        self.index = index
        self.mark = mark
        self._groups: dict[str, list[tuple[str, int]]] = {}

    def group(self, prefix: str) -> list[tuple[str, int]]:
        """The columns whose name begins so, without that beginning."""
        found = self._groups.get(prefix)
        if found is None:
            found = [
                (name[len(prefix) :], place)
                for name, place in self.index.items()
                if name.startswith(prefix) and len(name) > len(prefix)
            ]
            self._groups[prefix] = found
        return found


class Row:
    """One row; every getter raises a DataError that names file, line, column and remedy."""

    __slots__ = ("_cells", "_layout", "line")

    def __init__(self, cells: Sequence[Any], layout: Layout, line: int) -> None:
        self._cells = cells
        self._layout = layout
        self.line = line

    @property
    def at(self) -> str:
        """Where the row begins, such as `answers.csv:17`."""
        return f"{self._layout.file}{self._layout.mark}{self.line}"

    def __contains__(self, column: str) -> bool:
        return column in self._layout.index

    def get(self, column: str) -> Any:
        """The cell as it is; None where it is empty or there is no such column."""
        place = self._layout.index.get(column)
        if place is None:
            return None
        value = self._cells[place]
        return None if value == "" else value

    @overload
    def text(self, column: str) -> str: ...
    @overload
    def text(self, column: str, default: T) -> str | T: ...
    def text(self, column: str, default: Any = _REQUIRED) -> Any:
        """The cell as text; a blank one is an error unless there is a default."""
        place = self._layout.index.get(column)
        value = None if place is None else self._cells[place]
        if value.__class__ is str:
            if value and not value.isspace():
                return value
        elif value is not None:
            return self._as_text(column, value)
        return self._absent(column, default)

    @overload
    def number(self, column: str) -> float: ...
    @overload
    def number(self, column: str, default: T) -> float | T: ...
    def number(self, column: str, default: Any = _REQUIRED) -> Any:
        """The cell as a finite number."""
        value = self.get(column)
        if value is None:
            return self._absent(column, default)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if (
            not math.isfinite(number)
            or value is True
            or value is False
            or (value.__class__ is str and "_" in value)
        ):
            raise self.wrong(
                column, "a finite number", "Give a plain number such as 0.5, or leave the cell empty."
            )
        return number

    @overload
    def whole(self, column: str) -> int: ...
    @overload
    def whole(self, column: str, default: T) -> int | T: ...
    def whole(self, column: str, default: Any = _REQUIRED) -> Any:
        """The cell as a whole number; 3.0 counts as 3, since table programs write it so."""
        value = self.get(column)
        if value is None:
            return self._absent(column, default)
        number = self._as_whole(value)
        if number is None or abs(number) > _LARGEST:
            raise self.wrong(column, "a whole number", "Give a number such as 3, or leave the cell empty.")
        return number

    def count(self, column: str, default: int = 0) -> int:
        """The cell as a whole number that is not negative."""
        number = self.whole(column, default)
        if number < 0:
            raise self.wrong(column, "0 or more", "Count from 0.")
        return number

    def flag(self, column: str, default: bool = False) -> bool:
        """The cell as yes or no."""
        value = self.get(column)
        if value is None:
            return default
        said = str(value).strip().lower()
        if said in _TRUE:
            return True
        if said in _FALSE:
            return False
        raise self.wrong(column, "yes or no", "Write true or false.")

    def group(self, prefix: str) -> dict[str, str]:
        """The cells of all columns that begin so: `tags.` gives a tag a column; empty cells are left out."""
        found = {}
        for name, place in self._layout.group(prefix):
            value = self._cells[place]
            if value is None or value == "":
                continue
            found[name] = value if value.__class__ is str else self._as_text(prefix + name, value)
        return found

    def structure(self, column: str) -> Any:
        """The cell as JSON: parsed where the file holds text, as it is where the file holds the structure."""
        value = self.get(column)
        if not isinstance(value, str):
            return value
        try:
            return parse_json(value)
        except ValueError as error:
            raise DataError(
                f"{column} is not JSON ({error})", where=self.at, remedy='Write it as {"name": "value"}.'
            ) from None

    def wrong(self, column: str, wanted: str, remedy: str) -> DataError:
        """The error that a cell is not what it must be."""
        value = self.get(column)
        return DataError(f"{column} must be {wanted}, not {_short(value)}", where=self.at, remedy=remedy)

    def _absent(self, column: str, default: Any) -> Any:
        if default is not _REQUIRED:
            return default
        if column not in self._layout.index:
            raise no_column(column, self._layout.index, self.at)
        raise DataError(f"{column} is empty", where=self.at, remedy="Fill in the cell or remove the row.")

    def _as_text(self, column: str, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float | str):
            return str(value)
        if isinstance(value, list | dict):
            return json.dumps(value, ensure_ascii=False)
        if hasattr(value, "isoformat"):
            return str(value.isoformat())
        raise self.wrong(column, "text", "Give the column as text.")

    @staticmethod
    def _as_whole(value: Any) -> int | None:
        if isinstance(value, bool):
            return None
        if isinstance(value, int):
            return value
        if isinstance(value, str):
            if "_" in value or len(value) > 40:
                return None
            try:
                return int(value)
            except ValueError:
                pass
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        return int(number) if number.is_integer() else None


class Columns:
    """Turns the names a file has into a Layout: our name -> their place, checked for what is required."""

    def __init__(self, mapping: Mapping[str, str], required: Required, used: set[str]) -> None:
        self.mapping = mapping
        self.required = required
        self._used = used

    def layout(self, file: str, names: Sequence[str], at: str, mark: str = ":") -> Layout:
        """The layout of a header, or a DataError that names what is missing and what is near."""
        index: dict[str, int] = {}
        for place, name in enumerate(names):
            if not name:
                continue
            if name in index:
                raise DataError(
                    f"there are two columns called {name!r}", where=at, remedy="Rename or remove one of them."
                )
            index[name] = place
        for ours, theirs in self.mapping.items():
            if theirs in names:
                index[ours] = names.index(theirs)
                self._used.add(ours)
        for wanted in self.required:
            either = (wanted,) if isinstance(wanted, str) else wanted
            if not any(name in index for name in either):
                told = next((name for name in either if name in self.mapping), None)
                if told is not None:
                    raise no_mapped_column(told, self.mapping[told], names, at)
                raise no_column(" or ".join(either), index, at)
        return Layout(file, index, mark)


def no_column(wanted: str, known: Mapping[str, int] | Sequence[str], at: str) -> DataError:
    """The error that a column is missing, with the nearest names and how to map one."""
    suggestion = near(wanted, known)
    example = wanted.split(" ")[0]
    return DataError(
        f"there is no column {wanted}",
        where=at,
        remedy=f"{suggestion} Name theirs with --column {example}=THEIRS.".strip(),
    )


def no_mapped_column(ours: str, theirs: str, names: Sequence[str], at: str) -> DataError:
    """The error that --column names a column the file does not have."""
    return DataError(
        f"there is no column {theirs!r}, which --column {ours}={theirs} names",
        where=at,
        remedy=near(theirs, names),
    )


def read_lines(path: Path, name: str) -> Iterator[str]:
    """The lines of a UTF-8 text file, or a DataError that says where it is none."""
    if path.stat().st_size == 0:
        raise DataError("the file is empty", where=name, remedy="Give a file that holds data.")
    offset = 0
    with path.open("rb") as stream:
        if b"\0" in stream.peek(65536)[:65536]:
            raise _not_text(path, name)
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8-sig") if number == 1 else raw.decode()
            except UnicodeDecodeError as error:
                byte = raw[error.start]
                raise DataError(
                    f"not UTF-8 text: byte 0x{byte:02x} at offset {offset + error.start:,}",
                    where=f"{name}:{number}",
                    remedy=f"Save the file as UTF-8, for example: iconv -f WINDOWS-1252 -t UTF-8 {path.name}",
                ) from None
            if "\0" in line:
                raise DataError(
                    f"a NUL byte at offset {offset + raw.index(0):,}",
                    where=f"{name}:{number}",
                    remedy="The file is damaged or no text: write it again.",
                )
            offset += len(raw)
            yield line


def _not_text(path: Path, name: str) -> DataError:
    with path.open("rb") as stream:
        head = stream.read(65536)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return DataError(
            f"not UTF-8 text: byte 0x{head[0]:02x} at offset 0; it looks like UTF-16",
            where=f"{name}:1",
            remedy=f"Save the file as UTF-8, for example: iconv -f UTF-16 -t UTF-8 {path.name}",
        )
    place = head.index(0)
    line = head.count(b"\n", 0, place) + 1
    return DataError(
        f"a NUL byte at offset {place:,}",
        where=f"{name}:{line}",
        remedy="The file is damaged or no text: write it again.",
    )


def csv_header(path: Path, name: str, separator: str) -> list[str]:
    """The column names of a CSV or TSV file."""
    for cells, _ in _csv_cells(path, name, separator):
        return _header(cells, name, separator)
    return []


def read_csv(path: Path, name: str, separator: str, columns: Columns) -> Iterator[Row]:
    """The rows of a CSV or TSV file, each with the line it begins on."""
    pieces = _csv_cells(path, name, separator)
    cells, line = next(pieces, ([], 1))
    header = _header(cells, name, separator)
    layout = columns.layout(name, header, f"{name}:{line}")
    width = len(header)
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


def _csv_error(said: str, at: str) -> DataError:
    if "field limit" in said:
        return DataError(
            f"a cell of more than {csv.field_size_limit():,} characters: is a quote never closed?",
            where=at,
            remedy='Close it; a quote inside a cell is "".',
        )
    if "unexpected end of data" in said:
        return DataError(
            "a quote is opened in this row and never closed",
            where=at,
            remedy='Close it; a quote inside a cell is "".',
        )
    if "new-line character" in said:
        return DataError(
            "a carriage return without a line feed",
            where=at,
            remedy="Save the file with Unix or Windows line ends, or put the cell in quotes.",
        )
    return DataError(
        f"the quotes of this row do not match ({said})",
        where=at,
        remedy='Put the whole cell in quotes and write "" for each quote inside it.',
    )


def _header(cells: Sequence[str], name: str, separator: str) -> list[str]:
    header = [cell.strip() for cell in cells]
    if len(header) == 1:
        for other in (";", "\t", ",", "|"):
            if other != separator and other in header[0]:
                raise DataError(
                    f"the header is one column, {_short(header[0])}; is {_spoken(other)} between the cells?",
                    where=f"{name}:1",
                    remedy="Save it with commas as .csv, or with tabs as .tsv.",
                )
    return header


def read_jsonl(path: Path, name: str, columns: Columns) -> Iterator[Row]:
    """The objects of a JSONL file, one a line; objects inside them become columns such as `tags.colour`."""
    layouts: dict[tuple[str, ...], Layout] = {}
    for line, found in json_lines(path, name):
        flat = flatten(found)
        names = tuple(flat)
        layout = layouts.get(names)
        if layout is None:
            layout = layouts[names] = columns.layout(name, names, f"{name}:{line}")
        yield Row(list(flat.values()), layout, line)


def json_lines(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their lines."""
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
                f"not a JSON object: {_short(found)}", where=at, remedy='Write {"name": value, ...}.'
            )
        yield number, found


def flatten(found: Mapping[str, Any]) -> dict[str, Any]:
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


def read_parquet(path: Path, name: str, columns: Columns) -> Iterator[Row]:
    """The rows of a Parquet file, a batch at a time."""
    lazy = _parquet(path, name)
    columns.layout(name, parquet_header(path, name), name)
    layouts: dict[tuple[str, ...], Layout] = {}
    start = 0
    while True:
        batch = _parquet_step(name, lazy.slice(start, _PARQUET_BATCH).collect)
        for number, found in enumerate(batch.iter_rows(named=True), start + 1):
            flat = flatten(found)
            key = tuple(flat)
            layout = layouts.get(key)
            if layout is None:
                layout = layouts[key] = columns.layout(name, key, name, ":row ")
            yield Row(list(flat.values()), layout, number)
        if batch.height < _PARQUET_BATCH:
            return
        start += batch.height


def parquet_header(path: Path, name: str) -> list[str]:
    """The column names of a Parquet file."""
    lazy = _parquet(path, name)
    found: list[str] = []
    for column, kind in lazy.collect_schema().items():
        fields = getattr(kind, "fields", None)
        if column in ("tags", "settings") and fields:
            found += [f"{column}.{each.name}" for each in fields]
        else:
            found.append(column)
    return found


def _parquet(path: Path, name: str) -> Any:
    import polars

    def scan() -> Any:
        lazy = polars.scan_parquet(path, glob=False)
        lazy.collect_schema()
        return lazy

    return _parquet_step(name, scan)


def _parquet_step(name: str, step: Callable[[], Any]) -> Any:
    import polars

    try:
        return step()
    except (polars.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"not a readable Parquet file ({str(error).splitlines()[0]})",
            where=name,
            remedy="Write it again.",
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _no_constant(said: str) -> Any:
    raise ValueError(f"{said} is not a JSON number")


_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


def parse_json(text: str) -> Any:
    """JSON without repeated keys, NaN, NUL or halves of characters; ValueError says what is wrong."""
    try:
        found = _decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    # Only an escape can bring in what no UTF-8 text may hold; without one there is nothing to look for.
    if "\\u" in text:
        for each in _texts(found):
            if "\0" in each:
                raise ValueError("it holds a NUL character")
            try:
                each.encode()
            except UnicodeEncodeError:
                raise ValueError("it holds half a character (a lone surrogate)") from None
    return found


def _texts(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict):
        for name, value in found.items():
            yield name
            yield from _texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from _texts(value)


def one_pair(text: str) -> tuple[str, str]:
    """`prompt=caption` as the pair it names: our column and theirs."""
    ours, equals, theirs = text.partition("=")
    if not equals or not ours.strip() or not theirs.strip():
        raise UsageError(
            f"cannot read --column {text}", remedy="Write OURS=THEIRS, for example prompt=caption."
        )
    return ours.strip(), theirs.strip()


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 60 else said[:57] + "..."


def _spoken(separator: str) -> str:
    return {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}[separator]
