"""Integrity rules: what can be wrong with a study's data; here is what all of them share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from sightline.records import Material

FEW = 5
"""How many examples a finding shows."""


def few(examples: Iterable[str]) -> list[str]:
    """The first examples, no more than a reader takes in at a glance."""
    shown: list[str] = []
    for example in examples:
        if len(shown) == FEW:
            break
        shown.append(example)
    return shown


def short(text: str, most: int = 60) -> str:
    """A text cut to a length that fits a line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def prompt_examples(material: Material, ids: Iterable[int]) -> list[str]:
    """Prompts as a reader finds them: suite, id and wording."""
    import polars as pl

    wanted = few_ids(ids)
    labels = {
        int(key): f"{suite}/{ref}: {short(text)}"
        for key, suite, ref, text in material.prompts.filter(pl.col("prompt_id").is_in(wanted)).iter_rows()
    }
    return [labels[key] for key in wanted if key in labels]


def image_examples(material: Material, ids: Iterable[int]) -> list[str]:
    """Images as a reader finds them: collection and name."""
    import polars as pl

    wanted = few_ids(ids)
    rows = material.images.filter(pl.col("image_id").is_in(wanted)).select("image_id", "collection", "name")
    labels = {int(key): f"{collection}/{name}" for key, collection, name in rows.iter_rows()}
    return [labels[key] for key in wanted if key in labels]


def few_ids(ids: Iterable[int]) -> list[int]:
    """The first ids, each once."""
    seen: dict[int, None] = {}
    for key in ids:
        seen[int(key)] = None
        if len(seen) == FEW:
            break
    return list(seen)


def outside(material: Material, rows: pl.DataFrame) -> pl.DataFrame:
    """Of rows with `question` and `value`: those whose value is off the question's scale, with its ends."""
    import polars as pl

    schema = {"question": pl.String, "scale_low": pl.Float64, "scale_high": pl.Float64}
    ends = pl.DataFrame([(q.name, q.low, q.high) for q in material.questions], schema=schema, orient="row")
    joined = rows.join(ends, on="question", how="inner")
    # A value that went through single precision may miss its end by a hair.
    hair = 1e-6 * pl.max_horizontal(pl.lit(1.0), pl.col("value").abs())
    below = (pl.col("value") < pl.col("scale_low") - hair).fill_null(False)
    above = (pl.col("value") > pl.col("scale_high") + hair).fill_null(False)
    return joined.filter(below | above)


def item_examples(material: Material, rows: pl.DataFrame) -> list[str]:
    """What judgements or truths are about, as a reader finds it: prompt, system and image by their names."""
    shown = []
    for prompt, system, image in (
        rows.select("prompt_id", "system_id", "image_id").unique(maintain_order=True).head(FEW).iter_rows()
    ):
        parts = prompt_examples(material, [prompt]) if prompt else []
        if system:
            named = material.systems.row(by_predicate=_is("system_id", system), named=True)
            parts.append(f"by {named['system']}")
        if image:
            parts += image_examples(material, [image])
        shown.append(", ".join(parts))
    return shown


def _is(column: str, value: int) -> pl.Expr:
    import polars as pl

    return pl.col(column) == value
