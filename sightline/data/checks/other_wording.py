"""Prompts that people judged under another wording."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.checks import few, short
from sightline.extension import check
from sightline.records import Finding, Material


@check(severity="warning", source="Achterberg et al. 2023 (GIMBRR)", licence="Apache-2.0")
def other_wording(material: Material) -> Iterator[Finding]:
    """Judgements that were given under another text than the prompt has here.

    The importer keeps the prompt's own text and notes the other one in the tag `judged_text`, and in
    `judged_text_rows` how many judgements carry it.
    """
    import polars as pl

    noted = material.tags.filter(pl.col("name") == "judged_text").select("prompt_id", judged="value")
    if noted.is_empty():
        return
    rows = material.tags.filter(pl.col("name") == "judged_text_rows").select("prompt_id", rows="value")
    reworded = (
        noted.join(rows, on="prompt_id", how="left")
        .join(material.prompts, on="prompt_id")
        .with_columns(pl.col("rows").cast(pl.Int64, strict=False).fill_null(1))
        .sort("prompt_id")
    )
    yield Finding(
        f"judgements given under another text than their prompt has (of {reworded.height} prompts)",
        int(reworded["rows"].sum()),
        few(
            f"{suite}/{ref}: {short(text, 40)!r}, judged as {short(judged, 40)!r}"
            for suite, ref, text, judged in reworded.select("suite", "ref", "text", "judged").iter_rows()
        ),
        "Look at some: a corrected typing error does no harm, another demand makes the judgement void.",
    )
