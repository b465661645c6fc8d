"""Image files that could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="error", measures=("blank",), source="Sightline", licence="Apache-2.0")
def broken_images(material: Material) -> Iterator[Finding]:
    """Images recorded as broken when they came in, and images whose pixels cannot be decoded.

    Files that end too early are told apart from files that hold no image: the first were cut off on their
    way here, the second are mostly a page that says why there is no image.
    """
    import polars as pl

    failed = material.scores("blank").filter(pl.col("reason").is_not_null()).select("image_id", "reason")
    images = material.images.join(failed, on="image_id", how="left", maintain_order="left")
    why = pl.coalesce("defect", "reason").alias("why")
    broken = images.with_columns(why).filter(pl.col("why").is_not_null())
    cut = pl.col("why").str.contains("truncated|cut short|Truncated|premature")
    kinds = (
        (cut, "image files that end too early", "Copy or download them again, and import them again."),
        (
            ~cut,
            "image files that cannot be read",
            "Repair them and import again; until then they have no scores and cannot be judged.",
        ),
    )
    for chosen, what, remedy in kinds:
        rows = broken.filter(chosen)
        if not rows.is_empty():
            examples = (
                f"{collection}/{name}: {said}"
                for collection, name, said in rows.select("collection", "name", "why").iter_rows()
            )
            yield Finding(what, rows.height, few(examples), remedy)
