"""Variability: how alike are the images that one system gave one prompt?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError
from sightline.execution.progress import Listener
from sightline.execution.run import run
from sightline.statistics.intervals import Interval, mean_interval
from sightline.store import reading
from sightline.store.study import Study

DISTANCE = "colour_histogram"


@dataclass(frozen=True)
class Alike:
    """How alike one system's images of one prompt are, over its prompts."""

    system: str
    similarity: Interval


@dataclass(frozen=True)
class Variability:
    """Similarity by system, and every prompt's own, from the most varied up."""

    measure: str
    identity: str
    systems: Sequence[Alike]
    prompts: pl.DataFrame
    without: dict[str, int]


def variability(
    study: Study,
    *,
    distance: str = DISTANCE,
    workers: int = 1,
    listener: Listener | None = None,
) -> Variability:
    """1 minus the mean distance over all pairs of a prompt's images, by system, with intervals."""
    measure = registry.configure("of_image_set", "pairwise_mean", distance=distance)
    run(study, measure, workers=workers, listener=listener)
    return read_variability(study, distance=distance)


def read_variability(study: Study, *, distance: str = DISTANCE) -> Variability:
    """What the study knows of it already."""
    measure = registry.configure("of_image_set", "pairwise_mean", distance=distance)
    scores = reading.scores(study, measure.identity)
    systems = reading.systems(study).filter(pl.col("kind") == "generator").select("system_id", "system")
    known = scores.filter(pl.col("value").is_not_null()).join(systems, on="system_id")
    if known.is_empty():
        raise DataError(
            "no prompt has two or more images of one system with their files here",
            where=study.name,
            remedy="Variability needs several samples a prompt: import images with their files.",
        )
    alike = [
        Alike(str(system), mean_interval(np.asarray(rows["value"])))
        for (system,), rows in known.sort("system_id").group_by(["system"], maintain_order=True)
    ]
    prompts = known.select("prompt_id", "system_id", "system", "value").sort("value", "prompt_id")
    reasons = scores.filter(pl.col("reason").is_not_null())["reason"].value_counts()
    return Variability(measure.short, measure.identity, alike, prompts, dict(reasons.iter_rows()))
