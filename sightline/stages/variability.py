"""Variability: how alike are the images that one system gave one prompt?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError
from sightline.execution.progress import Listener
from sightline.execution.run import run
from sightline.stages.reference import refuse_other
from sightline.stages.set_distances import configured, set_distances
from sightline.statistics.calibration import LEVELS, PUBLISHED, level
from sightline.statistics.intervals import Interval, mean_interval
from sightline.statistics.reference import Reference
from sightline.statistics.sets import pairwise_mean_interval
from sightline.store import reading
from sightline.store.study import Study

DISTANCE = "colour_histogram"
NORMALISED = {
    "prompt_id": pl.Int64,
    "system_id": pl.Int64,
    "system": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "images": pl.Int64,
    "level": pl.String,
}


@dataclass(frozen=True)
class Alike:
    """How alike one system's images of one prompt are, over its prompts."""

    system: str
    similarity: Interval


@dataclass(frozen=True)
class Variability:
    """Similarity by system, and every prompt's own, from the most varied up.

    With a reference, `prompts` also has the interval over images, how many there are, and the level.
    """

    measure: str
    identity: str
    systems: Sequence[Alike]
    prompts: pl.DataFrame
    without: dict[str, int]
    reference: Reference | None = None


def variability(
    study: Study,
    *,
    distance: str = DISTANCE,
    reference: Reference | None = None,
    cut_offs: Sequence[float] = PUBLISHED,
    workers: int = 1,
    listener: Listener | None = None,
) -> Variability:
    """1 minus the mean distance over all pairs of a prompt's images, by system, with intervals.

    With `reference` distances are normalised by it first: this is W1KP's score, and each prompt has a level
    by `cut_offs`. Without one the scores are kept in the study.
    """
    if reference is not None:
        return _normalised(study, distance, reference, cut_offs, listener)
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
        raise nothing_to_compare(study)
    prompts = known.select("prompt_id", "system_id", "system", "value").sort("value", "prompt_id")
    reasons = scores.filter(pl.col("reason").is_not_null())["reason"].value_counts()
    return Variability(measure.short, measure.identity, _alike(known), prompts, dict(reasons.iter_rows()))


def nothing_to_compare(study: Study) -> DataError:
    """The error of a study in which no system gave a prompt two images."""
    return DataError(
        "no prompt has two or more images of one system with their files here",
        where=study.name,
        remedy="Variability needs several samples a prompt: import images with their files.",
    )


def _normalised(
    study: Study, distance: str, reference: Reference, cut_offs: Sequence[float], listener: Listener | None
) -> Variability:
    measure = configured(distance)
    refuse_other(reference, measure)
    rows: list[tuple[object, ...]] = []
    without: Counter[str] = Counter()
    for each in set_distances(study, measure, reference=reference, listener=listener):
        if each.matrix is None:
            without[str(each.reason)] += 1
            continue
        mean = pairwise_mean_interval(each.matrix)
        assert mean.value is not None
        low, high = (None if end is None else 1 - min(1.0, max(0.0, end)) for end in (mean.high, mean.low))
        grade = LEVELS[int(level(1 - mean.value, cut_offs))]
        rows.append(
            (each.prompt_id, each.system_id, each.system, 1 - mean.value, low, high, len(each.images), grade)
        )
    if not rows:
        raise nothing_to_compare(study)
    prompts = pl.DataFrame(rows, schema=NORMALISED, orient="row")
    return Variability(
        f"W1KP score, {measure.short}",
        measure.identity,
        _alike(prompts),
        prompts.sort("value", "prompt_id"),
        dict(without),
        reference,
    )


def _alike(prompts: pl.DataFrame) -> list[Alike]:
    groups = prompts.sort("system_id").group_by(["system"], maintain_order=True)
    return [Alike(str(system), mean_interval(np.asarray(rows["value"]))) for (system,), rows in groups]
