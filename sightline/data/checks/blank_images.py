"""Images that show nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import image_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", measures=("blank", "brightness"), source="Sightline", licence="Apache-2.0")
def blank_images(material: Material, *, share: float = 0.99, dark: float = 0.02) -> Iterator[Finding]:
    """Images of one colour throughout, and images nearly black.

    An image is blank if at least `share` of its pixels look like its most common colour (measure blank), and
    nearly black if its mean brightness is at most `dark` of full white without its being blank. A blank image
    whose brightness is at most `dark` is told apart as black: generators give those when a safety filter
    strikes.
    """
    import polars as pl

    blank = material.scores("blank").select("image_id", pl.col("value").alias("blank"))
    light = material.scores("brightness").select("image_id", pl.col("value").alias("brightness"))
    both = blank.join(light, on="image_id").drop_nulls().sort("image_id")
    empty, black = pl.col("blank") >= share, pl.col("brightness") <= dark
    kinds = (
        (empty & black, "black images", "A safety filter or a crash gives those: record them as failures."),
        (empty & ~black, "images of a single colour", "Look at them: they show nothing that can be judged."),
        (~empty & black, "images that are nearly black", "Look at them: is darkness what was asked for?"),
    )
    for chosen, what, remedy in kinds:
        rows = both.filter(chosen)
        if not rows.is_empty():
            yield Finding(what, rows.height, image_examples(material, rows["image_id"]), remedy)
