"""Scores of a system's answers to a prompt that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Picture, measure
from sightline.published import as_imported

WHY = "imported scores are not computed here: sightline import STUDY TABLE"


@measure.of_set(
    source="whoever computed the imported table",
    licence="Apache-2.0; that of the measure applies to its values",
    described_by=as_imported,
    computed=False,
)
def imported_of_set(
    images: Sequence[Picture],
    *,
    name: str = "",
    direction: str = "",
    low: float | None = None,
    high: float | None = None,
) -> float | NoValue:
    """Scores of a system's answers to a prompt that came from elsewhere, in a table of the layout `scores`.

    `name` is what the measure is called there. `direction`, `low` and `high` are its scale as the import said
    it; left empty, it is that of the published measure of this name, such as clipscore.
    """
    return NoValue(WHY)
