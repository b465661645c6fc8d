"""Files that are read in processes of their own, named from the folder one is in."""

from __future__ import annotations

import pickle
from pathlib import Path

import polars as pl
import pytest

from sightline.data.sources import Source


def test_a_process_that_started_elsewhere_finds_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "values.pickle").write_bytes(pickle.dumps({"n": name}))
        pl.DataFrame({"prompt": [name]}).write_parquet(folder / "rows.parquet")
    # The processes are kept from one file to the next: they stand where they were started.
    for name in ("first", "second"):
        monkeypatch.chdir(tmp_path / name)
        source = Source(Path())
        assert source.pickle("values.pickle") == {"n": name}
        assert [row.text("prompt") for row in source.rows("rows.parquet")] == [name]
