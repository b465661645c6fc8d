"""Truth that is out of range or contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sightline.data.checks import (
    Material,
    blocks,
    gathered,
    item_examples,
    off_by_a_hair,
    outside,
    prompt_examples,
)
from sightline.extension import check
from sightline.records import Finding

if TYPE_CHECKING:
    import polars as pl

DECIMALS = 6
"""Digits after the point beyond which a difference is taken for arithmetic and not for rounding."""


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def truth_inconsistent(material: Material) -> Iterator[Finding]:
    """Published truths that are not the mean of their parts, lie outside their votes or their own interval.

    A truth of a prompt is compared with the mean of its truths by system, and a truth of a prompt and system
    against the mean over its images, where two or more are given; differences that rounding explains are
    let pass (half a unit of the last digit in use on either side). Where the votes themselves are here too,
    a truth below the lowest or above the highest of them was settled from other votes.
    """
    import polars as pl

    published = material.scan("truths").filter((pl.col("rule") == "published") & (pl.col("prompt_id") > 0))
    first = gathered(published.with_row_index("place").group_by("question").agg(pl.col("place").min()))
    of_prompt = pl.col("system_id") == 0
    of_image = pl.col("image_id") > 0
    for question in first.sort("place")["question"]:
        rows = published.filter(pl.col("question") == question)
        rows = rows.select("prompt_id", "system_id", "image_id", "value").with_row_index("place")
        by_system = rows.filter(~of_prompt & ~of_image)
        yield from _against_mean(
            material, rows.filter(of_prompt & ~of_image), by_system, ["prompt_id"], str(question), "systems"
        )
        yield from _against_mean(
            material, by_system, rows.filter(~of_prompt & of_image), ["prompt_id", "system_id"],
            str(question), "images",
        )  # fmt: skip
    yield from _against_votes(material)
    beyond = (pl.col("value") < pl.col("low")) | (pl.col("value") > pl.col("high"))
    reversed_ = pl.col("low") > pl.col("high")
    wrong = gathered(material.scan("truths").filter((beyond | reversed_).fill_null(False)))
    for (asked,), found in wrong.group_by(["question"], maintain_order=True):
        yield Finding(
            f"truths of {asked} outside their own interval",
            found.height,
            item_examples(material, found),
            "Were the columns of the interval exchanged? Correct them and import again.",
            "error",
        )


def _against_mean(
    material: Material, wholes: pl.LazyFrame, parts: pl.LazyFrame, key: list[str], question: str, of: str
) -> Iterator[Finding]:
    import polars as pl

    found, rounding = [], 0.0
    for some in blocks(wholes, parts):
        whole, part = gathered(wholes.filter(some)), gathered(parts.filter(some))
        means = (
            part.group_by(key)
            .agg(pl.col("value").mean().alias("mean"), pl.len().alias("parts"))
            .filter(pl.col("parts") > 1)
        )
        found.append(whole.join(means, on=key, maintain_order="left"))
        rounding = _finer(rounding, _rounding(part["value"]))
    if not found or (held := pl.concat(found).sort("place")).is_empty():
        return
    slack = 1e-6 + _rounding(held["value"]) + rounding
    wrong = held.filter((pl.col("value") - pl.col("mean")).abs() > slack)
    if not wrong.is_empty():
        apart = float((wrong["value"] - wrong["mean"]).abs().max())  # type: ignore[arg-type]
        yield Finding(
            f"truths of {question} that are not the mean of those of their {of} (up to {apart:.4g} apart, "
            f"of {held.height} looked at)",
            wrong.height,
            item_examples(material, wrong),
            "Find out how they were averaged, or over what: a study must not mix the two.",
        )


def _rounding(values: pl.Series) -> float:
    """Half a unit of the last digit that any of the values uses; whole numbers were not rounded."""
    for digits in range(DECIMALS):
        if ((values.round(digits) - values).abs() < 10.0 ** -(DECIMALS + 2)).all():
            return 0.5 * 10.0**-digits if digits else 0.0
    return 0.5 * 10.0**-DECIMALS


def _finer(first: float, second: float) -> float:
    """Of two roundings that of the values together: the finer one; 0 stands for whole numbers."""
    return min((each for each in (first, second) if each), default=0.0)


def _against_votes(material: Material) -> Iterator[Finding]:
    import polars as pl

    published = material.scan("truths").with_row_index("place").filter(pl.col("rule") == "published")
    votes = material.scan("judgements").select("question", "item_id", "value")
    settled_parts = []
    for some in blocks(published, key="item_id"):
        ends = (
            gathered(votes.filter(some))
            .group_by("question", "item_id")
            .agg(pl.col("value").min().alias("least"), pl.col("value").max().alias("most"))
        )
        settled_parts.append(gathered(published.filter(some)).join(ends, on=["question", "item_id"]))
    if not settled_parts:
        return
    hair = off_by_a_hair()
    off = (pl.col("value") < pl.col("least") - hair) | (pl.col("value") > pl.col("most") + hair)
    wrong = pl.concat(part.filter(off) for part in settled_parts).sort("place")
    for (question,), rows in wrong.group_by(["question"], maintain_order=True):
        yield Finding(
            f"published truths of {question} below the lowest or above the highest vote on them",
            rows.height,
            item_examples(material, rows),
            "They were settled from other votes, or on another scale: settle them here instead.",
        )


@check(severity="error", source="Sightline", licence="Apache-2.0")
def truth_out_of_range(material: Material) -> Iterator[Finding]:
    """Truths outside the scale of their question, as published or as settled here.

    A rule that settles on another scale than people judged on (HBPP's -1 to 2, a MOS of 0 to 100) is at odds
    with the question, and a comparison of the two would be wrong without a word.
    """
    wrong = outside(material, material.scan("truths"))
    for (question, rule), rows in wrong.group_by(["question", "rule"], maintain_order=True):
        values = sorted({float(value) for value in rows["value"].unique()})
        yield Finding(
            f"truths of {question} (rule {rule}) off its scale, from {values[0]:g} to {values[-1]:g}",
            rows.height,
            prompt_examples(material, (key for key in rows["prompt_id"] if key)),
            "Correct the scale of the question in study.toml, or give these a question of their own.",
        )
