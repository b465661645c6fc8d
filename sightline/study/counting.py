"""Which of the votes on a question count, and as votes on which item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sightline.records import Question

if TYPE_CHECKING:
    import polars as pl


def in_one_order(asked: Question, cast: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Votes on pairs whose sides were swapped, as votes on the item with the sides the other way round.

    Of somebody who judged both, the later vote is a repetition. Control items stay as they are: their answers
    are known of the sides as shown.
    """
    import polars as pl

    if not chooses(asked, cast["value"].unique()):
        return cast
    free = cast.select("item_id").join(cast.filter(pl.col("control") != 0), on="item_id", how="anti")
    reverse = mirrored(parts.join(free, on="item_id", how="semi"))
    if not reverse:
        return cast
    turned = pl.col("item_id").is_in(list(reverse))
    cast = cast.with_columns(
        value=pl.when(turned).then(1.0 - pl.col("value")).otherwise("value"),
        mirrored=pl.when(turned).then(1 - pl.col("mirrored")).otherwise("mirrored"),
        item_id=pl.col("item_id").replace(reverse),
    ).sort("item_id", "id")
    judged = ["item_id", "annotator_id"]
    # Each repetition is above the one before: max(own, before + 1).
    place = pl.int_range(pl.len()).over(judged)
    above = (pl.col("repetition") - place).cum_max().over(judged) + place
    return cast.with_columns(
        repetition=pl.when(pl.col("annotator_id").is_null()).then("repetition").otherwise(above)
    )


def latest_verdicts(cast: pl.DataFrame) -> pl.DataFrame:
    """The last repetition of each item, if all votes are single anonymous verdicts; else all votes."""
    import polars as pl

    named = cast["annotator_id"].null_count() < cast.height
    if named or (cast["n"] != 1).any() or cast.select("item_id", "repetition").is_duplicated().any():
        return cast
    return cast.filter(pl.col("repetition") == pl.col("repetition").max().over("item_id"))


def chooses(asked: Question, values: Iterable[float]) -> bool:
    """Whether the answers to a question say which of two sides is preferred: 0, 1, or .5 for a tie."""
    return asked.low in (None, 0.0) and asked.high in (None, 1.0) and set(values) <= {0.0, 0.5, 1.0}


def mirrored(parts: pl.DataFrame) -> dict[int, int]:
    """Items that are an earlier one with its sides swapped, and which: pairs of images or of systems."""
    import polars as pl

    paired = parts.filter(
        ((pl.col("image_b") > 0) | (pl.col("system_b") > 0)) & (pl.col("image_c") == 0)
    ).sort("item_id")
    first: dict[tuple[int, ...], int] = {}
    found = {}
    columns = ("item_id", "prompt_id", "system_id", "system_b", "image_id", "image_b")
    for item, prompt, system, system_b, image, image_b in paired.select(columns).iter_rows():
        # One system's two images name it once.
        swapped = (prompt, *((system_b, system) if system_b else (system, 0)), image_b, image)
        if swapped in first:
            found[item] = first[swapped]
        else:
            first[prompt, system, system_b, image, image_b] = item
    return found
