"""One small table that becomes HTML, terminal output, CSV or JSON."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sightline.estimate import (
    ARROWS,
    Cell,
    Direction,
    Estimate,
    clean,
    common_decimals,
    direction_said,
    far_apart,
    format_cell,
    format_interval,
    format_n,
    format_number,
    is_absent,
    plain,
)

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table as RichTable

# From so many columns of intervals on, each interval stands under its value: the table stays on the page.
_DENSE = 4

# A spreadsheet runs a cell that starts with one of these; the full-width forms are read as their ASCII twins.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Column:
    """A column: its key in JSON and CSV, its heading for people, and what its numbers mean.

    `format` is "" (sensible digits), "+" (signed), "%" (a proportion), "p" (probability), or a Python
    format specification. `estimate` makes CSV write the interval's columns even where no row has one, so that
    the columns of a command's output do not depend on the data. A `detail` is left to JSON, CSV and
    frames: pages and terminals do not show it.
    """

    name: str
    title: str = ""
    direction: Direction = "none"
    unit: str = ""
    format: str = ""
    estimate: bool = False
    detail: bool = False

    @property
    def heading(self) -> str:
        words = clean(self.title or self.name.replace("_", " "))
        return f"{words} ({self.unit})" if self.unit else words


@dataclass(frozen=True)
class Table:
    """Columns and rows; each row has one cell per column."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]] = field(default_factory=tuple)
    caption: str = ""
    most: int | None = None
    """How many rows a terminal shows; files have them all."""

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"two columns share a name: {names}")
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {index} has {len(row)} cells for {len(self.columns)} columns")

    @property
    def for_people(self) -> Table:
        """The table without the columns that only programs read."""
        keep = [index for index, column in enumerate(self.columns) if not column.detail]
        if len(keep) == len(self.columns):
            return self
        rows = [[row[index] for index in keep] for row in self.rows]
        return replace(self, columns=[self.columns[index] for index in keep], rows=rows)

    def column(self, index: int) -> list[Cell]:
        return [plain(row[index]) for row in self.rows]

    def to_html(self) -> str:
        """An accessible HTML table: caption, scoped headings, the first column as the row's heading.

        Every other cell carries its heading too: on a phone the style sheet sets a row as a list of them.
        """
        table = self.for_people
        numeric, decimals = _numeric(table), _decimals(table)
        caption = _escape(table.caption or "Table")
        # Focusable, so that a keyboard can scroll a table that is wider than the page.
        lines = [f'<div class="{_layout(table)}" role="group" tabindex="0" aria-label="{caption}"><table>']
        if table.caption:
            lines.append(f"<caption>{caption}</caption>")
        lines.append("<thead><tr>")
        for column, is_numeric in zip(table.columns, numeric, strict=True):
            heading = f"{_escape(column.heading)}{_direction(column)}"
            lines.append(f'<th scope="col"{_class(is_numeric)}>{heading}</th>')
        lines.append("</tr></thead><tbody>")
        for row, places in zip(table.rows, decimals, strict=True):
            lines.append("<tr>")
            for index, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
                content = _html_cell(plain(cell), column, places[index])
                sort = _sort_key(plain(cell))
                if index == 0:
                    lines.append(f'<th scope="row"{_class(numeric[index])}{sort}>{content}</th>')
                else:
                    words = _escape(f"{column.heading}\n{direction_said(column.direction)}".strip())
                    lines.append(f'<td data-label="{words}"{_class(numeric[index])}{sort}>{content}</td>')
            lines.append("</tr>")
        lines.append("</tbody></table></div>")
        return "\n".join(lines)

    def to_rich(self) -> RichTable:
        """The table for the terminal; cells are literal text: a prompt's brackets are no markup."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        table = self.for_people
        shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", title_style="bold")
        if table.caption:
            shown.title = Text(clean(table.caption))
        numeric, decimals = _numeric(table), _decimals(table)
        for column, is_numeric in zip(table.columns, numeric, strict=True):
            heading = f"{column.heading} {ARROWS[column.direction]}".rstrip()
            shown.add_column(Text(heading), justify="right" if is_numeric else "left", overflow="fold")
        for row, places in zip(table.rows, decimals, strict=True):
            cells = []
            for column, cell, digits in zip(table.columns, row, places, strict=True):
                text = Text(format_cell(cell, column.format, digits).replace("\n", " "))
                if count := format_n(plain(cell)):
                    text.append(f" {count}", style="dim")
                cells.append(text)
            shown.add_row(*cells)
        return shown

    def to_csv(self) -> str:
        """CSV with full precision.

        An estimate takes the columns name, name_low, name_high and name_n; a missing value is empty, with its
        reason in name_reason. Text that a spreadsheet would run as a formula gets a leading apostrophe.
        """
        header: list[str] = []
        blocks: list[list[list[str]]] = []
        for index, column in enumerate(self.columns):
            cells = self.column(index)
            estimates = column.estimate or any(map(_known, cells))
            missing = any(is_absent(cell) for cell in cells)
            ends = [*(("_low", "_high", "_n") if estimates else ()), *(("_reason",) if missing else ())]
            header += [neutralised(column.name + end) for end in ("", *ends)]
            blocks.append([_csv_cells(cell, estimates, missing) for cell in cells])
        rows = ([text for cells in row for text in cells] for row in zip(*blocks, strict=True))
        lines = [header, *rows]
        return "".join(_csv_line(line) for line in lines)

    def to_frame(self) -> pl.DataFrame:
        """A polars frame; an estimate takes the columns name, name_low, name_high and name_n."""
        import polars as pl

        made: dict[str, list[Any]] = {}
        for index, column in enumerate(self.columns):
            cells = self.column(index)
            estimates = [cell if isinstance(cell, Estimate) else None for cell in cells]
            made[column.name] = [cell.value if isinstance(cell, Estimate) else cell for cell in cells]
            if column.estimate or any(map(_known, cells)):
                for end in ("low", "high", "n"):
                    made[f"{column.name}_{end}"] = [None if e is None else getattr(e, end) for e in estimates]
        return pl.DataFrame(made, strict=False)

    def to_latex(self) -> str:
        """LaTeX for the package booktabs, numbers with their intervals as a reader sees them."""
        table = self.for_people
        numeric, decimals = _numeric(table), _decimals(table)
        shape = "".join("r" if each else "l" for each in numeric)
        lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{shape}}}", r"\toprule"]
        headings = (f"{column.heading} {ARROWS[column.direction]}".strip() for column in table.columns)
        lines += [" & ".join(map(latex, headings)) + r" \\", r"\midrule"]
        for row, places in zip(table.rows, decimals, strict=True):
            shown = zip(table.columns, row, places, strict=True)
            cells = (latex(_with_n(cell, column, digits)) for column, cell, digits in shown)
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        if table.caption:
            lines.append(rf"\caption{{{latex(table.caption)}}}")
        return "\n".join([*lines, r"\end{table}", ""])

    def to_markdown(self) -> str:
        """A Markdown table, numbers with their intervals as a reader sees them, under its caption."""
        table = self.for_people
        decimals = _decimals(table)
        headings = [f"{column.heading} {ARROWS[column.direction]}".strip() for column in table.columns]
        rows = [headings, ["---:" if each else "---" for each in _numeric(table)]]
        for row, places in zip(table.rows, decimals, strict=True):
            shown = zip(table.columns, row, places, strict=True)
            rows.append([_with_n(cell, column, digits) for column, cell, digits in shown])
        lines = ["| " + " | ".join(_markdown(cell) for cell in row) + " |" for row in rows]
        return "\n".join([*([f"**{_markdown(table.caption)}**", ""] if table.caption else []), *lines, ""])

    def to_json(self) -> str:
        """JSON: what the columns mean, then one object per row; an estimate is an object."""
        return _writable(json.dumps(self.as_data(), ensure_ascii=False, indent=2, allow_nan=False))

    def as_data(self) -> dict[str, Any]:
        """The same as plain data."""
        columns = [
            {"name": column.name, "title": column.heading, "direction": column.direction, "unit": column.unit}
            for column in self.columns
        ]
        rows = [
            {column.name: _json_cell(plain(cell)) for column, cell in zip(self.columns, row, strict=True)}
            for row in self.rows
        ]
        return {"caption": self.caption, "columns": columns, "rows": rows}


def reasons(table: Table) -> dict[str, int]:
    """Why cells are missing or have no interval, and how often: what a command prints beneath a table."""
    cells = (plain(cell) for row in table.rows for cell in row)
    bare = (cell for cell in cells if isinstance(cell, Estimate) and cell.low is None)
    return Counter(
        f"- : {clean(cell.reason or 'no value')}"
        if cell.value is None
        else f"no interval: {clean(cell.reason or '')}"
        for cell in bare
        if cell.value is None or cell.reason
    )


def _with_n(cell: Cell, column: Column, decimals: int | None) -> str:
    """A cell as text, with the n of an estimate."""
    return f"{format_cell(cell, column.format, decimals)} {format_n(plain(cell))}".rstrip()


def _markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def latex(words: str) -> str:
    """Text with every character that LaTeX takes for a command escaped."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {each: f"\\{each}" for each in "&%$#_{}"}
    special |= {"\u2191": r"$\uparrow$", "\u2193": r"$\downarrow$", "\u2212": "$-$", "\n": " "}
    return "".join(special.get(each, each) for each in clean(words))


def neutralised(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _numeric(table: Table) -> list[bool]:
    """Which columns hold numbers alone."""
    numeric = []
    for index in range(len(table.columns)):
        cells = [cell for cell in table.column(index) if not is_absent(cell)]
        numbers = [isinstance(cell, (int, float, Estimate)) and not isinstance(cell, bool) for cell in cells]
        numeric.append(bool(cells) and all(numbers))
    return numeric


def _decimals(table: Table) -> list[list[int | None]]:
    """Decimals of each cell, row by row; None where the column holds more than numbers.

    A column shares its decimals, so that its numbers line up. Where they are too far apart for that, as in a
    table with a row for each measure, a row shares its decimals instead.
    """
    columns = [table.column(index) for index in range(len(table.columns))]
    numeric = _numeric(table)
    shared = [
        common_decimals(cells) if holds else None for cells, holds in zip(columns, numeric, strict=True)
    ]
    apart = [holds and far_apart(cells) for cells, holds in zip(columns, numeric, strict=True)]
    made = []
    for number in range(len(table.rows)):
        row = common_decimals(cells[number] for cells, own in zip(columns, apart, strict=True) if own)
        made.append([row if own else places for places, own in zip(shared, apart, strict=True)])
    return made


def _known(cell: Cell) -> bool:
    return isinstance(cell, Estimate) and cell.value is not None


def _layout(table: Table) -> str:
    estimates = sum(
        column.estimate or any(map(_known, table.column(index))) for index, column in enumerate(table.columns)
    )
    kinds = (("dense", estimates >= _DENSE), ("stacks", len(table.columns) > 2))
    return " ".join(["table-scroll", *(name for name, holds in kinds if holds)])


def _html_cell(cell: Cell, column: Column, decimals: int | None) -> str:
    if isinstance(cell, Estimate):
        if cell.value is None:
            reason = _escape(cell.reason or "no value")
            return f'<span class="missing">-</span> <span class="reason">{reason}</span>'
        value = format_number(cell.value, column.format, decimals)
        parts = [f'<span class="value">{_escape(value)}</span>']
        interval = format_interval(cell, column.format, decimals)
        if interval and cell.rough:
            parts.append(f'<span class="interval rough">roughly {_escape(interval)}</span>')
        elif interval:
            parts.append(f'<span class="interval">{_escape(interval)}</span>')
        parts += [f'<span class="n">{format_n(cell)}</span>'] if cell.n else []
        return " ".join(parts)
    text = _escape(format_cell(cell, column.format, decimals))
    return f"<bdi>{text}</bdi>" if isinstance(cell, str) else text


def _sort_key(cell: Cell) -> str:
    """What a cell is sorted by where a page can sort: its number in full, or nothing where it has none."""
    if isinstance(cell, Estimate):
        return f' data-sort="{"" if cell.value is None else repr(cell.value)}"'
    if isinstance(cell, (int, float)):
        return f' data-sort="{cell + 0!r}"'
    return ""


def _direction(column: Column) -> str:
    words = direction_said(column.direction)
    return f' <span class="direction">{words}</span>' if words else ""


def _class(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _escape(text: str) -> str:
    return html.escape(clean(text))


def _csv_line(texts: Sequence[str]) -> str:
    """One line of CSV.

    The standard writer leaves a bare carriage return unquoted when lines end in a line feed, and a reader
    then sees two rows. A row of one empty cell is quoted, or readers would skip it as a blank line.
    """
    quoted = [
        '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text
        for text in texts
    ]
    return ('""' if quoted == [""] else ",".join(quoted)) + "\n"


def _csv_cells(cell: Cell, estimates: bool, missing: bool) -> list[str]:
    interval = ["", "", ""]
    reason = ""
    if isinstance(cell, Estimate) and cell.value is None:
        value, reason = "", neutralised(clean(cell.reason or "no value"))
    elif isinstance(cell, Estimate):
        value = repr(cell.value)
        interval = ["" if end is None else repr(float(end)) for end in (cell.low, cell.high)]
        interval.append(str(cell.n) if cell.n else "")
    elif isinstance(cell, str):
        value = neutralised(_writable(cell))
    elif isinstance(cell, bool):
        value = "true" if cell else "false"
    else:
        value = repr(cell)
    return [value, *(interval if estimates else []), *([reason] if missing else [])]


def _json_cell(cell: Cell) -> Any:
    if isinstance(cell, Estimate):
        if cell.value is None:
            return {"value": None, "reason": cell.reason or "no value"}
        shown = {"value": cell.value, "low": cell.low, "high": cell.high, "n": cell.n or None}
        return shown | ({"reason": cell.reason} if cell.low is None and cell.reason else {})
    return cell


def _writable(text: str) -> str:
    """Text with only its lone surrogates replaced: CSV and JSON are data, and programs may want the rest."""
    return text.encode("utf-8", "replace").decode("utf-8")
