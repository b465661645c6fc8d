"""Tables for analysis, with their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.data.exporters import targets, whole
from sightline.extension import exporter

if TYPE_CHECKING:
    import polars


@exporter(suffix=".parquet", source="Apache Parquet", licence="Apache-2.0")
def parquet(tables: Mapping[str, polars.DataFrame], folder: Path) -> Sequence[Path]:
    """One compressed Parquet file a table; types and missing values come back as they were."""
    written = []
    for table, path in targets(tables, folder, ".parquet"):
        with whole(path) as draft:
            table.write_parquet(draft)
        written.append(path)
    return written
