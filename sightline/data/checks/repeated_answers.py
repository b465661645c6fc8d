"""Rankings that hold an image twice."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="error", source="Voorhees and Harman 2005 (TREC)", licence="Apache-2.0")
def repeated_answers(material: Material) -> Iterator[Finding]:
    """Rankings of a retriever in which an image stands twice: each relevant one would count twice.

    The same file under two names is reported as a warning: the collection holds it twice, and only one of the
    two may have been judged.
    """
    import polars as pl

    retrievers = material.systems.filter(pl.col("kind") == "retriever")["system_id"].to_list()
    ranked = material.answers.filter(pl.col("system_id").is_in(retrievers) & pl.col("image_id").is_not_null())
    repeats = (
        ranked.group_by("system", "prompt_id", "image_id")
        .agg((pl.len() - 1).alias("more"))
        .filter(pl.col("more") > 0)
        .sort("system", "prompt_id", "image_id")
    )
    for (system,), rows in repeats.group_by(["system"], maintain_order=True):
        yield Finding(
            f"places in rankings of {system} that repeat an image of the same ranking",
            int(rows["more"].sum()),
            prompt_examples(material, rows["prompt_id"]),
            "Take the repeats out of the run and import it again.",
        )
    twins = (
        ranked.filter(pl.col("sha256").is_not_null())
        .group_by("system", "prompt_id", "sha256")
        .agg((pl.col("image_id").n_unique() - 1).alias("more"))
        .filter(pl.col("more") > 0)
        .sort("system", "prompt_id", "sha256")
    )
    for (system,), rows in twins.group_by(["system"], maintain_order=True):
        yield Finding(
            f"places in rankings of {system} that hold the file of another place under another name",
            int(rows["more"].sum()),
            prompt_examples(material, rows["prompt_id"]),
            "Take the copies out of the collection, or judge both alike.",
            "warning",
        )
