"""Judgements off their scale."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few, outside
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="error", source="Sightline", licence="Apache-2.0")
def judgements_out_of_range(material: Material) -> Iterator[Finding]:
    """Judgements below the low or above the high end of their question's scale, or between its steps.

    Steps count on nominal and ordinal scales alone: a slider's step is a matter of the page.
    """
    wrong = outside(material, material.judgements)
    for (question, low, high), rows in wrong.group_by(
        ["question", "scale_low", "scale_high"], maintain_order=True
    ):
        examples = (
            f"{value:g} by {who or 'somebody unnamed'}"
            for value, who in rows.select("value", "annotator").iter_rows()
        )
        yield Finding(
            f"judgements of {question} outside {_ends(low, high)}",
            int(rows["n"].sum()),
            few(examples),
            "Correct the scale of the question in study.toml, or the values and import them again.",
        )
    yield from _between_steps(material)


def _between_steps(material: Material) -> Iterator[Finding]:
    import polars as pl

    for question in material.questions:
        if question.step is None or question.step <= 0 or question.scale == "interval":
            continue
        steps = (pl.col("value") - (question.low or 0.0)) / question.step
        rows = material.judgements.filter(
            (pl.col("question") == question.name) & ((steps - steps.round()).abs() > 1e-6)
        )
        if not rows.is_empty():
            counted = rows["value"].value_counts(sort=True)
            yield Finding(
                f"judgements of {question.name} between the steps of {question.step:g} of its scale",
                int(rows["n"].sum()),
                few(f"{value:g}, {times} times" for value, times in counted.iter_rows()),
                "Were they averaged, or given on another scale? If they hold, correct the question's step.",
            )


def _ends(low: object, high: object) -> str:
    return f"its scale from {'anything' if low is None else low} to {'anything' if high is None else high}"
