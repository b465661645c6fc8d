"""Files of prompts: read row by row with nothing lost, predicted piece by piece, written whole or not."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from sightline.data.sources.strict_json import parse_json
from sightline.errors import DataError, UsageError, near
from sightline.parquet import parquet_frames, parquet_schema
from sightline.prediction.model import TARGETS, Prediction
from sightline.regular import LONGEST_LINE, LONGEST_TEXT, open_regular
from sightline.rendering.tables import neutralised

SUFFIXES = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
WRITABLE = (".csv", ".jsonl", ".parquet")
COLUMNS = ("prompt", "text", "caption", "query")
"""What the column of prompts may be called, the first that is there."""
IDS = ("id", "prompt_id", "ref")
AT_ONCE = 500
"""Prompts predicted together: enough to be fast, and few enough that progress is seen."""
FARTHEST = 200
"""Lines after which an open quote is taken for a mistake; else one stray quote would swallow the file."""
NAMED = 20
"""Bad rows that are named to people; the file that is written has them all."""

Predict = Callable[[Sequence[str]], Sequence[Prediction]]


class Line(NamedTuple):
    """A row of a file: its number, the id it gives, and its prompt or the reason why it has none."""

    row: int
    id: str
    prompt: str
    reason: str = ""


@dataclass
class Batch:
    """The outcome of a file: how many rows, why some have no prediction, and the first of those by name."""

    rows: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)
    warned: int = 0

    @property
    def refused(self) -> int:
        return self.reasons.total()


def read_prompts(path: Path, column: str | None = None) -> Iterator[Line]:
    """The prompts of a .txt file (one per line), or of a column of a .csv, .tsv, .jsonl or .parquet file.

    A row that cannot be read is a Line with a reason, and reading goes on after it.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"prompts cannot be read from {path.name}", remedy=f"One of {', '.join(SUFFIXES)}.")
    if not path.is_file():
        what = "this is a folder" if path.is_dir() else "there is no such file"
        raise DataError(what, where=str(path), remedy="Name a file of prompts.")
    if path.stat().st_size == 0:
        raise DataError("the file is empty", where=str(path), remedy="Give a file that holds prompts.")
    if suffix == ".parquet":
        return _of_parquet(path, column)
    with path.open("rb") as stream:
        if b"\0" in stream.read(65536):
            raise DataError("this is not UTF-8 text", where=str(path), remedy="Save it as UTF-8.")
    if suffix == ".txt":
        return _of_text(path)
    if suffix == ".jsonl":
        return _of_json(path, column)
    return _of_csv(path, column, "\t" if suffix == ".tsv" else ",")


def predict_rows(
    lines: Iterable[Line],
    predict: Predict,
    batch: Batch,
    file: str,
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[Line, Prediction]]:
    """Every row with its prediction, in order; `batch` counts them along the way."""
    left = iter(lines)
    while together := list(islice(left, AT_ONCE)):
        yield from _predict(together, predict, batch, file)
        if progress is not None:
            progress(batch.rows)
    if not batch.rows:
        raise DataError("the file has no rows", where=file, remedy="Give a file that holds prompts.")


def write_rows(rows: Iterable[tuple[Line, Prediction]], to: Path, targets: Sequence[str] = TARGETS) -> None:
    """Write rows as .csv, .jsonl or .parquet; the file is there when all of them are in it."""
    check_writable(to)
    draft = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        if to.suffix.lower() == ".parquet":
            _write_parquet(rows, draft, targets)
        else:
            with draft.open("w", encoding="utf-8", errors="replace", newline="") as stream:
                _write_text(rows, stream, to.suffix.lower(), targets)
        draft.replace(to)
    finally:
        draft.unlink(missing_ok=True)


def check_writable(to: Path) -> None:
    """Raise if a file of predictions cannot be written, before anything is computed."""
    if to.suffix.lower() not in WRITABLE:
        raise UsageError(f"predictions cannot be written to {to.name}", remedy=f"{', '.join(WRITABLE)}.")
    if to.is_dir():
        raise DataError("this is a folder", where=str(to), remedy="Name a file.")
    if not to.parent.is_dir():
        raise DataError("there is no such folder", where=str(to.parent), remedy="Make it, or name another.")


def columns_of(targets: Sequence[str]) -> list[str]:
    """The columns of a file of predictions."""
    ends = [f"{target}{end}" for target in targets for end in ("", "_low", "_high")]
    return ["row", "id", "prompt", *ends, "warnings", "reason"]


def cells_of(line: Line, prediction: Prediction, targets: Sequence[str]) -> list[Any]:
    """One row of a file of predictions; what has no value is None."""
    cells: list[Any] = [line.row, line.id or None, line.prompt or None]
    for target in targets:
        expected = prediction.expected.get(target)
        cells += [None] * 3 if expected is None else [expected.value, expected.low, expected.high]
    return [*cells, "; ".join(prediction.warnings) or None, prediction.refused or None]


def _predict(
    lines: Sequence[Line], predict: Predict, batch: Batch, file: str
) -> Iterator[tuple[Line, Prediction]]:
    readable = [line.prompt for line in lines if not line.reason]
    made = iter(predict(readable) if readable else ())
    for line in lines:
        prediction = Prediction(line.prompt, refused=line.reason) if line.reason else next(made)
        batch.rows += 1
        batch.warned += bool(prediction.warnings)
        if prediction.refused:
            batch.reasons[prediction.refused] += 1
            if len(batch.named) < NAMED:
                batch.named.append(f"{file}:{line.row}: {prediction.refused}")
        yield line, prediction


def _lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Lines with their numbers and, where one is no UTF-8, the reason; they end in LF, CR LF or CR."""
    with open_regular(path) as stream:
        pieces = iter(lambda: stream.readline(LONGEST_LINE), b"")
        # Of bytes, splitlines knows these three ends only.
        for number, raw in enumerate((line for piece in pieces for line in piece.splitlines(True)), 1):
            if len(raw) == LONGEST_LINE:
                what = f"a line of {LONGEST_LINE:,} bytes or more"
                raise DataError(what, where=f"{path}:{number}", remedy="Break it into lines.")
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8"), ""
            except UnicodeDecodeError as error:
                yield number, "", f"not UTF-8 text: byte 0x{raw[error.start]:02x}"


def _line(row: int, prompt: Any, own: Any = "", reason: str = "") -> Line:
    """A cell as a prompt: text with something in it, or the reason why it is none."""
    key = "" if own is None else str(own)
    if reason:
        return Line(row, key, "", reason)
    if prompt is None or (isinstance(prompt, str) and not prompt.strip()):
        return Line(row, key, "", "there is no prompt in this row")
    if not isinstance(prompt, str):
        return Line(row, key, "", f"the prompt is not a text but {type(prompt).__name__}")
    if len(prompt) > LONGEST_TEXT:
        return Line(row, key, "", f"the prompt has more than {LONGEST_TEXT:,} characters")
    return Line(row, key, prompt)


def _of_text(path: Path) -> Iterator[Line]:
    for number, text, reason in _lines(path):
        yield _line(number, text.strip(), reason=reason)


def _of_json(path: Path, column: str | None) -> Iterator[Line]:
    for number, text, reason in _lines(path):
        if reason or not text.strip():
            yield _line(number, None, reason=reason)
            continue
        try:
            value = parse_json(text)
        except ValueError as error:
            yield _line(number, None, reason=f"not JSON ({error})")
            continue
        if isinstance(value, str):
            yield _line(number, value)
        elif not isinstance(value, dict):
            yield _line(number, None, reason=f"neither a JSON object nor a text but {type(value).__name__}")
        else:
            name = next((each for each in _wanted(column) if each in value), None)
            own = next((value[each] for each in IDS if each in value), "")
            missing = f"it has no {' or '.join(_wanted(column))}" if name is None else ""
            yield _line(number, None if name is None else value[name], own, missing)


def _of_csv(path: Path, column: str | None, separator: str) -> Iterator[Line]:
    place, own, width = -1, -1, 0
    for number, cells, reason in _records(path, separator):
        if place < 0:
            if reason:
                raise DataError(reason, where=f"{path}:{number}", remedy="Correct the header.")
            header = [cell.strip() for cell in cells]
            width, place = len(header), header.index(_column(path, header, column))
            own = next((header.index(each) for each in IDS if each in header), -1)
        elif reason:
            yield _line(number, None, reason=reason)
        elif len(cells) != width:
            yield _line(number, None, reason=f"{len(cells)} cells where the header has {width}")
        else:
            yield _line(number, cells[place], cells[own] if own >= 0 else "")


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str], str]]:
    """The rows of a CSV file with the line each begins on; a bad one has a reason, and the next is read."""
    source = _lines(path)
    pending: deque[tuple[int, str, str]] = deque()

    def following(place: int) -> tuple[int, str, str] | None:
        while len(pending) <= place:
            line = next(source, None)
            if line is None:
                return None
            pending.append(line)
        return pending[place]

    while (first := following(0)) is not None:
        number, text, reason = first
        taken, end = 1, _end(text, separator)
        while end == "open" and taken < FARTHEST and (more := following(taken)) is not None:
            text, reason, taken = text + more[1], reason or more[2], taken + 1
            end = _end(more[1], separator, within=True)
        if end == "open" or (end == "wrong" and taken > 1):
            # Only this line is at fault: what comes after it is read again.
            pending.popleft()
            yield number, [], first[2] or "a quote is opened in this row and never closed"
            continue
        for _ in range(taken):
            pending.popleft()
        if reason or text.strip("\r\n"):
            yield number, *_cells(text, separator, reason)


def _end(line: str, separator: str, within: bool = False) -> str:
    """How a line ends: "open" within quotes, "closed", or "wrong" where a closing quote is followed by text.

    A quote opens a cell only as its first character; elsewhere it is a letter like others. `within` says that
    the line begins inside quotes.
    """
    at = 0
    while True:
        if not within and line[at : at + 1] != '"':
            at = line.find(separator, at) + 1
            if not at:
                return "closed"
            continue
        at = line.find('"', at if within else at + 1) + 1
        if not at:
            return "open"
        within = line[at : at + 1] == '"'
        if not within and line[at : at + 1] != separator:
            return "wrong" if line[at:].strip("\r\n") else "closed"
        at += 1


def _cells(text: str, separator: str, reason: str) -> tuple[list[str], str]:
    if reason:
        return [], reason
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)), ""
    except csv.Error as error:
        return [], f"the quotes of this row do not match ({error})"


def _of_parquet(path: Path, column: str | None) -> Iterator[Line]:
    header = [name for name, _ in parquet_schema(path, str(path)).columns]
    name = _column(path, header, column)
    own = next((each for each in IDS if each in header), None)
    number = 0
    for frame in parquet_frames(path, str(path), list(dict.fromkeys([name, own or name]))):
        for cells in frame.iter_rows():
            number += 1
            yield _line(number, cells[0], cells[-1] if own is not None else "")


def _wanted(column: str | None) -> Sequence[str]:
    return COLUMNS if column is None else (column,)


def _column(path: Path, header: Sequence[str], column: str | None) -> str:
    for name in _wanted(column):
        if name in header:
            return name
    raise DataError(
        f"there is no column {' or '.join(_wanted(column))}",
        where=str(path),
        remedy=f"{near(column or COLUMNS[0], header)} Name it with --column.".strip(),
    )


def _write_text(
    rows: Iterable[tuple[Line, Prediction]], stream: IO[str], suffix: str, targets: Sequence[str]
) -> None:
    names = columns_of(targets)
    if suffix == ".csv":
        stream.write(",".join(names) + "\n")
    for line, prediction in rows:
        cells = cells_of(line, prediction, targets)
        if suffix == ".csv":
            stream.write(",".join(map(_csv_cell, cells)) + "\n")
        else:
            stream.write(json.dumps(dict(zip(names, cells, strict=True)), ensure_ascii=False) + "\n")


def _csv_cell(cell: Any) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return repr(cell)
    text = neutralised(cell)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def _write_parquet(rows: Iterable[tuple[Line, Prediction]], draft: Path, targets: Sequence[str]) -> None:
    import polars as pl

    names = columns_of(targets)
    texts = {"id", "prompt", "warnings", "reason"}
    schema = {
        name: pl.Int64 if name == "row" else pl.String if name in texts else pl.Float64 for name in names
    }
    made = [cells_of(line, prediction, targets) for line, prediction in rows]
    pl.DataFrame(made, schema=schema, orient="row").write_parquet(draft)
