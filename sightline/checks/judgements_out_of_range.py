"""Judgements off their scale."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.checks import few, outside
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="error", source="Sightline", licence="Apache-2.0")
def judgements_out_of_range(material: Material) -> Iterator[Finding]:
    """Judgements below the low or above the high end of their question's scale."""
    wrong = outside(material, material.judgements)
    for (question, low, high), rows in wrong.group_by(
        ["question", "scale_low", "scale_high"], maintain_order=True
    ):
        told = (
            f"{value:g} by {who or 'somebody unnamed'}"
            for value, who in rows.select("value", "annotator").iter_rows()
        )
        yield Finding(
            f"judgements of {question} outside {_ends(low, high)}",
            int(rows["n"].sum()),
            few(told),
            "Correct the scale of the question in study.toml, or the values and import them again.",
        )


def _ends(low: object, high: object) -> str:
    return f"its scale from {'anything' if low is None else low} to {'anything' if high is None else high}"
