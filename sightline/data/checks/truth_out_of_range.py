"""Truths off their scale."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import outside, prompt_examples
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="error", source="Sightline", licence="Apache-2.0")
def truth_out_of_range(material: Material) -> Iterator[Finding]:
    """Truths outside the scale of their question, as published or as settled here.

    A rule that settles on another scale than people judged on (HBPP's -1 to 2, a MOS of 0 to 100) is at odds
    with the question, and a comparison of the two would be wrong without a word.
    """
    wrong = outside(material, material.truths)
    for (question, rule), rows in wrong.group_by(["question", "rule"], maintain_order=True):
        values = sorted({float(value) for value in rows["value"]})
        yield Finding(
            f"truths of {question} (rule {rule}) off its scale, from {values[0]:g} to {values[-1]:g}",
            rows.height,
            prompt_examples(material, (key for key in rows["prompt_id"] if key)),
            "Correct the scale of the question in study.toml, or give these a question of their own.",
        )
