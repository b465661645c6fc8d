"""Prompts that say the same."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few, short
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def duplicate_prompts(material: Material) -> Iterator[Finding]:
    """Prompts of one suite that are equal up to case, punctuation and spaces.

    Two copies of a prompt on both sides of a split give its answer away, and count it twice in a mean.
    """
    import polars as pl

    # Letters, marks and digits of any script make a prompt; a prompt without any of them is its own.
    plain = pl.col("text").str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}]+", " ").str.strip_chars()
    keyed = material.prompts.with_columns(
        pl.when(plain == "").then(pl.col("text")).otherwise(plain).alias("plain")
    )
    twice = (
        keyed.group_by("suite", "plain", maintain_order=True)
        .agg(pl.col("ref"), pl.col("text").first())
        .filter(pl.col("ref").list.len() > 1)
    )
    if twice.is_empty():
        return
    examples = (
        f"{suite}/{' = '.join(refs[:4])}: {short(text)}"
        for suite, refs, text in twice.select("suite", "ref", "text").iter_rows()
    )
    extra = int(twice["ref"].list.len().sum()) - twice.height
    yield Finding(
        f"prompts that repeat another one (in {twice.height} groups)",
        extra,
        few(examples),
        "Keep one of each, or make sure that a split keeps them together.",
    )
