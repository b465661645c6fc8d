"""Measures against people: each at every level, against each other, in groups and on held-out prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from sightline.comparison.items import KEY, Matched, Scored, Truths, Units, matched, rows_of, shared
from sightline.errors import UsageError, near
from sightline.estimate import Direction, Estimate
from sightline.statistics.held_out import held_out
from sightline.statistics.levels import Level, at_levels, difference, pooled, within_prompts
from sightline.statistics.significance import holm
from sightline.study import listing, reading
from sightline.study.study import Study

STANDS_IN = 0.7
"""The rank correlation with people that a measure must surely reach to take their place."""
LEAST_SHARED = 6
"""Prompts that two measures must share to be tested: sign flips of fewer cannot reach a p of .05."""
WORDS = ("up to 5 words", "6 to 10 words", "11 to 20 words", "over 20 words")


@dataclass(frozen=True)
class MeasureTrust:
    """A measure against a question at every level; `sign` is -1 where lower should go with higher.

    `reversed` are the pairs of systems that people and the measure order significantly the other way round,
    people's better one first.
    """

    measure: str
    kind: str
    direction: Direction
    question: str
    levels: Mapping[str, Level]
    sign: float = 1.0
    reversed: Sequence[tuple[str, str]] = ()
    drawn: str = "prompts"
    """What n counts: prompts, or where nothing is an answer images or the references they were made from."""

    @property
    def level(self) -> str:
        """The headline: within prompts where prompts have several answers, else pooled."""
        return "within prompts" if "within prompts" in self.levels else "pooled"

    @property
    def correlation(self) -> Estimate:
        """Spearman's rank correlation at the headline level."""
        return self.levels[self.level].spearman

    @property
    def agreement(self) -> float:
        """The correlation in the direction of agreement, the least possible where there is none."""
        return -1.0 if self.correlation.value is None else self.sign * self.correlation.value

    @property
    def stands_in(self) -> bool:
        """Whether the measure surely follows people closely, and nowhere reverses their order of systems.

        A measure without a direction cannot: it does not say what is good.
        """
        ends = (self.correlation.low, self.correlation.high)
        sure = ends[0] if self.sign > 0 else None if ends[1] is None else -ends[1]
        return self.direction != "none" and sure is not None and sure >= STANDS_IN and not self.reversed

    @property
    def worthless(self) -> bool:
        """Whether the interval leaves open that the measure agrees with people by chance, or not at all."""
        if self.correlation.low is None or self.correlation.high is None:
            return False
        return (self.correlation.low if self.sign > 0 else -self.correlation.high) <= 0

    @property
    def simpson(self) -> bool:
        """Whether all items together say the opposite of the answers to one prompt."""
        first, second = self.levels["pooled"].spearman, self.correlation
        if first.low is None or first.high is None or second.low is None or second.high is None:
            return False
        return first.low * first.high > 0 and second.low * second.high > 0 and first.low * second.low < 0


@dataclass(frozen=True)
class MeasureDifference:
    """How much more closely one measure follows people than another on the items of both; p after Holm."""

    question: str
    level: str
    first: str
    second: str
    difference: Estimate
    p: float | None
    p_holm: float | None


@dataclass(frozen=True)
class GroupTrust:
    """A measure against a question in one group of items."""

    question: str
    measure: str
    group: str
    level: Level


@dataclass(frozen=True)
class HeldOut:
    """SRoCC, KRoCC, PLCC and RMSE on n held-out prompts: means and standard deviations over splits."""

    question: str
    measure: str
    means: Sequence[float]
    spreads: Sequence[float]
    n: int


def all_matched(
    study: Study, truths: Truths, measures: Sequence[Scored], units: Units
) -> list[tuple[Scored, Matched]]:
    """The measures that have a value of what people judged; of a question the smallest things alone."""
    found: list[tuple[Scored, Matched]] = []
    for each in measures:
        on = matched(study, truths, each, units)
        if on is not None and not (each.kind == "question" and found):
            found.append((each, on))
    return found


def trusted(
    each: Scored, on: Matched, question: str, direction: Direction, systems: Mapping[int, str]
) -> MeasureTrust:
    directed = "none" not in (each.direction, direction)
    sign = None if not directed else 1.0 if each.direction == direction else -1.0
    read = at_levels(on.items, on.once, on.distinct, sign)
    numbers = np.unique(on.items.system)
    names = [systems[int(number)] for number in numbers] if numbers[0] >= 0 else []
    up = direction != "lower"
    turned = [
        (names[pair.first], names[pair.second]) if up else (names[pair.second], names[pair.first])
        for pair in read.pairs
        if pair.people * pair.measure < 0
    ]
    return MeasureTrust(
        each.name, each.kind, each.direction, question, read.levels, read.sign, turned, on.items.drawn
    )


def tested(rows: Sequence[MeasureTrust], items: Sequence[Matched], seed: int) -> list[MeasureDifference]:
    """Every two measures that are about the same things, on the items that both have a value of."""
    found, made = [], []
    ordered = sorted(zip(rows, items, strict=True), key=lambda each: -each[0].agreement)
    for (one, own), (other, its) in combinations(ordered, 2):
        about_same = own.frame["image_id"].max() == 0, its.frame["image_id"].max() == 0
        if one.level != other.level or about_same[0] != about_same[1]:
            continue
        if one.correlation.value is None or other.correlation.value is None:
            continue
        levels = one.levels[one.level], other.levels[other.level]
        parts = shared(own, its)
        if parts[0] is not own:
            if parts[0].frame["unit"].n_unique() < LEAST_SHARED:
                continue
            levels = _headline(parts[0], one.level), _headline(parts[1], one.level)
        found.append(difference(*levels, (one.sign, other.sign), seed))
        made.append((one, other))
    adjusted = holm([np.nan if each.p is None else each.p for each in found])
    return [
        MeasureDifference(
            one.question,
            one.level,
            one.measure,
            other.measure,
            gap.estimate,
            gap.p,
            None if np.isnan(p) else float(p),
        )
        for (one, other), gap, p in zip(made, found, adjusted, strict=True)
    ]


def _headline(on: Matched, level: str) -> Level:
    if level == "pooled":
        return pooled(on.once or on.items)
    return within_prompts(on.items if on.distinct is None else on.items.of(on.distinct))


def labels(study: Study, per: str) -> tuple[str, dict[int, str]]:
    """What rows are grouped by, prompt_id, system_id or image_id, and the label of each.

    Where prompts and images have a tag of this name, it is that of the prompts.
    """
    tags = reading.tags(study)
    names = tags["name"].unique().sort().to_list()
    of_images = reading.image_tags(study).filter(pl.col("prompt_id") == 0)
    image_names = of_images["name"].unique().sort().to_list()
    prompts = reading.prompts(study)
    if per in names:
        return "prompt_id", dict(tags.filter(pl.col("name") == per).select("prompt_id", "value").iter_rows())
    if per == "system":
        return "system_id", dict(reading.systems(study).select("system_id", "system").iter_rows())
    if per == "suite":
        return "prompt_id", dict(prompts.select("prompt_id", "suite").iter_rows())
    if per == "words":
        counts = {key: len(text.split()) for key, text in prompts.select("prompt_id", "text").iter_rows()}
        return "prompt_id", {key: WORDS[int(np.searchsorted((5, 10, 20), n))] for key, n in counts.items()}
    if per in image_names:
        own = of_images.filter(pl.col("name") == per)
        return "image_id", dict(own.select("image_id", "value").iter_rows())
    if per == "collection":
        return "image_id", dict(reading.images(study).select("image_id", "collection").iter_rows())
    settings = listing.answer_settings(study)
    values = settings.filter(pl.col("name") == per)
    if len(values):
        # A system that was run at one value alone is that value; else the images tell.
        alone = values.group_by("system_id").agg(pl.col("value").n_unique())["value"].max() == 1
        column = "system_id" if alone else "image_id"
        return column, dict(values.select(column, "value").iter_rows())
    known = [*names, *image_names, *settings["name"].unique().sort().to_list()]
    known += ["system", "suite", "words", "collection"]
    raise UsageError(f"no prompt, image or answer has a tag or setting {per!r}", remedy=near(per, known))


def grouped(
    rows: Sequence[MeasureTrust], items: Sequence[Matched], label: tuple[str, dict[int, str]]
) -> list[GroupTrust]:
    column, names = label
    made = []
    for row, on in zip(rows, items, strict=True):
        if not on.frame[column].is_in(list(names)).any():
            continue
        own = on.frame[column].replace_strict(names, default="none", return_dtype=pl.String).to_numpy()
        level = "pooled" if column == "system_id" else row.level
        for group in [*dict.fromkeys(names.values()), "none"]:
            chosen_rows = np.flatnonzero(own == group)
            if chosen_rows.size and not (column == "system_id" and group == "none"):
                found = _headline(rows_of(on, chosen_rows), level)
                made.append(GroupTrust(row.question, row.measure, group, found))
    return made


def on_splits(
    rows: Sequence[MeasureTrust], items: Sequence[Matched], splits: int, seed: int
) -> list[HeldOut]:
    """Grouped splits of the answers (or what else most measures are about) that all measures have."""
    known = [(row, on) for row, on in zip(rows, items, strict=True) if np.isfinite(on.items.mapped).all()]
    kinds = [on.frame["image_id"].max() == 0 for _, on in known]
    made = []
    for kind in dict.fromkeys(kinds):
        own = [pair for pair, its in zip(known, kinds, strict=True) if its == kind]
        most = max(len(on.frame) for _, on in own)
        own = [(row, on) for row, on in own if 2 * len(on.frame) >= most]
        frame = own[0][1].frame.select(*KEY, "people", "unit")
        for number, (_, on) in enumerate(own):
            frame = frame.join(on.frame.select(*KEY, pl.col("measure").alias(str(number))), on=KEY)
        frame = frame.sort(KEY)
        unit = frame["unit"].to_numpy()
        if frame["unit"].n_unique() < 5:
            continue
        features = frame.select([str(number) for number in range(len(own))]).to_numpy()
        found = held_out(features, frame["people"].to_numpy(), unit, splits, seed)
        names = [row.measure for row, _ in own] + ["all combined"]
        n = max(1, round(0.2 * frame["unit"].n_unique()))
        for index in range(found.shape[1]):
            values = found[:, index]
            spreads = values.std(axis=0, ddof=min(1, splits - 1)).tolist()
            made.append(HeldOut(own[0][0].question, names[index], values.mean(axis=0).tolist(), spreads, n))
    return made
