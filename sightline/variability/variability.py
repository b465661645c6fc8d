"""Variability: how alike are the images that one system gave one prompt?"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Estimate
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.calibration import LEVELS, level
from sightline.statistics.intervals import mean_interval
from sightline.statistics.reference import Reference
from sightline.statistics.sets import pairwise_mean_interval
from sightline.study import reading
from sightline.study.running.progress import Listener
from sightline.study.running.run import run
from sightline.study.study import Study
from sightline.variability.scale import (
    DISTANCE,
    PUBLISHED_WORDS,
    REFERENCE,
    WITHOUT_BLANK,
    cut_offs_of,
    level_notes,
    missing_notes,
    reference_facts,
    reference_notes,
    scale_of,
)
from sightline.variability.set_distances import DISTANCES, FEW, configured, set_distances
from sightline.verbs import WORKERS, option, verb

SHOWN = 10
"""Rows that a terminal shows."""
BLANK = "a blank image"
CHANGED = "its images have changed since: measure variability again"
ONE_COLOUR = 0.99
"""The proportion of an image in its most common colour from which on it is blank, as for `check`."""
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
class SystemSimilarity:
    """How alike a system's images of one prompt are, over its prompts."""

    system: str
    similarity: Estimate


@dataclass(frozen=True)
class Variability(Result):
    """Similarity by system, and every prompt's own, the most varied first.

    With a reference, `prompts` also has the interval over images, how many there are, and the level; `named`
    is that reference as it was given. `blank` counts the sets, prompt by system, with an image of one colour:
    such images are alike, or differ from the rest, for another reason than the prompt. `texts` has the
    prompts' texts by id.
    """

    measure: str
    identity: str
    systems: Sequence[SystemSimilarity]
    prompts: pl.DataFrame
    without: Mapping[str, int]
    reference: Reference | None = None
    blank: int = 0
    texts: Mapping[int, str] = field(default_factory=dict)
    named: str = ""
    published: bool = True

    @property
    def notes(self) -> Sequence[str]:
        said = missing_notes(self.without)
        if self.blank:
            said.append(
                f"{self.blank:,} of these have an image of one colour, which is alike or different for "
                "another reason than the prompt: --without-blank excludes them."
            )
        said += reference_notes(self.reference)
        return said if self.reference is None else [*said, *level_notes(self.published)]

    @property
    def next(self) -> Sequence[str]:
        if self.named:
            return (f"sightline reuse STUDY --reference {shlex.quote(self.named)}",)
        return ("sightline report STUDY",)

    def facts(self) -> dict[str, Any]:
        """The measure, the reference, and how many sets have no value or a blank image."""
        made = {"measure": self.measure, "without": dict(self.without), "blank": self.blank}
        return {**made, "reference": reference_facts(self.reference)}

    def tables(self) -> dict[str, Table]:
        columns = [Column("system"), Column("similarity", estimate=True)]
        systems = [(each.system, each.similarity) for each in self.systems]
        scaled = self.reference is not None
        rows: list[tuple[Cell, ...]] = []
        for row in self.prompts.iter_rows(named=True):
            value: tuple[Cell, ...] = (row["value"],)
            if scaled:
                value = (Estimate(row["value"], row["low"], row["high"], row["images"]), row["level"])
            rows.append((self.texts.get(row["prompt_id"], ""), row["system"], *value))
        of_prompts = [Column("prompt"), Column("system"), Column("similarity", estimate=scaled)]
        of_prompts += [Column("level")] if scaled else []
        return {
            "systems": Table(columns, systems, f"Similarity by {self.measure}"),
            "prompts": Table(of_prompts, rows, "Prompts, most varied first", SHOWN),
        }


@verb("measure")
def variability(
    study: Study,
    *,
    distance: Annotated[str | None, DISTANCE] = None,
    reference: Annotated[str | Reference | None, REFERENCE] = None,
    cut_offs: Annotated[
        str | None,
        option(
            "With --reference: begin the levels of similarity here, as calibrate finds them.",
            metavar="LOW,MEDIUM,HIGH",
            shown=f"{PUBLISHED_WORDS}, those of W1KP",
        ),
    ] = None,
    without_blank: Annotated[bool, WITHOUT_BLANK] = False,
    workers: Annotated[int, WORKERS] = 1,
    listener: Listener | None = None,
) -> Variability:
    """Measure how alike a system's images of one prompt are.

    Similarity is 1 minus the mean distance over all pairs of a prompt's images; a system's is the mean over
    its prompts with its 95 % interval. These scores are stored. With --reference distances are first
    normalised by a reference distribution (W1KP's score), and each prompt has a level.
    """
    if cut_offs is not None and reference is None:
        raise UsageError("--cut-offs name levels on a scale", remedy="Add --reference FILE.")
    cuts = cut_offs_of(cut_offs)
    chosen, scale = scale_of(study, distance, reference)
    if not _several(study):
        raise nothing_to_compare(study)
    run(study, registry.configure("of_image", "blank"), workers=workers, listener=listener)
    if scale is not None:
        result = _normalised(study, chosen, scale, cuts, without_blank, listener)
        named = reference if isinstance(reference, str) else ""
        return replace(result, named=named, published=cut_offs is None)
    measure = registry.configure("of_set", "pairwise_mean", distance=chosen)
    run(study, measure, workers=workers, listener=listener)
    return read_variability(study, distance=chosen, without_blank=without_blank)


def measured_by(study: Study) -> str:
    """The distance by which the study's images were compared; the best of several."""
    forms = [str(form) for form in reading.measures(study).filter(pl.col("values") > 0)["measure"]]
    for name in DISTANCES:
        if str(registry.configure("of_set", "pairwise_mean", distance=name)) in forms:
            return name
    others = [registry.find_measure(form) for form in forms if form.startswith("pairwise_mean(")]
    return str(others[-1].arguments["distance"]) if others else DISTANCES[-1]


def measured_blank(study: Study, listener: Listener | None = None) -> set[tuple[int, int]]:
    """Prompt and system of the sets with a blank image; measured where it is not known yet."""
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
    """The stored scores, by this distance or the best that was measured."""
    distance = distance or measured_by(study)
    measure = registry.configure("of_set", "pairwise_mean", distance=distance)
    systems = reading.systems(study).filter(pl.col("kind") == "generator").select("system_id", "system")
    stored = reading.stored_scores(study, measure.identity).join(systems, on="system_id")
    scores = reading.scores(study, measure.identity).join(systems, on="system_id")
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
    return Variability(
        name,
        measure.identity,
        _by_system(known, *bounds),
        prompts,
        without,
        blank=blank,
        texts=texts_of(study),
    )


def texts_of(study: Study) -> dict[int, str]:
    """The text of every prompt by id."""
    return dict(reading.prompts(study).select("prompt_id", "text").iter_rows())


def _several(study: Study) -> bool:
    """Whether a generator gave any prompt two images whose files are here."""
    answers = reading.answers(study, "generator").filter(pl.col("sha256").is_not_null())
    return bool((answers.group_by("prompt_id", "system_id").len()["len"] > 1).any())


def _without_value(
    study: Study, name: str, distance: str, unmeasured: bool, reasons: dict[str, int]
) -> DataError:
    if unmeasured:
        if _several(study):
            remedy = f"sightline variability {study.name} --distance {shlex.quote(distance)}"
            return DataError(f"variability was not measured by {name} yet", where=study.name, remedy=remedy)
        return nothing_to_compare(study)
    if set(reasons) <= {FEW}:
        return nothing_to_compare(study)
    said = "; ".join(f"{reason} ({n:,})" for reason, n in reasons.items())
    return DataError(f"no prompt has a value of {name}: {said}", where=study.name)


def _absent(study: Study) -> dict[str, int]:
    """Sets of which not all images can be compared, counted by reason."""
    answers = reading.answers(study, "generator")
    sets = answers.group_by("prompt_id", "system_id").agg(
        pl.len().alias("answers"), pl.col("sha256").is_not_null().sum().alias("there")
    )
    systems = answers["system_id"].n_unique()
    counts = {
        "a system has no answer to the prompt": reading.prompts(study).height * systems - sets.height,
        "none of its images is here": sets.filter(pl.col("there") == 0).height,
        "some of its images are not here, the others were compared": sets.filter(
            (pl.col("there") > 1) & (pl.col("there") < pl.col("answers"))
        ).height,
    }
    return {reason: n for reason, n in counts.items() if n}


def _shown(
    study: Study, sets: pl.DataFrame, without: dict[str, int], without_blank: bool
) -> tuple[pl.DataFrame, dict[str, int], int]:
    """The sets that are shown, why others are not, and how many of those shown have a blank image."""
    on = ["prompt_id", "system_id"]
    plain = sets.join(blank_sets(study), on=on, how="anti", maintain_order="left")
    blank = sets.height - plain.height
    if not without_blank:
        return sets, without, blank
    if plain.is_empty():
        raise DataError("every prompt has a blank image", where=study.name, remedy="sightline check STUDY")
    return plain, {**without, **({BLANK: blank} if blank else {})}, 0


def nothing_to_compare(study: Study) -> DataError:
    """The error of a study in which no system gave a prompt two images."""
    return DataError(
        "no prompt has two or more images of one system with their files here",
        where=study.name,
        remedy="Variability needs several samples per prompt: import images with their files.",
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
        _by_system(prompts, 0.0, 1.0),
        prompts.sort("value", "prompt_id"),
        reasons,
        reference,
        blank,
        texts_of(study),
    )


def _by_system(prompts: pl.DataFrame, low: float | None, high: float | None) -> list[SystemSimilarity]:
    groups = prompts.sort("system_id").group_by(["system"], maintain_order=True)
    return [
        SystemSimilarity(str(system), mean_interval(np.asarray(rows["value"]), low=low, high=high))
        for (system,), rows in groups
    ]
