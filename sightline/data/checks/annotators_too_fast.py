"""Annotators who were faster than anybody can look."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Thorpe et al. 1996; Ratcliff 1993", licence="Apache-2.0")
def annotators_too_fast(
    material: Material, *, fastest: int = 400, share: float = 0.1, least: int = 10
) -> Iterator[Finding]:
    """Annotators of whose timed judgements at least `share` took less than `fastest` milliseconds.

    Even to say whether a picture holds an animal, and nothing else, takes people some 400 ms with the
    movement of the hand; reading a prompt takes longer. Annotators with fewer than `least` timed judgements
    are not blamed, nor is a single slip of the finger.
    """
    import polars as pl

    timed = material.judgements.filter(pl.col("annotator").is_not_null() & pl.col("took_ms").is_not_null())
    hasty = (
        timed.group_by("annotator", maintain_order=True)
        .agg(
            pl.len().alias("votes"),
            (pl.col("took_ms") < fastest).sum().alias("fast"),
            pl.col("took_ms").median().alias("middle"),
        )
        .filter(
            (pl.col("votes") >= least) & (pl.col("fast") >= share * pl.col("votes")) & (pl.col("fast") > 1)
        )
        .sort("fast", descending=True, maintain_order=True)
    )
    if not hasty.is_empty():
        examples = (
            f"{who}: {fast} of {votes} below {fastest} ms, median {middle:g} ms"
            for who, votes, fast, middle in hasty.iter_rows()
        )
        yield Finding(
            f"annotators who judged faster than people can ({fastest} ms)",
            hasty.height,
            few(examples),
            "Look at their answers to control items; leave their votes out if they did not look.",
        )
