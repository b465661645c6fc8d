"""The same file given as an answer to different prompts, by different systems or from different seeds."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few, short
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def identical_images(material: Material) -> Iterator[Finding]:
    """Byte-identical images that generators gave as different answers.

    A generator that gives one file twice has failed, refused, or ignored its prompt or its seed; two systems
    that give the same file are the same system or were mixed up. Retrievers answer from one collection, so
    for them it is no fault. One finding each for prompts, systems and samples.
    """
    import polars as pl

    generators = material.systems.filter(pl.col("kind") == "generator")["system_id"].to_list()
    made = material.answers.filter(pl.col("system_id").is_in(generators) & pl.col("sha256").is_not_null())
    same = (
        made.group_by("sha256")
        .agg(
            pl.len().alias("n"),
            pl.col("prompt_id").n_unique().alias("prompts"),
            pl.col("system").n_unique().alias("systems"),
            pl.col("system").unique().sort().alias("by"),
            pl.col("prompt_id").min().alias("first"),
        )
        .filter(pl.col("n") > 1)
        .sort(["n", "sha256"], descending=[True, False])
    )
    between_systems = pl.col("systems") > 1
    between_prompts = pl.col("prompts") > 1
    kinds = (
        (
            between_systems,
            "images that different systems gave",
            "Was a system imported twice? A picture that stands for a refusal is a failure: record it so.",
        ),
        (
            ~between_systems & between_prompts,
            "images that a system gave for different prompts",
            "Such an image mostly stands for a refusal or an error: record it as a failure.",
        ),
        (
            ~between_systems & ~between_prompts,
            "images that a system gave several times for one prompt",
            "The seed had no effect, or a file was copied: samples must differ to count as samples.",
        ),
    )
    texts = dict(material.prompts.select("prompt_id", "text").iter_rows())
    for chosen, what, remedy in kinds:
        rows = same.filter(chosen)
        if not rows.is_empty():
            examples = (
                f"{', '.join(by)}: {n} times, first for {short(texts[first], 40)!r} ({sha[:12]})"
                for sha, n, by, first in rows.select("sha256", "n", "by", "first").iter_rows()
            )
            answers = int(rows["n"].sum())
            yield Finding(f"{what} ({answers} answers)", rows.height, few(examples), remedy)
