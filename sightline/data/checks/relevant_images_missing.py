"""Relevant images that no search can find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.checks import image_examples
from sightline.extension import check
from sightline.records import Finding, Material

if TYPE_CHECKING:
    import polars as pl


@check(severity="warning", source="ConQA; TREC", licence="Apache-2.0")
def relevant_images_missing(material: Material) -> Iterator[Finding]:
    """Relevant images outside the collections that are searched, or of which only the name is known.

    Relevant is an image with a truth above the low end of its scale for a prompt, whoever gave it. A
    collection is held here if any of its images has a file or a caption; a relevant image without either is
    then missing from it. That is a warning where files are held, and a note where only captions are: data
    is often published with the captions of its queries alone.
    """
    import polars as pl

    wanted = _relevant(material)
    if wanted.is_empty():
        return
    searched = material.systems["collection"].drop_nulls().unique().to_list()
    outside = wanted.filter(~pl.col("collection").is_in(searched)) if searched else wanted.clear()
    if not outside.is_empty():
        yield Finding(
            f"relevant images outside what is searched ({', '.join(sorted(searched))})",
            outside.height,
            image_examples(material, outside["image_id"]),
            "Are they named otherwise there, with folders or suffixes? No search can find them as they are.",
        )
    held = pl.col("sha256").is_not_null()
    collections = material.images.group_by("collection").agg(
        held.any().alias("files"), (held | (pl.col("captions") > 0)).any().alias("held")
    )
    bare = wanted.filter(~held & (pl.col("captions") == 0) & pl.col("defect").is_null())
    missing = bare.join(collections.filter("held"), on="collection", maintain_order="left")
    for (collection, files), rows in missing.group_by(["collection", "files"], maintain_order=True):
        yield Finding(
            f"relevant images of {collection} that are known by name only",
            rows.height,
            image_examples(material, rows["image_id"]),
            "Import the rest of the collection before anything is searched here: these cannot be found.",
            "warning" if files else "note",
        )


def _relevant(material: Material) -> pl.DataFrame:
    import polars as pl

    lows = pl.DataFrame(
        [(question.name, question.low or 0.0) for question in material.questions],
        schema={"question": pl.String, "floor": pl.Float64},
        orient="row",
    )
    generators = material.systems.filter(pl.col("kind") == "generator").select("system_id")
    made = material.answers.join(generators, on="system_id").select("image_id").drop_nulls().unique()
    relevant = (
        material.truths.filter(
            (pl.col("prompt_id") > 0) & (pl.col("image_id") > 0) & (pl.col("system_id") == 0)
        )
        .join(lows, on="question")
        .filter(pl.col("value") > pl.col("floor"))
        .select("image_id")
        .unique()
        .join(made, on="image_id", how="anti")
    )
    return material.images.join(relevant, on="image_id", how="semi", maintain_order="left")
