"""Tables for programs that read line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.data.exporters import targets, whole
from sightline.extension import exporter

if TYPE_CHECKING:
    import polars


@exporter(suffix=".jsonl", source="jsonlines.org", licence="Apache-2.0")
def jsonl(tables: Mapping[str, polars.DataFrame], folder: Path) -> Sequence[Path]:
    """One file per table, one JSON object per row, in UTF-8; a missing value is null."""
    written = []
    for table, path in targets(tables, folder, ".jsonl"):
        with whole(path) as draft:
            table.write_ndjson(draft)
        written.append(path)
    return written
