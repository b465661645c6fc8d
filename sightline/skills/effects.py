"""What match rates depend on: the number of objects, common or rare pairs, and simpler skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sightline.errors import UsageError, near
from sightline.estimate import Estimate
from sightline.skills.matches import Matches
from sightline.statistics.match_rates import (
    Interaction,
    LinkedPoint,
    Slope,
    difference_of_groups,
    interaction,
    linked_points,
    match_rate,
    rates_by,
    slope,
    unit_means,
)
from sightline.statistics.significance import holm
from sightline.study import reading
from sightline.study.study import Study

FACTORS = (
    *("objects", "number", "pairs", "depth", "words", "parts", "absent", "edits", "condition", "length"),
    *("num_objects", "object_num", "common", "num_features"),
)
"""Tags of our suites and of GIMBRR that vary what a skill's prompts ask for."""
LEAST_LEVEL = 2
"""Prompts that a level must have to be shown."""
MOST_LEVELS = 24
ORDERED = ("common", "rare"), ("True", "False")
"""Levels that are compared in this order, whatever others there are."""


@dataclass(frozen=True)
class FactorLevel:
    """The match rate at one level of a factor: all systems together, and each."""

    skill: str
    factor: str
    level: str
    rate: Estimate
    systems: Mapping[str, Estimate]


@dataclass(frozen=True)
class FactorEffect:
    """What a factor does within a skill: the change of the match rate per step, or between two levels."""

    skill: str
    factor: str
    what: str
    effect: Estimate
    p: float | None
    p_adjusted: float | None = None


@dataclass(frozen=True)
class SimplerSkills:
    """Match rates of skills on those of the simpler prompts they build on: a point per skill and system."""

    points: Sequence[LinkedPoint]
    slope: Slope


@dataclass(frozen=True)
class RelatedSkills:
    """Rates of related and of other skills on that of one skill, and whether the slopes differ."""

    on: str
    related: Slope
    unrelated: Slope
    interaction: Interaction | None


def factor_effects(
    study: Study, matches: Matches, factors: Sequence[str]
) -> tuple[list[FactorLevel], list[FactorEffect]]:
    """Rates by level of each factor, within each skill whose prompts vary in it; p-values after Holm."""
    tags = reading.tags(study)
    names = set(tags["name"].unique().to_list())
    for name in factors:
        if name not in names:
            raise UsageError(f"no prompt has a tag {name!r}", remedy=near(name, sorted(names)))
    levels: list[FactorLevel] = []
    effects: list[FactorEffect] = []
    for name in factors or [each for each in FACTORS if each in names]:
        own = dict(tags.filter(pl.col("name") == name).select("prompt_id", "value").iter_rows())
        level = np.array([own.get(int(prompt), "") for prompt in matches.prompt], dtype=np.str_)
        for skill in matches.skills:
            part = matches.where((matches.skill == skill) & (level != ""))
            at = level[(matches.skill == skill) & (level != "")]
            found = _levels(part, at, skill, name)
            if len(found) > 1:
                levels += found
                effect = _effect(part, at, skill, name, [each.level for each in found])
                effects += [effect] if effect is not None else []
    adjusted = holm([np.nan if each.p is None else each.p for each in effects])
    return levels, [
        replace(each, p_adjusted=None if np.isnan(p) else float(p))
        for each, p in zip(effects, adjusted, strict=True)
    ]


def _levels(part: Matches, at: np.ndarray, skill: str, factor: str) -> list[FactorLevel]:
    known = ~np.isnan(part.match)
    made = []
    for level in _in_order(np.unique(at[known]).tolist()):
        rows = (at == level) & known
        if np.unique(part.unit[rows]).size < LEAST_LEVEL:
            continue
        systems = rates_by(part.match[rows], part.system[rows].tolist(), part.unit[rows])
        rate = match_rate(part.match[rows], part.unit[rows])
        made.append(FactorLevel(skill, factor, level, rate, systems))
    return made if len(made) <= MOST_LEVELS else []


def _effect(
    part: Matches, at: np.ndarray, skill: str, factor: str, levels: Sequence[str]
) -> FactorEffect | None:
    """The slope per step of a number, or the difference of two levels, over families of prompts."""
    inside = np.isin(at, list(levels))
    numbers = _numbers(levels)
    if numbers is not None and len(levels) > 2:
        units, means = unit_means(part.match[inside], part.unit[inside])
        step = {
            int(unit): numbers[str(each)] for unit, each in zip(part.unit, at, strict=True) if each in numbers
        }
        found = slope([step[int(unit)] for unit in units], means)
        return FactorEffect(skill, factor, "per step", found.slope, found.p)
    pair = next((both for both in ORDERED if set(both) <= set(levels)), None)
    if pair is None and len(levels) != 2:
        return None
    first, second = pair or levels
    groups = [unit_means(part.match[at == each], part.unit[at == each])[1] for each in (first, second)]
    gap, p = difference_of_groups(*groups)
    return FactorEffect(skill, factor, f"{first} − {second}", gap, p)


def _numbers(levels: Sequence[str]) -> dict[str, float] | None:
    try:
        return {each: float(each) for each in levels}
    except ValueError:
        return None


def _in_order(levels: Sequence[str]) -> list[str]:
    numbers = _numbers(levels)
    return sorted(levels, key=lambda each: numbers[each]) if numbers is not None else sorted(levels)


def on_simpler_skills(matches: Matches, links: Mapping[int, frozenset[int]]) -> SimplerSkills | None:
    """Skills whose prompts build on simpler ones, against the rates of these; None where nothing is linked.

    The simplest prompts are those that others build on and that build on none themselves.
    """
    linked = {to for each in links.values() for to in each} - links.keys()
    built = [int(prompt) in links for prompt in matches.prompt]
    skills = list(dict.fromkeys(s for s, has in zip(matches.skill.tolist(), built, strict=True) if has))
    points = linked_points(
        matches.match,
        matches.prompt.tolist(),
        matches.system.tolist(),
        matches.skill.tolist(),
        links,
        [int(prompt) in linked for prompt in matches.prompt],
        tasks=skills,
        systems=matches.systems,
    )
    if not points:
        return None
    return SimplerSkills(points, slope([each.simpler for each in points], [each.rate for each in points]))


def on_one_skill(
    matches: Matches, on: str, related: Sequence[str], unrelated: Sequence[str]
) -> RelatedSkills:
    """Rates of related and of other skills on that of one skill, a point per skill and system."""
    for name in (on, *related, *unrelated):
        if name not in matches.skills:
            raise UsageError(f"no prompt tests {name!r}", remedy=near(name, matches.skills))
    keys = list(zip(matches.skill.tolist(), matches.system.tolist(), strict=True))
    rates = {key: each.value for key, each in rates_by(matches.match, keys).items()}
    others = unrelated or [name for name in matches.skills if name != on and name not in related]
    rows = [
        (rates[on, system], rates[skill, system], float(skill in related))
        for skill in (*related, *others)
        for system in matches.systems
        if rates.get((on, system)) is not None and rates.get((skill, system)) is not None
    ]
    x, y, kind = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return RelatedSkills(
        on, slope(x[kind > 0], y[kind > 0]), slope(x[kind == 0], y[kind == 0]), interaction(x, kind, y)
    )
