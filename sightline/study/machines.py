"""Annotators that are models, and the pairs of images that one of them may compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from sightline.errors import UsageError, near
from sightline.records import ImageKey
from sightline.study import reading
from sightline.study.study import Study

MACHINE = "machine"
"""The panel of annotators that are models, never people."""


class Compared(NamedTuple):
    """Images of two systems for one prompt."""

    prompt_id: int
    system: str
    system_b: str
    image: ImageKey
    image_b: ImageKey
    sha256: str
    sha256_b: str


def machine_keys(study: Study) -> list[int]:
    """The ids of annotators that are models."""
    rows = reading.fetch_rows(study, "SELECT id FROM annotator WHERE panel = :panel", panel=MACHINE)
    return [int(row[0]) for row in rows]


def machine_names(study: Study) -> list[str]:
    """The questions on which models alone voted."""
    rows = reading.fetch_rows(
        study,
        "SELECT q.name FROM question q JOIN judgement j ON j.question_id = q.id "
        "LEFT JOIN annotator a ON a.id = j.annotator_id GROUP BY q.name "
        "HAVING min(CASE WHEN a.panel = :panel THEN 1 ELSE 0 END) = 1 ORDER BY q.name",
        panel=MACHINE,
    )
    return [str(row[0]) for row in rows]


def compared_pairs(
    study: Study, like: str | None, systems: Sequence[str], most: int | None, seed: int
) -> list[Compared]:
    """Pairs of the first images of two systems for a prompt, or those that people compared on a question."""
    known = reading.systems(study)["system"].to_list()
    for name in systems:
        if name not in known:
            raise UsageError(f"no system is called {name!r}", remedy=near(name, known))
    given = reading.answers(study, "generator").filter(pl.col("sha256").is_not_null())
    if systems:
        given = given.filter(pl.col("system").is_in(list(systems)))
    names = reading.images(study).select("image_id", "collection", "name")
    images = given.join(names, on="image_id").select(
        "prompt_id", "system_id", "system", "position", "image_id", "collection", "name", "sha256"
    )
    if like is None:
        first = images.sort("position").group_by("prompt_id", "system_id", maintain_order=True).first()
        both = first.join(first, on="prompt_id", suffix="_b").filter(
            pl.col("system_id") < pl.col("system_id_b")
        )
    else:
        both = _like(study, like, images)
    both = both.filter(pl.col("sha256") != pl.col("sha256_b")).sort(
        "prompt_id", "system_id", "system_id_b", "image_id", "image_id_b"
    )
    if most is not None:
        order = np.random.default_rng(seed).permutation(both.height)
        drawn = both.with_columns(pl.Series("drawn", order)).sort("drawn")
        both = drawn.group_by("prompt_id", maintain_order=True).head(most).drop("drawn")
        both = both.sort("prompt_id", "system_id", "system_id_b", "image_id", "image_id_b")
    return [
        Compared(
            row["prompt_id"], row["system"], row["system_b"],
            ImageKey(row["collection"], row["name"]), ImageKey(row["collection_b"], row["name_b"]),
            row["sha256"], row["sha256_b"],
        )
        for row in both.iter_rows(named=True)
    ]  # fmt: skip


def _like(study: Study, question: str, images: pl.DataFrame) -> pl.DataFrame:
    """The pairs of a question's ballots, each once, whichever side came first."""
    cast = reading.ballots(study, question).filter((pl.col("image_b") > 0) & (pl.col("image_c") == 0))
    sides = cast.select("prompt_id", "image_id", image_id_b="image_b").unique()
    first = images.drop("position").unique(["prompt_id", "system_id", "image_id"])
    both = sides.join(first, on=["prompt_id", "image_id"]).join(
        first, left_on=["prompt_id", "image_id_b"], right_on=["prompt_id", "image_id"], suffix="_b"
    )
    turned = pl.col("system_id") > pl.col("system_id_b")
    columns = ("system_id", "system", "image_id", "collection", "name", "sha256")
    swapped = {
        **{name: pl.when(turned).then(f"{name}_b").otherwise(name) for name in columns},
        **{f"{name}_b": pl.when(turned).then(name).otherwise(f"{name}_b") for name in columns},
    }
    made = both.filter(pl.col("system_id") != pl.col("system_id_b")).with_columns(**swapped)
    return made.unique(["prompt_id", "system_id", "system_id_b", "image_id", "image_id_b"])
