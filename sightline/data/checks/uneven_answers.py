"""Systems that answered the same prompt different numbers of times."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def uneven_answers(material: Material) -> Iterator[Finding]:
    """Prompts for which generators gave different numbers of images.

    Failures count as answers: a system that tried four times and failed once gave four. Retrievers are left
    out, since a ranking may be of any length.
    """
    import polars as pl

    generators = material.systems.filter(pl.col("kind") == "generator")["system_id"].to_list()
    counts = (
        material.answers.filter(pl.col("system_id").is_in(generators))
        .group_by("prompt_id", "system")
        .agg(pl.len().alias("n"))
    )
    spread = counts.group_by("prompt_id").agg(
        pl.col("n").min().alias("fewest"), pl.col("n").max().alias("most")
    )
    uneven = spread.filter(pl.col("fewest") < pl.col("most")).sort("prompt_id")
    if uneven.is_empty():
        return
    fewest, most = min(uneven["fewest"].to_list()), max(uneven["most"].to_list())
    yield Finding(
        f"prompts answered {fewest} times by one generator and up to {most} times by another",
        uneven.height,
        prompt_examples(material, uneven["prompt_id"]),
        "More samples make a mean surer and a best-of better: compare on equal numbers.",
    )
