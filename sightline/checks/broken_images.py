"""Image files that could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.checks import few
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="error", measures=("blank",), source="Sightline", licence="Apache-2.0")
def broken_images(material: Material) -> Iterator[Finding]:
    """Images recorded as broken when they came in, and images whose pixels cannot be decoded."""
    import polars as pl

    failed = material.scores("blank").filter(pl.col("reason").is_not_null()).select("image_id", "reason")
    images = material.images.join(failed, on="image_id", how="left")
    broken = images.with_columns(pl.coalesce("defect", "reason").alias("why")).filter(
        pl.col("why").is_not_null()
    )
    if not broken.is_empty():
        told = (
            f"{collection}/{name}: {why}"
            for collection, name, why in broken.select("collection", "name", "why").iter_rows()
        )
        yield Finding(
            "image files that cannot be read",
            broken.height,
            few(told),
            "Repair them and import again; until then they have no scores and cannot be judged.",
        )
