"""Rows of the explorer as a table, alone or with their image files: written part by part."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence

from sightline.errors import DataError
from sightline.report.explorer.snapshot import Snapshot
from sightline.report.explorer.views import RowView
from sightline.report.store.columns import Ints
from sightline.study.study import Study

CHUNK = 500
"""Rows that are looked up at a time."""
FORMULA = re.compile(r"^('*[=+\-@\t\r])")
"""What a spreadsheet would run; as everywhere an apostrophe before it says that it is text."""
ENDINGS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"RIFF": ".webp", b"GIF8": ".gif", b"BM": ".bmp"}
Show = Callable[[Ints], Sequence[RowView]]


def as_csv(held: Snapshot, rows: Ints, show: Show, tags: Sequence[str]) -> Iterator[bytes]:
    """The rows as CSV: every loaded fact about each, a column for each tag and each field."""
    yield from _table(held, rows, show, tags, lambda row: "")


def as_zip(study: Study, held: Snapshot, rows: Ints, show: Show, tags: Sequence[str]) -> Iterator[bytes]:
    """A ZIP of `images/...` and `rows.csv`, which names them; what cannot be read is said there."""
    out = _Sink()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        files: dict[str, str] = {}
        for start in range(0, rows.size, CHUNK):
            for row in show(rows[start : start + CHUNK]):
                sha256 = row.full.rpartition("/")[2] if row.full else ""
                if not sha256 or sha256 in files:
                    continue
                try:
                    data = study.files.read(sha256)
                except DataError as error:
                    files[sha256] = f"({error.what})"
                    continue
                files[sha256] = _file_name(row, sha256, data)
                archive.writestr(files[sha256], data)
                yield out.taken()
        with archive.open("rows.csv", "w") as table:
            for part in _table(held, rows, show, tags, lambda row: _file_of(row, files)):
                table.write(part)
                yield out.taken()
    yield out.taken()


def _file_of(row: RowView, files: dict[str, str]) -> str:
    return files.get(row.full.rpartition("/")[2], "") if row.full else ""


def _table(
    held: Snapshot, rows: Ints, show: Show, tags: Sequence[str], file: Callable[[RowView], str]
) -> Iterator[bytes]:
    columns = [name for name in held.fields.named.values() if not name.derived and name.group != "tags"]
    fields = [each.id for each in columns if each.id not in ("system", "position", "width", "height")]
    heads = [
        "key",
        "prompt_id",
        "prompt",
        "system",
        "position",
        "image",
        "sha256",
        "width",
        "height",
        "failure",
    ]
    heads += ["defect", *(f"tag:{name}" for name in tags), *fields]
    yield _line(heads)
    loaded = [held.fields.column(name) for name in fields]
    for start in range(0, rows.size, CHUNK):
        lines = []
        for row in show(rows[start : start + CHUNK]):
            sha256 = row.full.rpartition("/")[2] if row.full else ""
            lines.append(
                _line(
                    [
                        row.key, row.prompt_id, row.prompt, row.system, row.position, file(row), sha256,
                        row.width, row.height, row.failure, row.defect,
                        *(row.tags.get(name) for name in tags), *(each.value(row.id) for each in loaded),
                    ]
                )
            )  # fmt: skip
        yield b"".join(lines)


def _line(cells: Sequence[object]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(
        [
            "" if cell is None else FORMULA.sub(r"'\1", cell) if isinstance(cell, str) else cell
            for cell in cells
        ]
    )
    return out.getvalue().encode("utf-8", "replace")


def _file_name(row: RowView, sha256: str, data: bytes) -> str:
    """images/SYSTEM/PROMPT-POSITION-HASH.png: a name that every system of files takes, and none twice."""
    ending = next((end for start, end in ENDINGS.items() if data.startswith(start)), "")
    home = re.sub(r"[^A-Za-z0-9_-]+", "_", row.system or "alone")[:60] or "_"
    first = f"{row.prompt_id}-{row.position}-" if row.prompt_id else ""
    return f"images/{home}/{first}{sha256[:16]}{ending}"


class _Sink(io.RawIOBase):
    """A file that hands on what is written, and cannot go back."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self._parts.append(bytes(data))  # type: ignore[call-overload]
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """What was written since."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
