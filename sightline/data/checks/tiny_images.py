"""Images too small to judge."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Torralba et al. 2008", licence="Apache-2.0")
def tiny_images(material: Material, *, side: int = 32) -> Iterator[Finding]:
    """Images with a side shorter than `side` pixels: icons, placeholders and thumbnails gone astray.

    People still name a scene at 32 x 32 pixels in colour, and hardly below that (Torralba et al. 2008).
    """
    import polars as pl

    small = material.images.filter(pl.min_horizontal("width", "height") < side)
    if not small.is_empty():
        examples = (
            f"{collection}/{name}: {width} x {height}"
            for collection, name, width, height in small.select(
                "collection", "name", "width", "height"
            ).iter_rows()
        )
        yield Finding(
            f"images with a side below {side} pixels",
            small.height,
            few(examples),
            "Import the images themselves instead of thumbnails or placeholders.",
        )
