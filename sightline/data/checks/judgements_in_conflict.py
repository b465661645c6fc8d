"""Items that somebody judged twice."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import item_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Achterberg et al. 2023 (GIMBRR)", licence="Apache-2.0")
def judgements_in_conflict(material: Material) -> Iterator[Finding]:
    """Items judged more than once by the same annotator, or listed more than once where nobody is named.

    A changed mind is a revision and no conflict: the latest counts. A second repetition is either a repeat on
    purpose or a row that stands twice; where its value differs, the two are in conflict, and where it does
    not, the vote counts twice. The first is a warning, the second a note.
    """
    import polars as pl

    asked = (
        material.judgements.group_by("question", "annotator", "item_id", maintain_order=True)
        .agg(
            pl.col("repetition").n_unique().alias("times"),
            pl.col("value").n_unique().alias("values"),
            pl.col("prompt_id").first(),
            pl.col("system_id").first(),
            pl.col("image_id").first(),
        )
        .filter(pl.col("times") > 1)
    )
    for (question,), rows in asked.group_by(["question"], maintain_order=True):
        conflict = rows.filter(pl.col("values") > 1)
        if not conflict.is_empty():
            yield Finding(
                f"items whose judgements of {question} by one hand contradict each other",
                conflict.height,
                item_examples(material, conflict),
                "Find out which holds and take the other out, or have a third person decide.",
            )
        yield Finding(
            f"items judged more than once on {question} by one hand ({conflict.height} in conflict)",
            rows.height,
            item_examples(material, rows),
            "If they are repeats on purpose all is well; if rows stand twice, take the copies out.",
            "note",
        )
