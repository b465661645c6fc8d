"""Prompts that were judged for some systems and forgotten for another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material

if TYPE_CHECKING:
    import polars as pl


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def judgements_missing(material: Material, *, share: float = 0.5) -> Iterator[Finding]:
    """Prompts judged for other systems of the suite and not for one that was judged on most of them.

    A system judged on less than `share` of the prompts was judged on a sample, which is no fault. A judgement
    of a prompt with an image counts for the system that gave the image.
    """
    import polars as pl

    given = _judged(material)
    asked = given.select("question", "suite", "prompt_id").unique()
    systems = given.group_by("question", "suite", "system_id").agg(pl.len().alias("judged"))
    whole = asked.group_by("question", "suite").agg(pl.len().alias("all"))
    most = systems.join(whole, on=["question", "suite"]).filter(pl.col("judged") >= share * pl.col("all"))
    lacking = (
        most.select("question", "suite", "system_id")
        .join(asked, on=["question", "suite"])
        .join(given, on=["question", "system_id", "prompt_id"], how="anti")
        .join(material.systems.select("system_id", "system"), on="system_id")
        .sort("question", "system", "prompt_id")
    )
    for (question, system), rows in lacking.group_by(["question", "system"], maintain_order=True):
        yield Finding(
            f"prompts without a judgement of {question} for {system} that others were judged on",
            rows.height,
            prompt_examples(material, rows["prompt_id"]),
            "Judge them as well, or compare the systems on the prompts that all were judged on.",
        )


def _judged(material: Material) -> pl.DataFrame:
    """Each question, system and prompt with at least one judgement."""
    import polars as pl

    votes = material.judgements.filter(pl.col("prompt_id") > 0)
    named = votes.filter(pl.col("system_id") > 0).select("question", "system_id", "prompt_id")
    generators = material.systems.filter(pl.col("kind") == "generator").select("system_id")
    gave = material.answers.join(generators, on="system_id").select("system_id", "prompt_id", "image_id")
    by_image = (
        votes.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0))
        .select("question", "prompt_id", "image_id")
        .unique()
        .join(gave, on=["prompt_id", "image_id"])
        .select("question", "system_id", "prompt_id")
    )
    suites = material.prompts.select("prompt_id", "suite")
    return pl.concat([named, by_image]).unique().join(suites, on="prompt_id")
