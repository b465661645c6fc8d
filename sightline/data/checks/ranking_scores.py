"""Rankings whose order their own scores do not decide, or contradict."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Cabanac et al. 2010; TREC", licence="Apache-2.0")
def ranking_scores(material: Material) -> Iterator[Finding]:
    """Rankings of a retriever with tied scores, and rankings whose scores rise and fall.

    Where scores are tied the order is an accident of the program that wrote the file; measures order them by
    falling image names, unless study.toml says otherwise. A retriever all of whose rankings rise gives
    distances instead of scores, which is no fault; ties are looked for between neighbours.
    """
    import polars as pl

    retrievers = material.systems.filter(pl.col("kind") == "retriever")["system_id"].to_list()
    scored = material.answers.filter(pl.col("system_id").is_in(retrievers) & pl.col("score").is_not_null())
    step = pl.col("score").diff().over("system_id", "prompt_id", order_by="position").alias("step")
    rankings = (
        scored.with_columns(step)
        .group_by("system", "prompt_id", maintain_order=True)
        .agg(
            (pl.col("step") == 0).sum().alias("ties"),
            (pl.col("step") > 0).any().alias("rises"),
            (pl.col("step") < 0).any().alias("falls"),
        )
    )
    for (system,), rows in rankings.group_by(["system"], maintain_order=True):
        tied = rows.filter(pl.col("ties") > 0)
        if not tied.is_empty():
            places = int(tied["ties"].sum())
            yield Finding(
                f"rankings of {system} with tied scores ({places} places tied with the one before)",
                tied.height,
                prompt_examples(material, tied["prompt_id"]),
                "Give scores with more digits, or state the order: measures take falling image names (ties).",
            )
        wrong = rows.filter("rises") if rows["falls"].any() else rows.clear()
        if not wrong.is_empty():
            yield Finding(
                f"rankings of {system} whose positions contradict their scores",
                wrong.height,
                prompt_examples(material, wrong["prompt_id"]),
                "Sort them by score and import the run again: a higher score must stand first.",
                "error",
            )
