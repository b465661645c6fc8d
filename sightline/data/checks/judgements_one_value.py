"""Annotators who always say the same."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def judgements_one_value(material: Material, *, least: int = 10) -> Iterator[Finding]:
    """Annotators who gave one value throughout a question, over at least `least` judgements.

    Where everybody else said the same as well, the question and not the annotator is at fault; both are
    reported, since neither helps to tell systems apart.
    """
    import polars as pl

    named = material.judgements.filter(pl.col("annotator").is_not_null())
    constant = (
        named.group_by("question", "annotator", maintain_order=True)
        .agg(
            pl.len().alias("votes"),
            pl.col("value").n_unique().alias("values"),
            pl.col("value").first(),
        )
        .filter((pl.col("values") == 1) & (pl.col("votes") >= least))
    )
    for (question,), rows in constant.group_by(["question"], maintain_order=True):
        examples = (
            f"{who}: {value:g}, {votes} times"
            for who, votes, value in rows.select("annotator", "votes", "value").iter_rows()
        )
        yield Finding(
            f"annotators who answered {question} with one value throughout",
            rows.height,
            few(examples),
            'Leave them out with the screening rule "one_value" in study.toml, or look at what they saw.',
        )
