"""Rankings of which nothing was judged."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Buckley and Voorhees 2004; ConQA", licence="Apache-2.0")
def rankings_unjudged(material: Material, *, question: str = "") -> Iterator[Finding]:
    """Rankings without a single image that was judged on `question`, although images were for their prompt.

    By default it is the question that [score] in study.toml names. Measures would call such a ranking
    worthless. Where that is so of all rankings of an engine, run and relevance speak of different collections
    or name images differently, which is an error.
    """
    import polars as pl

    retrievers = material.systems.filter(pl.col("kind") == "retriever").select("system_id")
    ranked = material.answers.join(retrievers, on="system_id", maintain_order="left").filter(
        pl.col("image_id").is_not_null()
    )
    known = (pl.col("prompt_id") > 0) & (pl.col("image_id") > 0) & pl.col("value").is_not_null()
    judged = material.truths.filter(known & (pl.col("question") == (question or material.relevance)))
    pairs = judged.select("prompt_id", "image_id", judged=pl.lit(True)).unique()
    counted = (
        ranked.join(pairs.select("prompt_id").unique(), on="prompt_id", how="semi", maintain_order="left")
        .join(pairs, on=["prompt_id", "image_id"], how="left", maintain_order="left")
        .group_by("system", "prompt_id", maintain_order=True)
        .agg(pl.col("judged").any())
    )
    for (system,), rows in counted.group_by(["system"], maintain_order=True):
        without = rows.filter(~pl.col("judged"))
        if without.is_empty():
            continue
        every = without.height == rows.height
        yield Finding(
            f"rankings of {system} without any judged image, of {rows.height} whose prompt has some",
            without.height,
            prompt_examples(material, without["prompt_id"]),
            "Is the relevance that of another collection, or are images named otherwise in it?"
            if every
            else "Judge their first images, or read `judged` alongside the other measures.",
            "error" if every else "warning",
        )
