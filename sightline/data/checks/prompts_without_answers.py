"""Prompts that a system, or every system, left without an answer."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def prompts_without_answers(material: Material) -> Iterator[Finding]:
    """Prompts no system answered, and prompts that some systems answered and others did not.

    A suite that no system has touched yet is not a fault: only suites with at least one answer count. Nor is
    a system blamed for a suite it never took part in.
    """
    import polars as pl

    asked = material.prompts.select("prompt_id", "suite")
    given = material.answers.select("system", "prompt_id").unique().join(asked, on="prompt_id")
    if given.is_empty():
        return
    begun = asked.filter(pl.col("suite").is_in(given["suite"].unique().to_list()))
    never = begun.join(given, on="prompt_id", how="anti").sort("prompt_id")
    if not never.is_empty():
        yield Finding(
            "prompts that no system answered",
            never.height,
            prompt_examples(material, never["prompt_id"]),
            "Import or generate the missing answers, or leave these prompts out.",
        )
    someone = given.select("suite", "prompt_id").unique()
    expected = given.select("system", "suite").unique().join(someone, on="suite")
    lacking = expected.join(given, on=["system", "prompt_id"], how="anti").sort("system", "prompt_id")
    for (system,), rows in lacking.group_by(["system"], maintain_order=True):
        yield Finding(
            f"prompts that {system} left out and others answered",
            rows.height,
            prompt_examples(material, rows["prompt_id"]),
            "Systems are compared on the prompts all of them answered; add the missing ones.",
        )
