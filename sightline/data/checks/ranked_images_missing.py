"""Ranked images that do not belong to what was searched."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import image_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="ConQA; TREC", licence="Apache-2.0")
def ranked_images_missing(material: Material) -> Iterator[Finding]:
    """Images in rankings that are of another collection than the engine searches, or known by name only.

    A run names images that the study has never seen where it was made on another version of the collection,
    or where names have folders or suffixes here and not there. Names alone are suspicious only in a
    collection of which other images have a file or a caption.
    """
    import polars as pl

    retrievers = material.systems.filter(pl.col("kind") == "retriever")
    ranked = (
        material.answers.join(retrievers.select("system_id", searched="collection"), on="system_id")
        .filter(pl.col("image_id").is_not_null())
        .select("system", "searched", "image_id")
        .unique(maintain_order=True)
        .join(material.images, on="image_id", maintain_order="left")
    )
    elsewhere = ranked.filter(pl.col("searched").is_not_null() & (pl.col("collection") != pl.col("searched")))
    for (system, searched), rows in elsewhere.group_by(["system", "searched"], maintain_order=True):
        yield Finding(
            f"images in rankings of {system} that are not of the collection it searches ({searched})",
            rows.height,
            image_examples(material, rows["image_id"]),
            "Was the run made on another collection? Import it under that collection's name.",
            "error",
        )
    held = (pl.col("sha256").is_not_null() | (pl.col("captions") > 0)).any()
    collections = material.images.group_by("collection").agg(held.alias("held")).filter("held")
    bare = ranked.filter(
        pl.col("sha256").is_null() & (pl.col("captions") == 0) & pl.col("defect").is_null()
    ).join(collections, on="collection", how="semi", maintain_order="left")
    for (system, collection), rows in bare.group_by(["system", "collection"], maintain_order=True):
        yield Finding(
            f"images in rankings of {system} that only the run knows of in {collection}",
            rows.height,
            image_examples(material, rows["image_id"]),
            "Are they named otherwise in the collection, or was the run made on another version of it?",
        )
