"""Variability: how alike are the images that one system gave one prompt?"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError
from sightline.estimate import Cell, Estimate
from sightline.rendering.blocks import Figure
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.calibration import LEVELS, level
from sightline.statistics.intervals import mean_interval
from sightline.statistics.reference import Reference
from sightline.statistics.sets import pairwise_mean_interval
from sightline.study import blocks, listing, reading
from sightline.study.running.place import HERE, Place, place_of
from sightline.study.running.progress import Listener
from sightline.study.running.run import run
from sightline.study.study import Study
from sightline.variability.charts import SCORE, SIMILARITY, Colours, similarity_figure
from sightline.variability.scale import (
    DISTANCE,
    PUBLISHED_WORDS,
    REFERENCE,
    WITHOUT_BLANK,
    level_notes,
    missing_notes,
    reference_facts,
    reference_notes,
    same_distance,
    scale_of,
)
from sightline.variability.set_distances import CHANGED, DISTANCES, FEW, configured, set_distances
from sightline.variability.store import StudyScale, keep_scale, kept_scale
from sightline.verbs import GPUS, ON, WORKERS, option, verb

SHOWN = 10
"""Rows that a terminal shows."""
BLANK = "a blank image"
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

    With a reference, `prompts` also has the interval over images and how many there are; with cut-offs, the
    level. `blank` counts the sets, prompt by system, with an image of one colour: such images are alike, or
    differ from the rest, for another reason than the prompt. `texts` has the prompts' texts by id.
    """

    measure: str
    identity: str
    systems: Sequence[SystemSimilarity]
    prompts: pl.DataFrame
    without: Mapping[str, int]
    scale: StudyScale
    blank: int = 0
    texts: Mapping[int, str] = field(default_factory=dict)

    @property
    def reference(self) -> Reference | None:
        """What distances are normalised by."""
        return self.scale.reference

    @property
    def axis(self) -> str:
        """What a chart calls the values."""
        return SCORE if self.reference is not None else SIMILARITY

    @property
    def notes(self) -> Sequence[str]:
        said = missing_notes(self.without)
        if self.blank:
            said.append(
                f"{self.blank:,} of these have an image of one colour, which is alike or different for "
                "another reason than the prompt: --without-blank excludes them."
            )
        return [*said, *reference_notes(self.reference), *level_notes(self.scale)]

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY" if self.scale.levels is None else "sightline reuse STUDY",)

    def facts(self) -> dict[str, Any]:
        """The measure, the scale, and how many sets have no value or a blank image."""
        made = {"measure": self.measure, "without": dict(self.without), "blank": self.blank}
        levels = None if self.scale.levels is None else list(self.scale.levels)
        return {**made, "reference": reference_facts(self.reference), "cut_offs": levels}

    def figures(self, colours: Colours | None = None) -> dict[str, Figure]:
        """The systems, the most alike first, with the cut-offs of the levels as lines."""
        order = sorted(self.systems, key=lambda each: -(each.similarity.value or 0))
        known = [(each.system, each.similarity) for each in order if each.similarity.value is not None]
        levels = self.scale.levels or ()
        figure = similarity_figure(known, axis=self.axis, cut_offs=levels, colours=colours)
        return {"systems": figure} if known else {}

    def tables(self) -> dict[str, Table]:
        columns = [Column("system"), Column("similarity", estimate=True)]
        systems = [(each.system, each.similarity) for each in self.systems]
        scaled, graded = (name in self.prompts.columns for name in ("low", "level"))
        rows: list[tuple[Cell, ...]] = []
        for row in self.prompts.iter_rows(named=True):
            value: Cell = row["value"]
            if scaled:
                value = Estimate(row["value"], row["low"], row["high"], row["images"])
            grade = (row["level"],) if graded else ()
            rows.append((self.texts.get(row["prompt_id"], ""), row["system"], value, *grade))
        of_prompts = [Column("prompt"), Column("system"), Column("similarity", estimate=scaled)]
        of_prompts += [Column("level")] if graded else []
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
            "Begin the levels of similarity here, as calibrate finds them.",
            metavar="LOW,MEDIUM,HIGH",
            shown=f"those of the study's scale; with a reference {PUBLISHED_WORDS}, those of W1KP",
        ),
    ] = None,
    without_blank: Annotated[bool, WITHOUT_BLANK] = False,
    workers: Annotated[int | None, WORKERS] = None,
    on: Annotated[str | None, ON] = None,
    gpus: Annotated[float | None, GPUS] = None,
    listener: Listener | None = None,
) -> Variability:
    """Measure how alike a system's images of one prompt are.

    Similarity is 1 minus the mean distance over all pairs of a prompt's images; a system's is the mean over
    its prompts with its 95 % interval. With --reference distances are first normalised by a reference
    distribution (W1KP's score), and each prompt has a level. The study keeps the distance, the reference and
    the cut-offs as its scale: reuse, wording, calibrate and the report use it.
    """
    scale = scale_of(study, distance, reference, cut_offs)
    place = place_of(on, workers, gpus)
    found = measured(study, scale, without_blank=without_blank, place=place, listener=listener)
    keep_scale(study, scale)
    return found


def measured(
    study: Study,
    scale: StudyScale,
    *,
    without_blank: bool = False,
    place: Place = HERE,
    listener: Listener | None = None,
) -> Variability:
    """Variability on a scale, which does not become the study's own by that."""
    if not _several(study):
        raise nothing_to_compare(study)
    run(study, registry.configure("of_image", "blank"), place=place, listener=listener)
    if scale.reference is not None:
        return _normalised(study, scale, without_blank, listener)
    measure = registry.configure("of_set", "pairwise_mean", distance=scale.distance)
    run(study, measure, place=place, listener=listener)
    return _as_stored(study, scale, without_blank)


def measured_by(study: Study) -> str:
    """The distance of the study's scale; before it has one, the best by which its images were compared."""
    if (kept := kept_scale(study)) is not None:
        return kept.distance
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
    given = (blocks.answers(study, block, "generator") for block in blocks.blocks(study))
    return pl.concat(
        part.join(blank, on="image_id", how="semi").select("prompt_id", "system_id").unique()
        for part in given
    )


def read_variability(
    study: Study, *, distance: str | None = None, without_blank: bool = False
) -> Variability:
    """What the study holds, on its scale; nothing is computed from images.

    Another distance than that of the scale is read as it is, without a reference.
    """
    kept = kept_scale(study)
    if kept is None or not same_distance(distance or kept.distance, kept.distance):
        kept = StudyScale(distance or measured_by(study))
    if kept.reference is not None:
        return _normalised(study, kept, without_blank, None, stored=True)
    return _as_stored(study, kept, without_blank)


def _as_stored(study: Study, scale: StudyScale, without_blank: bool) -> Variability:
    """The stored scores of distances as they are."""
    distance = scale.distance
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
    if scale.levels is not None:
        grades = [LEVELS[int(place)] for place in level(prompts["value"].to_numpy(), scale.levels)]
        prompts = prompts.with_columns(pl.Series("level", grades, dtype=pl.String))
    systems_shown = _by_system(known, *measure.spec.range)
    return Variability(name, measure.identity, systems_shown, prompts, without, scale, blank, texts_of(study))


def texts_of(study: Study) -> dict[int, str]:
    """The text of every prompt by id."""
    return dict(reading.prompts(study).select("prompt_id", "text").iter_rows())


def _several(study: Study) -> bool:
    """Whether a generator gave any prompt two images whose files are here."""
    return bool((listing.sets_of_images(study)["there"] > 1).any())


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
    sets = listing.sets_of_images(study)
    systems = sets["system_id"].n_unique()
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
    scale: StudyScale,
    without_blank: bool,
    listener: Listener | None,
    *,
    stored: bool = False,
) -> Variability:
    """W1KP's scores; with `stored` of those sets alone whose distances the study holds."""
    measure, cut_offs = configured(scale.distance), scale.levels
    assert cut_offs is not None
    rows: list[tuple[object, ...]] = []
    without: Counter[str] = Counter()
    sets = set_distances(study, measure, reference=scale.reference, stored=stored, listener=listener)
    for each in sets:
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
    name = f"W1KP score, {measure.short}"
    if not rows:
        # Where nothing at all is stored, all reasons are that the images have changed, or are too few.
        raise _without_value(study, name, scale.distance, stored and CHANGED in without, dict(without))
    found = pl.DataFrame(rows, schema=NORMALISED, orient="row")
    prompts, reasons, blank = _shown(study, found, dict(without) | _absent(study), without_blank)
    return Variability(
        name,
        measure.identity,
        _by_system(prompts, 0.0, 1.0),
        prompts.sort("value", "prompt_id"),
        reasons,
        scale,
        blank,
        texts_of(study),
    )


def _by_system(prompts: pl.DataFrame, low: float | None, high: float | None) -> list[SystemSimilarity]:
    groups = prompts.sort("system_id").group_by(["system"], maintain_order=True)
    return [
        SystemSimilarity(str(system), mean_interval(np.asarray(rows["value"]), low=low, high=high))
        for (system,), rows in groups
    ]
