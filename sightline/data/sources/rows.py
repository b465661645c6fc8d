"""Rows of tables that know where they came from and what their cells should be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, KeysView, Mapping, Sequence
from typing import Any, TypeVar, overload

from sightline.data.sources.strict_json import parse_json
from sightline.errors import DataError, near

T = TypeVar("T")
_REQUIRED: Any = object()
_TRUE = frozenset(("true", "1", "yes", "t", "y"))
_FALSE = frozenset(("false", "0", "no", "f", "n"))
_LARGEST = 2**63 - 1
MOST_COLUMNS = 5_000

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
        if prefix not in self._groups:
            self._groups[prefix] = [
                (name[len(prefix) :], place)
                for name, place in self.index.items()
                if name.startswith(prefix) and len(name) > len(prefix)
            ]
        return self._groups[prefix]


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

    def mapped(self, change: Callable[[Any], Any]) -> Row:
        """The same row with every cell changed so."""
        return Row([change(cell) for cell in self._cells], self._layout, self.line)

    @property
    def columns(self) -> KeysView[str]:
        """The names of the columns there are."""
        return self._layout.index.keys()

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
        if not math.isfinite(number) or isinstance(value, bool) or (isinstance(value, str) and "_" in value):
            remedy = "Give a plain number such as 0.5, or leave the cell empty."
            raise self.wrong(column, "a finite number", remedy)
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
        if value.__class__ is str and len(value) < 19 and value.isdecimal():
            return int(value)
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
            raise self.error(f"{column} is not JSON ({error})", 'Write it as {"name": "value"}.') from None

    def error(self, what: str, remedy: str) -> DataError:
        """An error about this row."""
        return DataError(what, where=self.at, remedy=remedy)

    def wrong(self, column: str, wanted: str, remedy: str) -> DataError:
        """The error that a cell is not what it must be."""
        return self.error(f"{column} must be {wanted}, not {short(self.get(column))}", remedy)

    def _absent(self, column: str, default: Any) -> Any:
        if default is not _REQUIRED:
            return default
        if column not in self._layout.index:
            raise no_column(column, self._layout.index, self.at)
        raise self.error(f"{column} is empty", "Fill in the cell or remove the row.")

    def _as_text(self, column: str, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float | str):
            return str(value)
        if isinstance(value, list | dict):
            try:
                return json.dumps(value, ensure_ascii=False)
            except (TypeError, ValueError):
                raise self.wrong(
                    column, "text, not a structure with bytes", "Leave the column out."
                ) from None
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
        few_columns(names, at)
        index: dict[str, int] = {}
        for place, name in enumerate(names):
            if not name:
                continue
            if name in index:
                raise DataError(
                    f"there are two columns called {name!r}", where=at, remedy="Rename or remove one of them."
                )
            index[name] = place
        mapped_at = {ours: names.index(theirs) for ours, theirs in self.mapping.items() if theirs in names}
        # A mapped column is renamed: what is now `tags.kind` is no longer our `kind`.
        for ours in mapped_at:
            index.pop(self.mapping[ours], None)
        index.update(mapped_at)
        self._used.update(mapped_at)
        for wanted in self.required:
            either = (wanted,) if isinstance(wanted, str) else wanted
            if not any(name in index for name in either):
                mapped = next((name for name in either if name in self.mapping), None)
                if mapped is not None:
                    theirs = self.mapping[mapped]
                    raise DataError(
                        f"there is no column {theirs!r}, which --column {mapped}={theirs} names",
                        where=at,
                        remedy=near(theirs, names),
                    )
                raise no_column(" or ".join(either), index, at)
        return Layout(file, index, mark)


def few_columns(names: Sequence[str], at: str) -> None:
    """Refuse a table of so many columns that something is wrong."""
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{len(names):,} columns: more than the {MOST_COLUMNS:,} that are read",
            where=at,
            remedy="Put what they hold into rows.",
        )


def no_column(wanted: str, known: Mapping[str, int] | Sequence[str], at: str) -> DataError:
    """The error that a column is missing, with the nearest names and how to map one."""
    suggestion = near(wanted, known)
    example = wanted.split(" ")[0]
    return DataError(
        f"there is no column {wanted}",
        where=at,
        remedy=f"{suggestion} Name theirs with --column {example}=THEIRS.".strip(),
    )


def short(value: Any) -> str:
    """A value as shown in a message: not too long."""
    said = repr(value)
    return said if len(said) <= 60 else said[:57] + "..."
