"""Relevant images that a published list names twice."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Poesina et al. 2025 (PQPP)", licence="Apache-2.0")
def relevance_repeated(material: Material) -> Iterator[Finding]:
    """Prompts whose list of relevant images, as published, names an image more than once.

    The importer keeps each image once and notes how many were repeats in the tag `relevant_repeated`; a
    recall computed on the list as it was divides by too many.
    """
    import polars as pl

    noted = material.tags.filter(pl.col("name") == "relevant_repeated").sort("prompt_id")
    if noted.is_empty():
        return
    repeats = int(noted["value"].cast(pl.Int64, strict=False).fill_null(1).sum())
    yield Finding(
        f"prompts whose relevant images are listed with repeats ({repeats} repeats in all)",
        noted.height,
        prompt_examples(material, noted["prompt_id"]),
        "Nothing to do here: each counts once. Published recalls may have counted them twice.",
        "note",
    )
