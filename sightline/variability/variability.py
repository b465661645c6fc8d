"""Variability: how alike are the images that one system gave one prompt?"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError, MissingPackage
from sightline.estimate import Estimate
from sightline.statistics.calibration import LEVELS, PUBLISHED, level
from sightline.statistics.intervals import mean_interval, within
from sightline.statistics.reference import Reference
from sightline.statistics.sets import pairwise_mean_interval
from sightline.study import reading
from sightline.study.running.progress import Listener
from sightline.study.running.run import run
from sightline.study.scores import unchanged
from sightline.study.study import Study
from sightline.variability.reference import refuse_other
from sightline.variability.set_distances import FEW, configured, set_distances

DISTANCES = (
    "embedding(encoder=efficientnet_lite0(stages=(6, 7, 8)), metric=cosine)",
    "lpips",
    "colour_histogram",
)
"""Best first, by how well they tell which images belong to one prompt (benchmarks/visor_auc.py)."""
BLANK = "holds a blank image"
CHANGED = "its images have changed since: measure variability again"
ONE_COLOUR = 0.99
"""The share of an image that looks like its most common colour from which on it is blank, as for `check`."""
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
    similarity: Estimate


@dataclass(frozen=True)
class Variability:
    """Similarity by system, and every prompt's own, from the most varied up.

    With a reference, `prompts` also has the interval over images, how many there are, and the level. `blank`
    counts the sets, prompt by system, that hold an image of one colour: such images are alike, or differ from
    the rest, for another reason than the prompt.
    """

    measure: str
    identity: str
    systems: Sequence[Alike]
    prompts: pl.DataFrame
    without: dict[str, int]
    reference: Reference | None = None
    blank: int = 0


def variability(
    study: Study,
    *,
    distance: str | None = None,
    reference: Reference | None = None,
    cut_offs: Sequence[float] = PUBLISHED,
    without_blank: bool = False,
    workers: int = 1,
    listener: Listener | None = None,
) -> Variability:
    """1 minus the mean distance over all pairs of a prompt's images, by system, with intervals.

    Without `distance` it is the first of DISTANCES that can be loaded here; the result says which. With
    `reference` distances are normalised by it first: this is W1KP's score, and each prompt has a level by
    `cut_offs`. Without one the scores are kept in the study. `without_blank` leaves out prompts of a system
    that hold a blank image.
    """
    if not _several(study):
        raise nothing_to_compare(study)
    chosen = distance or (reference.distance if reference is not None else best_distance())
    run(study, registry.configure("of_image", "blank"), workers=workers, listener=listener)
    if reference is not None:
        return _normalised(study, chosen, reference, cut_offs, without_blank, listener)
    measure = registry.configure("of_set", "pairwise_mean", distance=chosen)
    run(study, measure, workers=workers, listener=listener)
    return read_variability(study, distance=chosen, without_blank=without_blank)


def best_distance() -> str:
    """The first of DISTANCES that can be loaded here; the last needs nothing."""
    for name in DISTANCES[:-1]:
        try:
            registry.configure("distance", name).load()
        except (MissingPackage, ImportError):
            continue
        return name
    return DISTANCES[-1]


def measured_by(study: Study) -> str:
    """The distance by which the study's images were compared; of several the best."""
    forms = [str(form) for form in reading.measures(study).filter(pl.col("values") > 0)["measure"]]
    for name in DISTANCES:
        if str(registry.configure("of_set", "pairwise_mean", distance=name)) in forms:
            return name
    others = [registry.find_measure(form) for form in forms if form.startswith("pairwise_mean(")]
    return str(others[-1].arguments["distance"]) if others else DISTANCES[-1]


def measured_blank(study: Study, listener: Listener | None = None) -> set[tuple[int, int]]:
    """Prompt and system of the sets that hold a blank image; looked for where it is not known yet."""
    run(study, registry.configure("of_image", "blank"), listener=listener)
    return {(int(prompt), int(system)) for prompt, system in blank_sets(study).iter_rows()}


def blank_sets(study: Study) -> pl.DataFrame:
    """prompt_id and system_id of the sets with a blank image, as far as `blank` was measured."""
    scores = reading.scores(study, registry.configure("of_image", "blank").identity)
    blank = scores.filter(pl.col("value") >= ONE_COLOUR).select("image_id")
    return (
        reading.answers(study, "generator")
        .join(blank, on="image_id", how="semi")
        .select("prompt_id", "system_id")
        .unique()
    )


def read_variability(
    study: Study, *, distance: str | None = None, without_blank: bool = False
) -> Variability:
    """What the study knows of it already, by this distance or the best that was measured."""
    distance = distance or measured_by(study)
    measure = registry.configure("of_set", "pairwise_mean", distance=distance)
    systems = reading.systems(study).filter(pl.col("kind") == "generator").select("system_id", "system")
    stored = reading.scores(study, measure.identity).join(systems, on="system_id")
    fresh = unchanged(study, "of_set", measure.identity) if stored.height else set()
    keys = stored.select("prompt_id", "system_id", "image_id").iter_rows()
    scores = stored.filter(pl.Series([key in fresh for key in keys], dtype=pl.Boolean))
    reasons = dict(scores.filter(pl.col("reason").is_not_null())["reason"].value_counts().iter_rows())
    if scores.height < stored.height:
        reasons[CHANGED] = stored.height - scores.height
    known = scores.filter(pl.col("value").is_not_null())
    name = f"pairwise_mean(distance={registry.configure('distance', distance).short})"
    if known.is_empty():
        raise _without_value(study, name, distance, stored.is_empty(), reasons)
    known, without, blank = _shown(study, known, reasons | _absent(study), without_blank)
    prompts = known.select("prompt_id", "system_id", "system", "value").sort("value", "prompt_id")
    bounds = measure.spec.range
    return Variability(name, measure.identity, _alike(known, *bounds), prompts, without, blank=blank)


def _several(study: Study) -> bool:
    """Whether a generator gave any prompt two images whose files are here."""
    answers = reading.answers(study, "generator").filter(pl.col("sha256").is_not_null())
    return bool((answers.group_by("prompt_id", "system_id").len()["len"] > 1).any())


def _without_value(
    study: Study, name: str, distance: str, unmeasured: bool, reasons: dict[str, int]
) -> DataError:
    if unmeasured:
        if _several(study):
            told = f"sightline variability {study.name} --distance {shlex.quote(distance)}"
            return DataError(f"variability was not measured by {name} yet", where=study.name, remedy=told)
        return nothing_to_compare(study)
    if set(reasons) <= {FEW}:
        return nothing_to_compare(study)
    said = "; ".join(f"{reason} ({n:,})" for reason, n in reasons.items())
    return DataError(f"no prompt has a value of {name}: {said}", where=study.name)


def _absent(study: Study) -> dict[str, int]:
    """Sets of which nothing, or not all, can be compared, counted by why."""
    answers = reading.answers(study, "generator")
    sets = answers.group_by("prompt_id", "system_id").agg(
        pl.len().alias("answers"), pl.col("sha256").is_not_null().sum().alias("there")
    )
    systems = answers["system_id"].n_unique()
    told = {
        "a system has no answer to the prompt": reading.prompts(study).height * systems - sets.height,
        "none of its images is here": sets.filter(pl.col("there") == 0).height,
        "some of its images are not here, the others were compared": sets.filter(
            (pl.col("there") > 1) & (pl.col("there") < pl.col("answers"))
        ).height,
    }
    return {reason: n for reason, n in told.items() if n}


def _shown(
    study: Study, sets: pl.DataFrame, without: dict[str, int], without_blank: bool
) -> tuple[pl.DataFrame, dict[str, int], int]:
    """The sets that are shown, why others are not, and how many of those shown hold a blank image."""
    on = ["prompt_id", "system_id"]
    plain = sets.join(blank_sets(study), on=on, how="anti", maintain_order="left")
    blank = sets.height - plain.height
    if not without_blank:
        return sets, without, blank
    if plain.is_empty():
        raise DataError("every prompt holds a blank image", where=study.name, remedy="sightline check STUDY")
    return plain, {**without, **({BLANK: blank} if blank else {})}, 0


def nothing_to_compare(study: Study) -> DataError:
    """The error of a study in which no system gave a prompt two images."""
    return DataError(
        "no prompt has two or more images of one system with their files here",
        where=study.name,
        remedy="Variability needs several samples a prompt: import images with their files.",
    )


def _normalised(
    study: Study,
    distance: str,
    reference: Reference,
    cut_offs: Sequence[float],
    without_blank: bool,
    listener: Listener | None,
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
    found = pl.DataFrame(rows, schema=NORMALISED, orient="row")
    prompts, reasons, blank = _shown(study, found, dict(without) | _absent(study), without_blank)
    return Variability(
        f"W1KP score, {measure.short}",
        measure.identity,
        _alike(prompts, 0.0, 1.0),
        prompts.sort("value", "prompt_id"),
        reasons,
        reference,
        blank,
    )


def _alike(prompts: pl.DataFrame, low: float | None, high: float | None) -> list[Alike]:
    groups = prompts.sort("system_id").group_by(["system"], maintain_order=True)
    return [
        Alike(str(system), within(mean_interval(np.asarray(rows["value"])), low, high))
        for (system,), rows in groups
    ]
