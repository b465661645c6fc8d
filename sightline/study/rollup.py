"""From truth about images to truth about systems and prompts.

A truth may be of a prompt with an image, of an image, of a system's answers to a prompt, or of a prompt.
Images are given back to whoever answered with them; a generator's value on a prompt is the mean over its
images there, a prompt's value the mean over systems: every system weighs the same, however many images
it gave. A search engine has no such mean: it would be over those of its answers that somebody happened to
judge, and blind to their order; measures of a ranking say how good it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.errors import DataError
from sightline.study import reading
from sightline.study.study import Study

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


def of_answers(study: Study, question: str) -> pl.DataFrame:
    """The truth of each answer: system_id, system, prompt_id, position, image_id, sha256, value."""
    import polars as pl

    truths = reading.truths(study, question).filter(pl.col("value").is_not_null() & (pl.col("image_b") == 0))
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null())
    keep = ["system_id", "system", "prompt_id", "position", "image_id", "sha256"]
    parts = []
    for on, condition in (
        (["system_id", "prompt_id", "image_id"], (pl.col("prompt_id") > 0) & (pl.col("system_id") > 0)),
        (["prompt_id", "image_id"], (pl.col("prompt_id") > 0) & (pl.col("system_id") == 0)),
        (["image_id"], (pl.col("prompt_id") == 0) & (pl.col("system_id") == 0)),
    ):
        chosen = truths.filter(condition & (pl.col("image_id") > 0)).select([*on, "value", "n"])
        parts.append(answers.join(chosen, on=on, how="inner").select([*keep, "value", "n"]))
    return pl.concat(parts).unique(["system_id", "prompt_id", "position"], keep="first", maintain_order=True)


def by_system(study: Study, question: str) -> pl.DataFrame:
    """A system's value on a prompt: prompt_id, system_id, system, value, images."""
    import polars as pl

    whole = (
        reading.truths(study, question)
        .filter(
            pl.col("value").is_not_null()
            & (pl.col("prompt_id") > 0)
            & (pl.col("system_id") > 0)
            & (pl.col("image_id") == 0)
        )
        .join(reading.systems(study).select("system_id", "system"), on="system_id")
        .select("prompt_id", "system_id", "system", "value", pl.lit(0, pl.Int64).alias("images"))
    )
    generators = reading.systems(study).filter(pl.col("kind") == "generator")
    rolled = (
        of_answers(study, question)
        .join(generators, on="system_id", how="semi")
        .group_by("prompt_id", "system_id", "system")
        .agg(pl.col("value").mean(), pl.len().cast(pl.Int64).alias("images"))
        .select("prompt_id", "system_id", "system", "value", "images")
    )
    return (
        pl.concat([whole, rolled])
        .unique(["prompt_id", "system_id"], keep="first", maintain_order=True)
        .sort("prompt_id", "system_id")
    )


def votes_by_system(study: Study, question: str) -> pl.DataFrame:
    """The votes behind `by_system`: prompt_id, system, item, annotator, value, n, session, ms.

    Annotator -1 is anonymous; ms is what a vote took, NaN where it is not known. Those of the
    annotators that the settlement counted, on what generators answered.
    """
    import polars as pl

    settlement = reading.newest_settlement(study, question)
    notes = {} if settlement is None else reading.settlement_notes(study, settlement)
    votes, items, _ = reading.votes(study, question)
    cast = pl.DataFrame(
        {name: getattr(votes, name) for name in ("item", "annotator", "value", "n", "control", "session")}
        | {"ms": votes.took_ms}
    ).filter(~pl.col("control"))
    if "counted" in notes:
        named = [[each.panel, each.name] for each in votes.annotators]
        counted = [number for number, each in enumerate(named) if each in notes["counted"]]
        cast = cast.filter(pl.col("annotator").is_in([*counted, -1]))
    generators = reading.systems(study).filter(pl.col("kind") == "generator").select("system_id", "system")
    parts = items.with_row_index("item").with_columns(pl.col("item").cast(pl.Int64))
    parts = parts.filter(pl.col("image_b") == 0).drop("image_b", "image_c", "item_id")
    direct = parts.filter((pl.col("system_id") > 0) & (pl.col("prompt_id") > 0))
    direct = direct.join(reading.systems(study).select("system_id", "system"), on="system_id")
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null())
    answers = answers.join(generators.select("system_id"), on="system_id", how="semi")
    answers = answers.select("prompt_id", "system_id", "system", "image_id").unique(maintain_order=True)
    images = parts.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0)).drop("system_id")
    asked = images.filter(pl.col("prompt_id") > 0).join(answers, on=["prompt_id", "image_id"])
    alone = images.filter(pl.col("prompt_id") == 0).drop("prompt_id").join(answers, on="image_id")
    columns = ["item", "prompt_id", "system"]
    owned = pl.concat([each.select(columns) for each in (direct, asked, alone)])
    return (
        cast.join(owned, on="item", how="inner")
        # An image that answered twice is an item of each of its answers.
        .with_columns(item=pl.struct("item", "prompt_id", "system").rank("dense").cast(pl.Int64))
        .select("prompt_id", "system", "item", "annotator", "value", "n", "session", "ms")
        .sort("item", "annotator")
    )


def by_prompt_of_systems(study: Study, question: str) -> pl.DataFrame:
    """A prompt's value as the mean over the systems that have one there: prompt_id, value, systems."""
    import polars as pl

    return (
        by_system(study, question)
        .group_by("prompt_id")
        .agg(pl.col("value").mean(), pl.len().cast(pl.Int64).alias("systems"))
        .sort("prompt_id")
    )


def by_prompt(study: Study, question: str) -> pl.DataFrame:
    """A prompt's value: prompt_id, value, systems (0 where the truth is of the prompt itself)."""
    import polars as pl

    own = (
        reading.truths(study, question)
        .filter(
            pl.col("value").is_not_null()
            & (pl.col("prompt_id") > 0)
            & (pl.col("system_id") == 0)
            & (pl.col("image_id") == 0)
        )
        .select("prompt_id", "value", pl.lit(0, pl.Int64).alias("systems"))
    )
    rolled = by_prompt_of_systems(study, question)
    return pl.concat([own, rolled]).unique("prompt_id", keep="first", maintain_order=True).sort("prompt_id")


def matrix(values: pl.DataFrame) -> tuple[np.ndarray, list[int], list[str]]:
    """Prompts x systems with NaN where a system has no value, the prompt ids, and the systems' names."""
    import numpy as np

    if values.is_empty():
        raise DataError("there is nothing to compare: no system has a value on any prompt")
    prompts = values["prompt_id"].unique().sort().to_list()
    systems = values.select("system_id", "system").unique().sort("system_id")
    row = {prompt: i for i, prompt in enumerate(prompts)}
    column = {system: i for i, system in enumerate(systems["system_id"].to_list())}
    table = np.full((len(prompts), len(column)), np.nan)
    for prompt, system, value in values.select("prompt_id", "system_id", "value").iter_rows():
        table[row[prompt], column[system]] = value
    return table, prompts, systems["system"].to_list()
