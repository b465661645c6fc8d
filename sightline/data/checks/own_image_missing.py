"""Captions whose own photograph is not among the images relevant to them."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Poesina et al. 2025 (PQPP)", licence="Apache-2.0")
def own_image_missing(material: Material) -> Iterator[Finding]:
    """Prompts that are the caption of an image which the published relevance leaves out.

    The importer notes them in the tag `own_image_missing`.
    """
    import polars as pl

    noted = material.tags.filter(pl.col("name") == "own_image_missing").sort("prompt_id")
    if not noted.is_empty():
        yield Finding(
            "prompts whose own image is not among their relevant images",
            noted.height,
            prompt_examples(material, noted["prompt_id"]),
            "A search engine that finds the very image is counted as wrong there: judge it, or leave it out.",
        )
