"""The predictions that a study stores: of truth, and of the values by measures."""

from __future__ import annotations

import polars as pl

from sightline.study import reading

FOR = " for "
"""Between the predictor and the measure whose values it predicts, in the specification of a fit."""


def predictions(study: reading.Readable, settlement_id: int, measure: str = "") -> pl.DataFrame:
    """What the newest fit of each predictor to a settlement predicted of prompts.

    Of the truth itself, or of the values by a measure (with .SYSTEM of one system's) that are kept with it.
    """
    found = reading.frame(
        study,
        "SELECT f.spec, p.prompt_id, p.fold, p.value, p.low, p.high FROM prediction p "
        "JOIN fit f ON f.id = p.fit_id WHERE p.value IS NOT NULL AND p.image_id = 0 AND f.id IN "
        "(SELECT max(g.id) FROM fit g WHERE g.settlement_id = :settlement GROUP BY g.spec) "
        "ORDER BY f.id, p.prompt_id",
        "spec prompt_id:int fold:int value:float low:float high:float",
        settlement=settlement_id,
    )
    if not measure:
        return found.filter(~pl.col("spec").str.contains(FOR, literal=True))
    own = f"{FOR}{measure}"
    return found.filter(pl.col("spec").str.ends_with(own)).with_columns(pl.col("spec").str.strip_suffix(own))


def predicted_measures(study: reading.Readable) -> list[str]:
    """The measures, with .SYSTEM of one system's, whose values were predicted; first come first."""
    rows = reading.fetch_rows(study, f"SELECT spec FROM fit WHERE spec LIKE '%{FOR}%' ORDER BY id")
    return list(dict.fromkeys(str(spec).rpartition(FOR)[2] for (spec,) in rows))
