"""Reuse: how many images is a prompt good for before they repeat?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Estimate, absent
from sightline.rendering.blocks import Figure
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics import reuse as arithmetic
from sightline.statistics.reference import Reference
from sightline.statistics.reuse import Curve, Reusability
from sightline.statistics.sets import closest_pair, expected_minimum
from sightline.study import reading
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.charts import Colours, ReuseCurve, means_of, reuse_figure
from sightline.variability.scale import (
    DISTANCE,
    REFERENCE,
    WITHOUT_BLANK,
    level_notes,
    missing_notes,
    reference_facts,
    reference_notes,
    scale_of,
)
from sightline.variability.set_distances import SetDistances, configured, set_distances
from sightline.variability.store import StudyScale
from sightline.variability.variability import (
    BLANK,
    SHOWN,
    Variability,
    measured_blank,
    nothing_to_compare,
    texts_of,
)
from sightline.verbs import SEED, option, verb

CURVE_SETS = 30
"""Prompts of a system behind its curve in a report, which computes little."""


@dataclass(frozen=True)
class PromptReuse:
    """One system's images of one prompt.

    `curve` is the k-expected maximum similarity from k = 2, `error` its Monte-Carlo error; `before` how many
    images come before it reaches the cut-off, None where those at hand do not. `repeated` is the proportion
    of images that have a double, and so the probability that one more repeats. `closest` are the places,
    from 0, of the two most alike.
    """

    prompt_id: int
    system: str
    images: int
    curve: np.ndarray
    error: np.ndarray
    before: int | None
    repeated: Estimate
    pairs_alike: int
    closest: tuple[int, int]

    @property
    def verdict(self) -> str:
        """deserves more, repeating, or exhausted."""
        return arithmetic.verdict(self.repeated.value or 0.0)


@dataclass(frozen=True)
class GroupReuse:
    """The prompts of a system, or those among them with one tag.

    `left_out` counts prompts with fewer images than the curve is long. `first_repeat` is about how many
    images come before two look alike, seen from how often pairs do: it may look past the images at hand.
    """

    system: str
    tag: str | None
    curve: Curve
    reusable: Reusability
    first_repeat: float | None
    left_out: int


@dataclass(frozen=True)
class Reuse(Result):
    """The outcome of every prompt, those that deserve more first, and the curves of groups of them.

    `cut_off` is the similarity from which two images repeat each other: that of high on the scale, or as it
    was given.
    """

    distance: str
    scale: StudyScale
    cut_off: float
    prompts: Sequence[PromptReuse]
    groups: Sequence[GroupReuse]
    without: Mapping[str, int]
    texts: Mapping[int, str] = field(default_factory=dict)

    @property
    def reference(self) -> Reference | None:
        """What distances are normalised by."""
        return self.scale.reference

    @property
    def levels(self) -> tuple[float, ...]:
        """The cut-offs of all levels, where the cut-off is that of their highest."""
        known = self.scale.levels or ()
        return known if known and known[-1] == self.cut_off else ()

    @property
    def sentence(self) -> str:
        tally = Counter(each.verdict for each in self.prompts)
        counted = ", ".join(f"{word}: {n:,}" for word, n in tally.items())
        return f"Of {len(self.prompts):,} sets of images {counted}."

    @property
    def notes(self) -> Sequence[str]:
        said = [*missing_notes(self.without), *reference_notes(self.reference)]
        return [*said, *level_notes(self.scale)] if self.levels else said

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def facts(self) -> dict[str, Any]:
        """The distance, the scale and the cut-off."""
        made = {"distance": self.distance, "cut_off": self.cut_off, "without": dict(self.without)}
        return {**made, "reference": reference_facts(self.reference)}

    def figures(self, colours: Colours | None = None) -> dict[str, Figure]:
        """The curves of the systems with the cut-offs as lines."""
        groups = [each for each in self.groups if each.tag is None and each.curve.k.size > 1]
        curves = [ReuseCurve(each.curve, each.reusable, each.system) for each in groups]
        if not curves:
            return {}
        axis = curve_axis(self.scale)
        figure = reuse_figure(curves, high=self.cut_off, levels=self.levels, axis=axis, colours=colours)
        return {"curve": figure}

    def tables(self) -> dict[str, Table]:
        return {"prompts": self._prompts(), "groups": self._groups(), "curves": self._curves()}

    def _prompts(self) -> Table:
        columns = [
            Column("prompt"),
            Column("system"),
            Column("images"),
            Column("verdict"),
            Column("repeated", "probability that one more repeats", format="%", estimate=True),
            Column("before", "images before a repeat"),
            Column("closest", "similarity of the two most alike"),
            Column("pair", "which are images"),
        ]
        rows = [
            (
                self.texts.get(each.prompt_id, ""),
                each.system,
                each.images,
                each.verdict,
                each.repeated,
                _images(each.before, each.images),
                float(each.curve[-1]),
                " and ".join(str(place + 1) for place in each.closest),
            )
            for each in self.prompts
        ]
        return Table(columns, rows, "Prompts, those that deserve more images first", SHOWN)

    def _groups(self) -> Table:
        columns = [
            Column("system"),
            Column("tag"),
            Column("prompts"),
            Column("left_out", "with fewer images"),
            Column("before", "images before a repeat"),
            Column("interval", "95 % interval"),
            Column("first_repeat", "first repeat at about image", format=".0f"),
        ]
        rows = [
            (
                each.system,
                each.tag or "",
                each.curve.prompts,
                each.left_out,
                _images(each.reusable.images, each.reusable.most),
                _limits(each.reusable),
                absent("no two images look alike") if each.first_repeat is None else each.first_repeat,
            )
            for each in self.groups
        ]
        return Table(columns, rows, f"Reusability: images before the two most alike reach {self.cut_off:g}")

    def _curves(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (each.system, each.tag or "", k, mean) for each in self.groups for k, mean in means_of(each.curve)
        ]
        columns = [Column("system"), Column("tag"), Column("k"), Column("similarity", estimate=True)]
        return Table(columns, rows, "Similarity of the two most alike of k images", SHOWN)


def curve_axis(scale: StudyScale) -> str:
    """What the curve of reuse is of."""
    return "similarity" if scale.reference is None else "W1KP score"


def read_curves(study: Study, found: Variability) -> list[ReuseCurve]:
    """The curve of every system over some of its prompts, from the distances that the study holds."""
    keys = {
        (int(prompt), int(system))
        for rows in found.prompts.sort("prompt_id").partition_by("system_id")
        for prompt, system in rows.gather_every(-(-rows.height // CURVE_SETS))
        .select("prompt_id", "system_id")
        .iter_rows()
    }
    measure, by_system = configured(found.scale.distance), dict[str, list[np.ndarray]]()
    for each in set_distances(study, measure, reference=found.scale.reference, stored=True):
        if each.matrix is not None and (each.prompt_id, each.system_id) in keys:
            curve = 1 - expected_minimum(each.matrix, seed=(0, each.prompt_id, each.system_id)).value
            by_system.setdefault(each.system, []).append(curve)
    made = [(system, arithmetic.in_common(curves)[0]) for system, curves in sorted(by_system.items())]
    return [ReuseCurve(arithmetic.mean_curve(rows), None, name) for name, rows in made if rows.shape[1] > 1]


def _images(before: int | None, most: int) -> str:
    return f"more than {most}" if before is None else str(before)


def _limits(found: Reusability) -> Cell:
    if not found.interval:
        return absent("one prompt has no spread")
    if found.low is None:
        return _images(None, found.most)
    return f"{found.low} to {_images(found.high, found.most)}"


@verb("measure")
def reuse(
    study: Study,
    *,
    distance: Annotated[str | None, DISTANCE] = None,
    reference: Annotated[str | Reference | None, REFERENCE] = None,
    cut_off: Annotated[
        float | None,
        option(
            "Count two images as repeats from this similarity on, as calibrate finds it.",
            metavar="SIMILARITY",
            shown="where the level high of the scale begins",
        ),
    ] = None,
    tag: Annotated[
        str | None, option("Also group the prompts by the values of this tag.", metavar="NAME")
    ] = None,
    images: Annotated[
        int | None,
        option("Draw curves up to this many images.", "--k", shown="as many as all prompts have", least=2),
    ] = None,
    without_blank: Annotated[bool, WITHOUT_BLANK] = False,
    permutations: int = 1000,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> Reuse:
    """Estimate how many images a prompt is good for before they repeat.

    Two images repeat each other where their similarity reaches the cut-off of "high" on the study's scale, as
    variability keeps it, or on the one given. Where distances are not normalised, the cut-off must be given.
    Prompts with fewer than --k images are left out of the curves.
    """
    if cut_off is not None and not -math.inf < cut_off <= 1:
        raise UsageError(f"the cut-off is {cut_off}", remedy="A similarity, 1 at the most.")
    scale = scale_of(study, distance, reference)
    if cut_off is None and scale.levels is None:
        raise UsageError(
            "reuse needs a scale to say when two images look alike",
            remedy="--reference sample, --reference FILE of your own (fit-reference), or --cut-off; "
            "sightline variability STUDY --reference FILE keeps it in the study.",
        )
    level = cut_off if cut_off is not None else (scale.levels or ())[-1]
    measure = configured(scale.distance)
    if images is not None and images < 2:
        raise UsageError(f"a curve over {images} images", remedy="At least 2.")
    prompts: list[PromptReuse] = []
    without: Counter[str] = Counter()
    blank = measured_blank(study, listener) if without_blank else set()
    for each in set_distances(study, measure, reference=scale.reference, listener=listener):
        if each.matrix is None:
            without[str(each.reason)] += 1
        elif (each.prompt_id, each.system_id) in blank:
            without[BLANK] += 1
        else:
            prompts.append(_of_prompt(each, each.matrix, level, permutations, seed))
    if not prompts:
        raise nothing_to_compare(study)
    groups = [
        _of_group(study, system, value, mine, images, level, seed)
        for (system, value), mine in _grouped(study, prompts, tag).items()
    ]
    ordered = sorted(prompts, key=lambda one: (one.repeated.value or 0.0, float(one.curve[-1])))
    texts = texts_of(study)
    return Reuse(measure.short, scale, level, ordered, groups, dict(without), texts)


def _of_prompt(
    each: SetDistances, matrix: np.ndarray, cut_off: float, permutations: int, seed: int
) -> PromptReuse:
    # Orders of their own for each set: errors shared by all sets would not average out over them.
    chance = (seed, each.prompt_id, each.system_id)
    found = expected_minimum(matrix, permutations=permutations, seed=chance)
    # Similarity reaches the cut-off where distance is at most this; rounding must not part equal ones.
    limit = float(np.nextafter(1 - cut_off, 1))
    one, other = closest_pair(matrix)
    curve = 1 - found.value
    return PromptReuse(
        each.prompt_id,
        each.system,
        len(each.images),
        curve,
        found.error,
        arithmetic.before_crossing(curve, cut_off),
        arithmetic.repeated(matrix, limit),
        arithmetic.pairs_alike(matrix, limit),
        (one, other),
    )


def _grouped(
    study: Study, prompts: Sequence[PromptReuse], tag: str | None
) -> dict[tuple[str, str | None], list[PromptReuse]]:
    groups: dict[tuple[str, str | None], list[PromptReuse]] = {}
    for each in prompts:
        groups.setdefault((each.system, None), []).append(each)
    if tag is None:
        return groups
    tags = reading.tags(study)
    value = dict(tags.filter(pl.col("name") == tag).select("prompt_id", "value").iter_rows())
    if not value:
        raise UsageError(f"no prompt has a tag {tag!r}", remedy=near(tag, tags["name"].unique().to_list()))
    for each in prompts:
        if each.prompt_id in value:
            groups.setdefault((each.system, f"{tag}={value[each.prompt_id]}"), []).append(each)
    return groups


def _of_group(
    study: Study,
    system: str,
    tag: str | None,
    prompts: Sequence[PromptReuse],
    images: int | None,
    cut_off: float,
    seed: int,
) -> GroupReuse:
    rows, kept = arithmetic.in_common([each.curve for each in prompts], images)
    if kept.size == 0:
        most = max(each.images for each in prompts)
        raise DataError(
            f"no prompt of {system} has {images} images; the most is {most}",
            where=study.name,
            remedy=f"Ask for {most} or fewer.",
        )
    return GroupReuse(
        system,
        tag,
        arithmetic.mean_curve(rows),
        arithmetic.reusability(rows, cut_off, seed=seed),
        arithmetic.first_repeat(
            [each.pairs_alike for each in prompts], np.array([each.images for each in prompts])
        ),
        len(prompts) - kept.size,
    )
