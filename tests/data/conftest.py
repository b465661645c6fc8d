"""What the tests of imports, exports and checks share: an empty study, files, tables in each form."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars
import pytest
from PIL import Image

from sightline.study.study import Study, create_study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        yield made


@pytest.fixture(scope="session")
def png() -> bytes:
    """The smallest of images."""
    out = io.BytesIO()
    Image.new("RGB", (2, 2), "red").save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="session")
def fill() -> Callable[..., Path]:
    """Write files into a folder, and give the folder."""

    def write(root: Path, files: Mapping[str, bytes | str]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return root

    return write


@pytest.fixture(scope="session")
def table() -> Callable[..., Path]:
    """Write rows as the kind of table that the file's suffix names, and give the file."""

    def write(file: Path, rows: list[dict[str, Any]]) -> Path:
        names = list(dict.fromkeys(name for row in rows for name in row))
        if file.suffix == ".parquet":
            polars.DataFrame([{name: row.get(name) for name in names} for row in rows]).write_parquet(file)
        elif file.suffix == ".jsonl":
            file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        else:
            with file.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, names, delimiter="\t" if file.suffix == ".tsv" else ",")
                writer.writeheader()
                writer.writerows(rows)
        return file

    return write
