"""Tables that leave the house, and what happens when they cannot."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sightline import registry
from sightline.errors import UsageError

TABLE = pl.DataFrame(
    {
        "text": [
            "a cat",
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\tx",
            "\rx",
            None,
            'quo"te, comma',
            "line\nbreak",
            "café",
        ],
        "number": [-1.5, 0.0, None, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1e-300],
        "count": list(range(-5, 6)),
    }
)


def export(name: str, tables: dict[str, pl.DataFrame], folder: Path) -> list[Path]:
    return list(registry.configure("exporter", name).load()(tables, folder))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_runs_no_formula_and_keeps_numbers(tmp_path: Path) -> None:
    (path,) = export("csv", {"scores": TABLE}, tmp_path)
    found = rows(path)
    assert path == tmp_path / "scores.csv"
    assert [row["text"] for row in found] == [
        "a cat", "'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx", "", 'quo"te, comma', "line\nbreak",
        "café",
    ]  # fmt: skip
    assert [row["count"] for row in found] == [str(count) for count in range(-5, 6)]
    assert [float(row["number"]) for row in found if row["number"]] == TABLE["number"].drop_nulls().to_list()


def test_csv_of_headers_lists_structures_bytes_and_times(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "=cmd": ["x"],
            "list": [[1, 2]],
            "structure": [{"name": "é", "at": datetime.date(2024, 1, 2)}],
            "bytes": [b"\x00\xff"],
            "time": [datetime.datetime(2024, 1, 2, 3, 4, 5)],
            "kind": pl.Series(["=bad"], dtype=pl.Categorical),
            "yes": [True],
        }
    )
    (found,) = rows(export("csv", {"t": table}, tmp_path)[0])
    assert found["'=cmd"] == "x"
    assert json.loads(found["list"]) == [1, 2]
    assert json.loads(found["structure"]) == {"name": "é", "at": "2024-01-02"}
    assert found["bytes"] == "00ff"
    assert found["time"].startswith("2024-01-02T03:04:05")
    assert found["kind"] == "'=bad"
    assert found["yes"] == "true"


def test_jsonl_and_parquet_give_back_what_they_were_given(tmp_path: Path) -> None:
    (lines,) = export("jsonl", {"t": TABLE}, tmp_path)
    assert [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] == TABLE.to_dicts()
    (columns,) = export("parquet", {"t": TABLE}, tmp_path)
    assert pl.read_parquet(columns).equals(TABLE)


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_several_tables_empty_ones_and_new_folders(name: str, tmp_path: Path) -> None:
    written = export(
        name, {"a": TABLE, "empty": TABLE.clear(), "nothing": pl.DataFrame()}, tmp_path / "new" / "folder"
    )
    assert [path.name for path in written] == [f"a.{name}", f"empty.{name}", f"nothing.{name}"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(
        p.name for p in written
    )


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_a_failed_write_leaves_the_earlier_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = export(name, {"t": TABLE}, tmp_path)
    before = path.read_bytes()

    def half_written(table: pl.DataFrame, file: Any, **_: object) -> None:
        (file.write_bytes if isinstance(file, Path) else file.write)(b"half")
        raise OSError("disk full")

    for method in ("write_csv", "write_ndjson", "write_parquet"):
        monkeypatch.setattr(pl.DataFrame, method, half_written)
    with pytest.raises(OSError, match="disk full"):
        export(name, {"t": TABLE.head(1)}, tmp_path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("bad", ["../escape", "a/b", "", ".hidden", "..", "a\\b", "a\0b"])
def test_a_table_cannot_leave_the_folder(bad: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        export("csv", {"fine": TABLE, bad: TABLE}, tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing is written before all names are known to be good"
