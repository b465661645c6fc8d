"""Skill profile: what each system can do and what it cannot, by verdict or by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Estimate, absent
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.radar import LEAST_AXES, radar
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour, system_colours
from sightline.skills.corrected import ALL
from sightline.skills.effects import (
    FactorEffect,
    FactorLevel,
    RelatedSkills,
    SimplerSkills,
    factor_effects,
    on_one_skill,
    on_simpler_skills,
)
from sightline.skills.matches import (
    VERDICT,
    Matches,
    answers_of,
    by_people,
    by_verdict,
    skill_tag,
    stored_verdicts,
)
from sightline.skills.prerequisites import PREREQUISITES, FailedPrompt, failed_prompts, links_of, tally
from sightline.statistics.grouping import Array
from sightline.statistics.match_rates import Slope, match_rate, mcnemar, unit_means
from sightline.statistics.paired import paired_spread
from sightline.statistics.significance import holm
from sightline.study.study import Study
from sightline.verbs import argument, option, verb

SURE = 0.05
SHOWN = 20
NAMED = 5
"""Skills that a sentence names."""
MOSTLY = 0.5
"""The proportion of open answers above which a rate of the others is not drawn."""
MOST_LINES = 6
"""Systems that a radar can show as lines that can be told apart."""


@dataclass(frozen=True)
class SkillRate:
    """A system's match rate on a skill, and the proportion of its answers that nobody could decide."""

    system: str
    skill: str
    rate: Estimate
    unknown: float


@dataclass(frozen=True)
class SkillPair:
    """Two systems on the prompts of one skill, first minus second; p after Holm over all of the table."""

    skill: str
    first: str
    second: str
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    method: str

    @property
    def significant(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted < SURE


@dataclass(frozen=True)
class SkillProfile(Result):
    """Match rates of systems by skill, where they differ, and what failures and differences go with."""

    by: str
    per: str
    systems: Sequence[str]
    skills: Sequence[str]
    rates: Sequence[SkillRate]
    pairs: Sequence[SkillPair]
    levels: Sequence[FactorLevel] = ()
    effects: Sequence[FactorEffect] = ()
    simpler: SimplerSkills | None = None
    related: RelatedSkills | None = None
    failed: Sequence[FailedPrompt] = ()
    notes: Sequence[str] = ()

    def weaknesses(self) -> dict[str, list[str]]:
        """The skills at which another system is significantly better, worst first, by system.

        "all skills" comes last: all of them together.
        """
        found: dict[str, dict[str, float]] = {system: {} for system in self.systems}
        for pair in self.pairs:
            gap = pair.difference.value
            if not pair.significant or gap is None:
                continue
            loser = pair.second if gap > 0 else pair.first
            found[loser][pair.skill] = max(found[loser].get(pair.skill, 0.0), abs(gap))
        return {
            name: sorted(own, key=lambda skill: (skill == ALL, -own[skill])) for name, own in found.items()
        }

    @property
    def sentence(self) -> str:
        if len(self.systems) < 2:
            known = [each for each in self._of(self.systems[0]) if each.rate.value is not None]
            known.sort(key=lambda each: each.rate.value or 0)
            ends = [f"{each.skill} ({100 * (each.rate.value or 0):.0f} %)" for each in known]
            return f"{self.systems[0]} matches least at {ends[0]} and most at {ends[-1]}." if ends else ""
        weak = self.weaknesses()
        said = [
            f"{system} is significantly worse than another system at {_listed(skills)}"
            for system, skills in weak.items()
            if skills
        ]
        fine = [system for system, skills in weak.items() if not skills]
        if fine:
            said.append(f"{_listed(fine)} at no skill" if said else "no system is surely worse at any skill")
        by = f"By {self.by}".replace(f"By {VERDICT} by ", "By verdicts of ")
        return f"{by}: {'; '.join(said)}."

    @property
    def next(self) -> Sequence[str]:
        return ("sightline view STUDY", "sightline report STUDY")

    def _of(self, system: str) -> list[SkillRate]:
        return [each for each in self.rates if each.system == system and each.skill != ALL]

    def _rate(self, skill: str, system: str) -> SkillRate | None:
        return next((each for each in self.rates if (each.skill, each.system) == (skill, system)), None)

    def tables(self) -> dict[str, Table]:
        made = {"profile": self._profile(), "pairs": self._pair_table()}
        if self.effects or self.levels:
            made |= {"effects": self._effect_table(), "levels": self._level_table()}
        if self.simpler is not None or self.related is not None:
            made["regressions"] = self._regression_table()
        if self.simpler is not None:
            made["points"] = self._point_table()
        if self.failed:
            made |= {"prerequisites": self._tally_table(), "failed": self._failed_table()}
        return made

    def _profile(self) -> Table:
        columns = [Column("skill")]
        columns += [Column(f"rate_{name}", name, "higher", estimate=True) for name in self.systems]
        columns += [
            Column("unknown", "cannot tell" if self.by.startswith(VERDICT) else "not judged", format="%")
        ]
        rows: list[list[Cell]] = []
        for skill in [*self.skills, *([ALL] if len(self.skills) > 1 else [])]:
            own = [self._rate(skill, name) for name in self.systems]
            unknown = [each.unknown for each in own if each is not None]
            cells: list[Cell] = [each.rate if each is not None else absent("no answer") for each in own]
            rows.append([skill, *cells, float(np.mean(unknown))])
        return Table(columns, rows, f"Match rates by {self.by}, n prompts")

    def _pair_table(self) -> Table:
        columns = [
            Column("skill"), Column("pair", "systems"), Column("first", detail=True),
            Column("second", detail=True), Column("difference", format="+", estimate=True),
            Column("p", format="p"), Column("p_adjusted", "p after Holm", format="p"),
            Column("significant"), Column("method", detail=True),
        ]  # fmt: skip
        rows = [
            (
                each.skill, f"{each.first} − {each.second}", each.first, each.second, each.difference,
                _or(each.p), _or(each.p_adjusted), each.significant, each.method,
            )
            for each in self.pairs
        ]  # fmt: skip
        return Table(columns, rows, "Differences of systems, first minus second", SHOWN)

    def _effect_table(self) -> Table:
        columns = [
            Column("skill"), Column("factor"), Column("what"),
            Column("effect", "change of the match rate", format="+", estimate=True),
            Column("p", format="p"), Column("p_adjusted", "p after Holm", format="p"),
        ]  # fmt: skip
        rows = [
            (each.skill, each.factor, each.what, each.effect, _or(each.p), _or(each.p_adjusted))
            for each in self.effects
        ]
        return Table(columns, rows, "What the match rate depends on within a skill")

    def _level_table(self) -> Table:
        columns = [Column("skill"), Column("factor"), Column("level")]
        columns += [Column("rate", "all systems", "higher", estimate=True)]
        columns += [Column(f"rate_{name}", name, "higher", estimate=True) for name in self.systems]
        rows: list[tuple[Cell, ...]] = [
            (
                each.skill, each.factor, each.level, each.rate,
                *(each.systems.get(name, absent("no answer")) for name in self.systems),
            )
            for each in self.levels
        ]  # fmt: skip
        return Table(columns, rows, "Match rates by level", SHOWN)

    def _regression_table(self) -> Table:
        columns = [
            Column("model"), Column("slope", format="+", estimate=True), Column("p", format="p"),
            Column("points", "skills x systems"),
        ]  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        if self.simpler is not None:
            rows.append(_slope_row("skills on the simplest prompts they build on", self.simpler.slope))
        if self.related is not None:
            on = self.related.on
            rows.append(_slope_row(f"related skills on {on}", self.related.related))
            rows.append(_slope_row(f"other skills on {on}", self.related.unrelated))
            crossed = self.related.interaction
            if crossed is not None:
                whole: Cell = absent("a test of two slopes")
                rows.append((f"slopes on {on} differ between the two", whole, crossed.p, crossed.df + 4))
        return Table(columns, rows, "Match rates on simpler ones, over skills and systems")

    def _point_table(self) -> Table:
        assert self.simpler is not None
        columns = [Column("skill"), Column("system"), Column("simpler", "simplest prompts it builds on")]
        columns += [Column("rate", "match rate")]
        rows = [(each.task, each.system, each.simpler, each.rate) for each in self.simpler.points]
        return Table(columns, rows, "Skills and the simplest prompts they build on", SHOWN)

    def _tally_table(self) -> Table:
        columns = [Column("system"), Column("skill"), Column("failed", "failed prompts")]
        columns += [Column(name.replace(" ", "_"), name) for name in PREREQUISITES]
        rows: list[tuple[Cell, ...]] = [
            (system, skill, sum(counts.values()), *(counts[name] for name in PREREQUISITES))
            for (system, skill), counts in tally(self.failed).items()
        ]
        return Table(columns, rows, "Failed prompts by the prerequisite that failed as well", SHOWN)

    def _failed_table(self) -> Table:
        columns = [
            Column("system"), Column("skill"), Column("prompt"), Column("rate", "match rate", format="%"),
            Column("prerequisite"), Column("simpler", "simpler prompts that failed"),
        ]  # fmt: skip
        rows = [
            (each.system, each.skill, each.text, each.rate, each.prerequisite, "; ".join(each.failed))
            for each in self.failed
        ]
        return Table(columns, rows, "Every failed prompt that builds on others", SHOWN)

    def _drawn(self, skill: str, system: str) -> Estimate | None:
        """The rate that a chart shows; none where most answers are open, since the others mislead."""
        found = self._rate(skill, system)
        shown = found is not None and found.rate.value is not None and found.unknown <= MOSTLY
        return found.rate if found is not None and shown else None

    def figures(self, colours: Mapping[str, Colour] | None = None) -> dict[str, Figure]:
        """The profile as a radar, where there are enough skills, and as dots with intervals."""
        palette = colours or system_colours(self.systems)
        dots = [
            Dot(skill, rate, system)
            for skill in self.skills
            for system in self.systems
            if (rate := self._drawn(skill, system)) is not None
        ]
        if not dots:
            return {}
        legend = [(name, palette[name].name) for name in self.systems if name in palette]
        made = {}
        shown = [skill for skill in self.skills if any(dot.label == skill for dot in dots)]
        if len(shown) >= LEAST_AXES and len(self.systems) <= MOST_LINES:
            series = {
                system: [
                    None if (rate := self._drawn(skill, system)) is None else rate.value for skill in shown
                ]
                for system in self.systems
            }
            made["radar"] = Figure.of(
                lambda width: radar(shown, series, colours=palette, width=width, what="match rates by skill"),
                f"Match rate of each system by skill ({self.by}): the outermost ring is 100 %.",
                legend,
            )
        left = [skill for skill in self.skills if skill not in shown]
        gone = f" Left out, since most answers are open: {', '.join(left)}." if left else ""
        made["profile"] = Figure.of(
            lambda width: dot_interval(
                dots, axis="match rate", direction="higher", domain=(0, 1), colours=palette, width=width
            ),
            f"Each dot is a match rate, each line its 95 % interval over prompts.{gone}",
            legend,
        )
        return made


@verb("analyse", "skill-profile")
def skill_profile(
    study: Study,
    by: Annotated[
        str | None,
        argument("The question people judged, or verdict.", "[BY]", shown="the newest verdicts"),
    ] = None,
    *,
    per: Annotated[
        str | None, option("Show rates per value of this tag.", metavar="TAG", shown="skill, else task")
    ] = None,
    yes_from: Annotated[
        float | None,
        option("Count a truth from this value on as a match, where the question is not yes or no."),
    ] = None,
    factors: Annotated[
        Sequence[str],
        option(
            "Show the effect of this tag within each skill; repeatable.",
            "--factor",
            metavar="TAG",
            shown="tags such as objects, number and pairs",
        ),
    ] = (),
    on: Annotated[
        str | None, option("Regress other skills on this one, over systems.", metavar="SKILL")
    ] = None,
    related: Annotated[
        Sequence[str], option("Name a skill that is related to it; repeatable.", metavar="SKILL")
    ] = (),
    unrelated: Annotated[
        Sequence[str],
        option("Name a skill that is not related to it; repeatable.", metavar="SKILL", shown="all others"),
    ] = (),
) -> SkillProfile:
    """Show what each system can do and what it cannot.

    Match rates of systems by skill, by verdicts or by people, and between which systems they differ
    (McNemar's test, corrected by Holm); what they depend on, such as the number of objects; how far skills
    follow from the simpler prompts they build on; and for every failed prompt whether an object, the count or
    only the composition failed.
    """
    if (related or unrelated) and on is None:
        raise UsageError("related skills need one that they are related to", remedy="Add --on SKILL.")
    tag = skill_tag(study, per)
    answers = answers_of(study, tag)
    if by is None or by == VERDICT:
        matches = by_verdict(study, answers, stored_verdicts(study))
    else:
        matches = by_people(study, answers, by, yes_from)
    if np.isnan(matches.match).all():
        raise DataError(
            f"no answer has a yes or no by {matches.by}", where=study.name, remedy="Run sightline verify."
        )
    return profile_of(study, matches, tag, factors=factors, on=on, related=related, unrelated=unrelated)


def profile_of(
    study: Study,
    matches: Matches,
    per: str,
    *,
    factors: Sequence[str] = (),
    on: str | None = None,
    related: Sequence[str] = (),
    unrelated: Sequence[str] = (),
) -> SkillProfile:
    """The same from matches that are at hand."""
    skills = [skill for skill in matches.skills if not np.isnan(matches.match[matches.skill == skill]).all()]
    levels, effects = factor_effects(study, matches, factors)
    links = links_of(study)
    failed = failed_prompts(study, matches, links)
    notes = []
    if failed:
        notes.append(
            "A failed prompt is one of which half of a system's samples or more do not match. Object, count: "
            "a simpler prompt that it builds on fails as well; composition: none does."
        )
    simpler = on_simpler_skills(matches, links)
    if simpler is not None:
        notes.append("Points of one system are not independent: slopes describe these systems and skills.")
    return SkillProfile(
        by=matches.by,
        per=per,
        systems=matches.systems,
        skills=matches.skills,
        rates=_rates(matches),
        pairs=_pairs(matches, skills),
        levels=levels,
        effects=effects,
        simpler=simpler,
        related=on_one_skill(matches, on, related, unrelated) if on is not None else None,
        failed=failed,
        notes=notes,
    )


def _rates(matches: Matches) -> list[SkillRate]:
    made = []
    for skill in [*matches.skills, ALL]:
        for system in matches.systems:
            rows = matches.of(system, None if skill == ALL else skill)
            said = matches.match[rows]
            if not said.size:
                continue
            none = absent(
                "no verdict could be reached" if matches.by.startswith(VERDICT) else "nobody judged"
            )
            rate = none if np.isnan(said).all() else _rate(said, matches.unit[rows])
            made.append(SkillRate(system, skill, rate, float(np.isnan(said).mean())))
    return made


def _rate(said: Array, unit: np.ndarray) -> Estimate:
    """Yes and no as proportions of units; proportions of people who said yes as their mean."""
    known = said[~np.isnan(said)]
    if np.isin(known, (0.0, 1.0)).all():
        return match_rate(said, unit)
    from sightline.statistics.intervals import mean_interval

    return mean_interval(unit_means(said, unit)[1], low=0.0, high=1.0)


def _pairs(matches: Matches, skills: Sequence[str]) -> list[SkillPair]:
    """Every two systems on every skill and on all: p-values corrected together, all skills apart."""
    made = [
        _pair(matches, skill, *both)
        for skill in [*(skills if len(skills) > 1 else []), ALL]
        for both in combinations(matches.systems, 2)
    ]
    adjusted: dict[int, float] = {}
    for whole in (False, True):
        places = [n for n, each in enumerate(made) if (each.skill == ALL) == whole and each.p is not None]
        adjusted |= dict(zip(places, holm([made[n].p or 0.0 for n in places]).tolist(), strict=True))
    return [
        SkillPair(
            each.skill, each.first, each.second, each.difference, each.p, adjusted.get(number), each.method
        )
        for number, each in enumerate(made)
    ]


def _pair(matches: Matches, skill: str, first: str, second: str) -> SkillPair:
    sides = []
    for system in (first, second):
        rows = matches.of(system, None if skill == ALL else skill)
        sides.append(dict(zip(*(each.tolist() for each in unit_means(
            matches.match[rows], matches.unit[rows])), strict=True)))  # fmt: skip
    shared = sorted(sides[0].keys() & sides[1].keys())
    gaps = np.array([sides[0][unit] - sides[1][unit] for unit in shared], dtype=np.float64)
    if gaps.size < 2:
        none = absent("fewer than two prompts in common")
        return SkillPair(skill, first, second, none, None, None, "")
    spread = paired_spread(gaps, width=1.0)
    if np.isin(gaps, (-1.0, 0.0, 1.0)).all():
        test = mcnemar([sides[0][unit] for unit in shared], [sides[1][unit] for unit in shared])
        return SkillPair(skill, first, second, spread.interval(), test.p, None, test.method)
    # Several samples per prompt are proportions: Student's test of their differences over prompts.
    return SkillPair(skill, first, second, spread.interval(), spread.p(0.0), None, "paired t")


def _slope_row(model: str, found: Slope) -> tuple[Cell, ...]:
    return model, found.slope, _or(found.p), found.n


def _listed(names: Sequence[str]) -> str:
    named = [name for name in names if name != ALL]
    shown = named[:NAMED]
    more = [f"{len(named) - len(shown)} more skills"] if len(named) > len(shown) else []
    whole = ["all skills together"] if ALL in names else []
    *first, last = [*shown, *more, *whole]
    return f"{', '.join(first)} and {last}" if first else last


def _or(value: float | None) -> Cell:
    return absent("not tested") if value is None else value
