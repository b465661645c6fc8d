"""Reuse: how many images is a prompt good for before they repeat, and which prompts deserve more?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline.errors import DataError, UsageError, near
from sightline.estimate import Estimate
from sightline.statistics import reuse as arithmetic
from sightline.statistics.calibration import PUBLISHED
from sightline.statistics.reference import Reference
from sightline.statistics.reuse import Curve, Reusability
from sightline.statistics.sets import closest_pair, expected_minimum
from sightline.study import reading
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.reference import refuse_other
from sightline.variability.set_distances import SetDistances, configured, set_distances
from sightline.variability.variability import BLANK, best_distance, measured_blank, nothing_to_compare


@dataclass(frozen=True)
class OfPrompt:
    """One system's images of one prompt.

    `curve` is the k-expected maximum similarity from k = 2, `error` its Monte-Carlo error; `before` how many
    images come before it reaches the cut-off, None where those at hand do not. `repeated` is the share of
    images that have a double, and so the chance that one more repeats. `closest` are the places, from 0, of
    the two most alike.
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
class OfGroup:
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
class Reuse:
    """What became of every prompt, those that deserve more first, and the curves of groups of them."""

    distance: str
    reference: Reference | None
    cut_off: float
    prompts: Sequence[OfPrompt]
    groups: Sequence[OfGroup]
    without: Mapping[str, int]


def reuse(
    study: Study,
    *,
    distance: str | None = None,
    reference: Reference | None = None,
    cut_off: float = PUBLISHED[-1],
    tag: str | None = None,
    images: int | None = None,
    without_blank: bool = False,
    permutations: int = 1000,
    seed: int = 0,
    listener: Listener | None = None,
) -> Reuse:
    """How far prompts can be used again before two of their images look alike.

    Two images look alike where their similarity reaches `cut_off`, the one of "high". `tag` also groups
    prompts by that tag; `images` leaves out of the curves prompts with fewer, so that they can be longer than
    the smallest set. Without `reference` distances are as they are, and the cut-off must be of their scale.
    """
    measure = configured(distance or (reference.distance if reference is not None else best_distance()))
    if reference is not None:
        refuse_other(reference, measure)
    if images is not None and images < 2:
        raise UsageError(f"a curve over {images} images", remedy="At least 2.")
    prompts: list[OfPrompt] = []
    without: Counter[str] = Counter()
    blank = measured_blank(study, listener) if without_blank else set()
    for each in set_distances(study, measure, reference=reference, listener=listener):
        if each.matrix is None:
            without[str(each.reason)] += 1
        elif (each.prompt_id, each.system_id) in blank:
            without[BLANK] += 1
        else:
            prompts.append(_of_prompt(each, each.matrix, cut_off, permutations, seed))
    if not prompts:
        raise nothing_to_compare(study)
    groups = [
        _of_group(study, system, value, mine, images, cut_off, seed)
        for (system, value), mine in _grouped(study, prompts, tag).items()
    ]
    ordered = sorted(prompts, key=lambda one: (one.repeated.value or 0.0, float(one.curve[-1])))
    return Reuse(measure.short, reference, cut_off, ordered, groups, dict(without))


def _of_prompt(
    each: SetDistances, matrix: np.ndarray, cut_off: float, permutations: int, seed: int
) -> OfPrompt:
    # Orders of their own for each set: errors shared by all sets would not average out over them.
    chance = (seed, each.prompt_id, each.system_id)
    found = expected_minimum(matrix, permutations=permutations, seed=chance)
    # Similarity reaches the cut-off where distance is at most this; rounding must not part equal ones.
    limit = float(np.nextafter(1 - cut_off, 1))
    one, other = closest_pair(matrix)
    curve = 1 - found.value
    return OfPrompt(
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
    study: Study, prompts: Sequence[OfPrompt], tag: str | None
) -> dict[tuple[str, str | None], list[OfPrompt]]:
    groups: dict[tuple[str, str | None], list[OfPrompt]] = {}
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
    prompts: Sequence[OfPrompt],
    images: int | None,
    cut_off: float,
    seed: int,
) -> OfGroup:
    rows, kept = arithmetic.in_common([each.curve for each in prompts], images)
    if kept.size == 0:
        most = max(each.images for each in prompts)
        raise DataError(
            f"no prompt of {system} has {images} images; the most is {most}",
            where=study.name,
            remedy=f"Ask for {most} or fewer.",
        )
    return OfGroup(
        system,
        tag,
        arithmetic.mean_curve(rows),
        arithmetic.reusability(rows, cut_off, seed=seed),
        arithmetic.first_repeat(
            [each.pairs_alike for each in prompts], np.array([each.images for each in prompts])
        ),
        len(prompts) - kept.size,
    )
