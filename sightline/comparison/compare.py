"""Compare: which system is better, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline.comparison.breakdown import Breakdown, breakdown_of
from sightline.comparison.preferences import (
    Preferences,
    default_preference,
    detailed,
    is_preference,
    preferences,
    refuse_unlinked,
)
from sightline.comparison.values import Basis, Grid, bases_of, failed, grid_of, names_of, system_measure
from sightline.comparison.where import prompts_where
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Direction, Estimate, absent, plural
from sightline.measures.rankings import UNJUDGED, Overlap, overlap, place
from sightline.measures.system_scores import system_estimates
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour
from sightline.statistics import comparison
from sightline.statistics.comparison import Pair, Standing
from sightline.study import reading
from sightline.study.running.mapping import mapped_at
from sightline.study.running.place import Place, place_of
from sightline.study.study import Study, open_study
from sightline.verbs import ON, SEED, WORKERS, option, verb

SURE = 0.05
"""Below this p a difference is significant."""
SAME = "p of equivalence after Holm"
LETTERS = "; those that share a letter are not significantly different"


@dataclass(frozen=True)
class Criterion:
    """A further question or measure of a leaderboard: each system's mean by its name."""

    by: str
    direction: Direction
    means: Mapping[str, Estimate]
    low: float | None = None
    high: float | None = None
    rate: bool = False
    """Whether the means are win rates, whose n counts votes."""

    @property
    def title(self) -> str:
        return f"win rate on {self.by}" if self.rate else f"mean {self.by}"


@dataclass(frozen=True)
class Comparison(Result):
    """The systems on a question or measure, best mean first, with their means on others.

    `prompts` counts independent prompts: families of them count once. `raters` counts who judged, None
    where that is not known, `over` says what intervals and tests are over, and `only` for whom the result
    holds where there are too few raters to go beyond them. `notes` say what else a reader must know,
    `overlaps` what engines have in common, `failures` how many answers of each system failed. `plain` are the
    means over all prompts, each counted by itself, where families make them differ.
    """

    by: str
    direction: Direction
    prompts: int
    systems: Sequence[Standing]
    pairs: Sequence[Pair]
    where: str = ""
    low: float | None = None
    high: float | None = None
    permutations: int = 10_000
    test: str = "sign_flip"
    notes: Sequence[str] = ()
    overlaps: Sequence[Overlap] = ()
    brief: str = ""
    """The notes in a sentence, for a page with little room."""
    raters: int | None = None
    over: str = ""
    only: str = ""
    margin: float | None = None
    others: Sequence[Criterion] = ()
    per: Breakdown | None = None
    failures: Mapping[str, int] | None = None
    plain: Mapping[str, float] | None = None

    @property
    def least_p(self) -> float:
        """The smallest adjusted p that sign flips can reach: 2 / 2^n or one draw, times the pairs (Holm)."""
        most = max((pair.difference.n for pair in self.pairs), default=0)
        exact = 2.0 ** (1 - most) if self.test == "sign_flip" else 0.0
        return float(min(1.0, max(exact, 1 / (self.permutations + 1)) * len(self.pairs)))

    @property
    def winner(self) -> str | None:
        """The system that is significantly better than every other, if the data can name one."""
        if self.direction == "none" or len(self.systems) < 2:
            return None
        return next((each.system for each in self.systems if each.worst_rank == 1), None)

    @property
    def confounded(self) -> bool:
        """Whether raters and systems are mixed up in some pair."""
        return any(pair.untested for pair in self.pairs)

    @property
    def sentence(self) -> str:
        """The outcome in a sentence or two."""
        first = self.winner
        best = next((each for each in self.systems if each.system == first), self.systems[0])
        over = f"over {'only ' if best.mean.rough else ''}{plural(best.mean.n, 'prompt')}"
        if best.mean.value is None:
            return f"No system has a value on {self.by} yet."
        figure = f"{best.mean.value:.2f}{self.scale}"
        if best.mean.low is not None and best.mean.high is not None and not best.mean.rough:
            figure += f" [{best.mean.low:.2f}, {best.mean.high:.2f}]"
        if len(self.systems) == 1:
            return f"{best.system} reaches {figure} on {self._on} {over}. No other system has a value here."
        if self.confounded:
            shown = "; ".join(
                f"{each.system} {each.mean.value:.2f}" for each in self.systems if each.mean.value is not None
            )
            return (
                f"Which system is better on {self.by} cannot be said: {comparison.CONFOUNDED}. "
                f"The means are {shown}."
            )
        if self.least_p >= SURE:
            level = [placed.system for placed in self.systems if placed.mean.value == best.mean.value]
            leads = "is ahead" if self.direction != "none" else "has the highest"
            ahead = f"{best.system} {leads}" if len(level) == 1 else f"{_listed(level)} are level"
            return (
                f"{plural(self.prompts, 'prompt')} {'is' if self.prompts == 1 else 'are'} too few to tell "
                f"{len(self.systems)} systems apart on {self._on}, since no p below {self.least_p:.2g} is "
                f"possible. So far {ahead}: {figure}.{self._neither()}"
            )
        tied = [placed.system for placed in self.systems if placed.best_rank == 1]
        if first is None and len(tied) == len(self.systems):
            alike = f"{_listed(tied)} {self._alike(tied)} on {self._on} {over}"
            return f"{alike}; {best.system} has {figure}.{self._neither()}"
        if self.direction == "none":
            return f"{best.system} has the highest {self._on}: {figure} {over}.{self._neither()}"
        if first is None:
            rest = [name for name in tied if name != best.system]
            leads = f"{best.system} has the best mean {self._on}, {figure} {over}"
            return f"{leads}; {self._rivals(best.system, rest)}." if rest else f"{leads}."
        text = f"{best.system} is the best of {len(self.systems)} systems on {self._on}: {figure} {over}."
        if len({placed.mean.n for placed in self.systems}) > 1:
            text += " Not all systems answered the same prompts: differences are over those they share."
        if all(pair.significant for pair in self.pairs):
            return text + " All differences are significant."
        unsure = [f"{pair.first} and {pair.second}" for pair in self.pairs if not pair.significant]
        return text + (f" {'; '.join(unsure)} are not significantly different." if len(unsure) <= 3 else "")

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def facts(self) -> Mapping[str, Any]:
        return {**super().facts(), "winner": self.winner, "failures": dict(self.failures or {})}

    def tables(self) -> dict[str, Table]:
        kept = f" where {self.where}" if self.where else ""
        failures = self.failures or {}
        shown = any(failures.values())
        made = {
            "systems": Table(
                [
                    Column("system"),
                    Column("mean", f"mean {self.by}", self.direction, estimate=True),
                    *([Column("plain", "over all prompts")] if self.plain else []),
                    Column("rank"),
                    Column("letters"),
                    *(
                        Column(
                            each.by, each.title, each.direction, format="%" * each.rate, estimate=True
                        )
                        for each in self.others
                    ),
                    *([Column("failures", "failed answers")] if shown else []),
                ],
                [
                    (
                        each.system, each.mean, *([self.plain[each.system]] if self.plain else []),
                        _ranks(each), each.letters,
                        *(other.means.get(each.system, absent("no value")) for other in self.others),
                        *([failures.get(each.system, 0)] if shown else []),
                    )
                    for each in self.systems
                ],
                f"Systems by {self.by} over {plural(self.prompts, 'prompt')}{kept}, with 95 % intervals"
                f"{LETTERS if len(self.systems) > 1 else ''}",
            ),
            "pairs": Table(
                [
                    Column("pair", "systems"),
                    Column("first", detail=True),
                    Column("second", detail=True),
                    Column("verdict"),
                    Column("difference", format="+", estimate=True),
                    Column("p", format="p"),
                    Column("p_adjusted", "p after Holm", format="p"),
                    Column("p_bh", "p after BH", format="p", detail=True),
                    Column("significant", detail=True),
                    Column("p_equivalent", SAME, format="p", detail=self.margin is None),
                    Column("equivalent", detail=True),
                    Column("raters", "variance from raters", format="%", detail=self.pairs_without_raters),
                    Column("detectable", "detectable effect"),
                ],
                [self._pair(each) for each in self.pairs],
                f"Differences in {self.by} with 95 % intervals, first minus second, over the prompts that "
                "both answered",
            ),
        }  # fmt: skip
        if self.per is not None:
            made |= {"per": self.per.long_table()}
        if self.overlaps:
            made["overlap"] = Table(
                [Column("first"), Column("second"), Column("share", "images in common", estimate=True)],
                [(each.first, each.second, each.share) for each in self.overlaps],
                f"Images in common among the first {self.overlaps[0].k}: images of both by images of either",
            )
        return made

    def figures(self, colours: Mapping[str, Colour] | None = None) -> dict[str, Figure]:
        """Each system's mean as a dot with its interval."""
        how = "sign flips" if self.test == "sign_flip" else "the bootstrap"
        tested = f"Differences are paired by prompt; p by {how}, adjusted after Holm."
        own = Criterion(
            self.by, self.direction, {each.system: each.mean for each in self.systems}, self.low, self.high
        )
        made = {}
        for number, each in enumerate([own, *self.others]):
            more = [self.over, tested] if number == 0 else []
            if any(mean.value is not None for mean in each.means.values()):
                made[each.by if number else "means"] = self._drawn(each, more, colours)
        return made

    def _drawn(self, each: Criterion, more: Sequence[str], colours: Mapping[str, Colour] | None) -> Figure:
        """One question or measure, the systems in the order of the table."""
        order = [one.system for one in self.systems if one.system in each.means]
        dots = [Dot(name, each.means[name]) for name in order if each.means[name].value is not None]
        domain = None if each.low is None or each.high is None else (each.low, each.high)
        about = (
            f"Each dot is a system's {each.title}{'' if each.rate else ' over prompts'}, each line its 95 % "
        )
        return Figure.of(
            lambda width: dot_interval(
                dots, axis=f"{each.title} with 95 % interval", direction=each.direction, domain=domain,
                colours=colours, width=width,
            ),
            " ".join([f"{about}interval.", *(words for words in more if words)]),
        )  # fmt: skip

    @property
    def pairs_without_raters(self) -> bool:
        return all(pair.raters is None for pair in self.pairs)

    def _pair(self, pair: Pair) -> tuple[Cell, ...]:
        why = absent(pair.untested or "not tested")
        tested = (why if p is None else p for p in (pair.p, pair.p_adjusted, pair.p_bh))
        detectable = absent(pair.undetectable or "not known") if pair.detectable is None else pair.detectable
        names = f"{pair.first} − {pair.second}", pair.first, pair.second, self._verdict(pair)
        same = absent("no margin is given" if self.margin is None else "not tested")
        equivalence = same if pair.p_equivalent is None else pair.p_equivalent
        raters = absent("over prompts alone") if pair.raters is None else pair.raters
        settled = pair.significant, equivalence, pair.equivalent, raters
        return *names, pair.difference, *tested, *settled, detectable

    def _verdict(self, pair: Pair) -> str:
        if pair.difference.value is None:
            return "no prompt in common"
        if pair.untested:
            return "different raters"
        if pair.equivalent and not pair.significant:
            return f"the same within {self.margin:g}"
        if not pair.significant:
            return "not significant"
        if self.direction == "none":
            return "they differ"
        first = (pair.difference.value > 0) == (self.direction != "lower")
        return f"{pair.first if first else pair.second} is better"

    def _rivals(self, best: str, rest: Sequence[str]) -> str:
        """What the tests say of the best mean and those that are not significantly below it."""
        pairs = [pair for pair in self.pairs if best in (pair.first, pair.second)]
        same = {name for pair in pairs if pair.equivalent for name in (pair.first, pair.second)}
        if self.margin is not None and same >= set(rest):
            return f"{_listed(rest)} {'is' if len(rest) == 1 else 'are'} the same within {self.margin:g}"
        return f"it is not significantly better than {_listed(rest)}"

    def _alike(self, names: Sequence[str]) -> str:
        both = [pair for pair in self.pairs if {pair.first, pair.second} <= set(names)]
        if self.margin is not None and all(pair.equivalent for pair in both):
            return f"are the same within {self.margin:g}"
        return "are not significantly different"

    @property
    def _on(self) -> str:
        return f"{self.by} {self.only}" if self.only else self.by

    def _neither(self) -> str:
        return " Neither end of it is better." if self.direction == "none" else ""

    @property
    def scale(self) -> str:
        """What follows a mean: " of 5", or " on a scale from 1 to 5"."""
        if self.high is None or self.low is None:
            return ""
        return f" of {self.high:g}" if self.low == 0 else f" on a scale from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class SystemScores(Result):
    """Systems by measures of all their images at once, sorted by the first; no prompts, so no tests."""

    criteria: Sequence[Criterion]

    @property
    def ranked(self) -> list[str]:
        """The systems, best first; those without a value last."""
        first = self.criteria[0]
        sign = 1 if first.direction == "lower" else -1
        values = {name: each.value for name, each in first.means.items()}
        return sorted(values, key=lambda name: (values[name] is None, sign * (values[name] or 0)))

    @property
    def sentence(self) -> str:
        first, names = self.criteria[0], self.ranked
        best = first.means[names[0]]
        if best.value is None:
            return f"No system has a value on {first.by} yet."
        if best.low is None or best.high is None:
            return f"{names[0]} has the best {first.by}: {best.value:.4g}."
        level = [name for name in names[1:] if _overlap(best, first.means[name])]
        text = f"{names[0]} has the best {first.by}: {best.value:.4g} [{best.low:.4g}, {best.high:.4g}]."
        return text + (f" The intervals of {_listed(level)} overlap with it." if level else "")

    @property
    def notes(self) -> Sequence[str]:
        return ("n counts images. Intervals are of each system by itself: no difference is tested.",)

    def tables(self) -> dict[str, Table]:
        columns = [Column("system")]
        columns += [Column(each.by, each.by, each.direction, estimate=True) for each in self.criteria]
        rows: list[list[Cell]] = [
            [name, *(each.means.get(name, absent("not scored")) for each in self.criteria)]
            for name in self.ranked
        ]
        return {"systems": Table(columns, rows, "Systems by all their images")}


def _overlap(one: Estimate, two: Estimate) -> bool:
    ends = (one.low, one.high, two.low, two.high)
    if any(end is None for end in ends):
        return False
    return float(ends[0] or 0) <= float(ends[3] or 0) and float(ends[2] or 0) <= float(ends[1] or 0)


@verb("analyse")
def compare(
    study: Study,
    by: Annotated[
        str | Sequence[str] | None,
        option(
            "Compare by this question with truth, or measure with scores; repeatable, sorted by the first.",
            metavar="QUESTION|MEASURE",
            shown="the first question with truth",
        ),
    ] = None,
    *,
    where: Annotated[
        str,
        option(
            "Keep only these prompts: TAG=VALUE or suite=NAME, joined by and, or, not.", metavar="EXPRESSION"
        ),
    ] = "",
    per: Annotated[str, option("Split the means by the values of this tag or setting.", metavar="TAG")] = "",
    margin: Annotated[
        float | None,
        option("Say which systems are the same within M: two one-sided tests.", metavar="M"),
    ] = None,
    also: Annotated[
        Sequence[str],
        option(
            "Show the means of the same systems in this other study as well; repeatable.", metavar="STUDY"
        ),
    ] = (),
    test: Annotated[comparison.PairedTest, option("Use this paired test of two systems.")] = "sign_flip",
    seed: Annotated[int, SEED] = 0,
    workers: Annotated[int | None, WORKERS] = None,
    on: Annotated[str | None, ON] = None,
) -> Comparison | Preferences | SystemScores:
    """Compare systems: which is better, by how much, and how sure that is.

    Means have 95 % intervals over prompts, and over raters where three or more judged the same items.
    Rephrasings, duplicate prompts and captions of one image count once. Pairs are tested by sign flips (or
    the bootstrap) over the prompts both answered, with the variance that raters add; p is adjusted after
    Holm, and after Benjamini and Hochberg, for all pairs. The detectable effect is the difference that the
    test would find with a power of 80 %. Several --by make a leaderboard, sorted by the first. By a question
    of preference, systems are ranked by strength (Bradley-Terry, or Plackett-Luce for orders), and the mean
    is the win rate; --margin is then of the probability that either is preferred, off one half. Measures of
    a system (fid, kid) have one value per system, with an interval over images, and are not tested.

    Tests that take longer than some seconds, such as the bootstrap of many pairs, are spread over processes
    or the workers of a cluster; the result is the same.
    """
    if test not in comparison.PAIRED_TESTS:
        raise UsageError(f"there is no test {test!r}", remedy=near(test, comparison.PAIRED_TESTS))
    if margin is not None and not (np.isfinite(margin) and margin > 0):
        raise UsageError(f"the margin is {margin:g}", remedy="A difference that does not matter: above 0.")
    at = place_of(on, workers)
    with reading.remembering():
        return _compare(study, by, where, per, margin, also, test, seed, at)


def _compare(
    study: Study,
    by: str | Sequence[str] | None,
    where: str,
    per: str,
    margin: float | None,
    also: Sequence[str],
    test: comparison.PairedTest,
    seed: int,
    at: Place,
) -> Comparison | Preferences | SystemScores:
    kept = prompts_where(study, where) if where else None
    names = names_of(by) or default_preference(study)
    refuse_unlinked(study, names)
    of_systems = {name: chosen for name in names if (chosen := system_measure(study, name)) is not None}
    whole = [
        Criterion(each.short, each.spec.direction, system_estimates(study, each), *each.spec.range)
        for each in of_systems.values()
    ]
    names = [name for name in names if name not in of_systems]
    if whole and (where or per):
        raise UsageError(
            f"{whole[0].by} is of all images of a system: it has no parts",
            remedy="Leave out --where and --per.",
        )
    if whole and not names:
        return SystemScores(whole)
    preferred = {name: preferences(study, name, kept, where) for name in names if is_preference(study, name)}
    if names and names[0] in preferred:
        if test != "sign_flip":
            raise UsageError(
                f"there is no {test} of {names[0]}",
                remedy="Preferences are tested by the model of strengths: leave out --test.",
            )
        columns = [
            (name, _rates(preferred[name]) if name in preferred else _means_by(study, name, kept, where))
            for name in names[1:]
        ]
        found = detailed(study, preferred[names[0]], margin, per, kept)
        columns += [(each.by, dict(each.means)) for each in whole]
        columns += [_preferred_elsewhere(path, names[0], where) for path in also]
        return replace(found, others=columns)
    bases = bases_of(study, [name for name in names if name not in preferred])
    grids = [_grid(study, basis, kept, where) for basis in bases]
    basis, grid = bases[0], grids[0]
    compared = _compared(basis, grid, at, margin=margin, seed=seed, test=test)
    notes, overlaps, brief = _about_rankings(study, basis, kept)
    others = [
        *(
            Criterion(each.name, each.direction, _means_of(each, part), each.low, each.high)
            for each, part in zip(bases[1:], grids[1:], strict=True)
        ),
        *(Criterion(name, "higher", _rates(each), 0, 1, rate=True) for name, each in preferred.items()),
        *whole,
        *(_elsewhere(path, basis, where) for path in also),
    ]
    split = breakdown_of(study, basis, per, grid) if per else None
    lost, rule = failed(study, grid.prompts)
    extra = [
        "n counts prompts; of a win rate it counts votes." if preferred else "",
        grid.raters.said,
        *(() if split is None else split.notes[1:]),
        grid.families,
        f"Failed answers {rule}." if any(lost.values()) else "",
    ]
    return Comparison(
        by=basis.name,
        direction=basis.direction,
        prompts=len(grid.matrix),
        systems=compared.standings,
        pairs=compared.pairs,
        where=where,
        low=basis.low,
        high=basis.high,
        permutations=compared.permutations,
        test=test,
        notes=[*notes, *(note for note in extra if note)],
        overlaps=overlaps,
        brief=brief,
        raters=grid.raters.n,
        over=grid.raters.said,
        only=grid.raters.only,
        margin=margin,
        others=others,
        per=split,
        failures=lost,
        plain=dict(zip(grid.systems, grid.plain, strict=True)) if grid.families else None,
    )


def _rates(ranked: Preferences) -> dict[str, Estimate]:
    return {each.system: each.win_rate for each in ranked.ranking.systems}


def _means_by(study: Study, name: str, kept: Sequence[int] | None, where: str) -> dict[str, Estimate]:
    (basis,) = bases_of(study, name)
    return _means_of(basis, _grid(study, basis, kept, where))


def _elsewhere(path: str, basis: Basis, where: str) -> Criterion:
    """The same question or measure in another study."""
    with open_study(path) as other:
        name = str(basis.measure) if basis.measure is not None else basis.name
        try:
            kept = prompts_where(other, where) if where else None
            means = _means_by(other, name, kept, where)
        except (DataError, UsageError) as error:
            remedy = error.remedy
            raise type(error)(f"--also: {error.what}", where=path, remedy=remedy) from None
        return Criterion(f"{basis.name} in {other.name}", basis.direction, means, basis.low, basis.high)


def _preferred_elsewhere(path: str, question: str, where: str) -> tuple[str, dict[str, Estimate]]:
    """The win rates of the same question in another study."""
    with open_study(path) as other:
        kept = prompts_where(other, where) if where else None
        return f"{question} in {other.name}", _rates(preferences(other, question, kept, where))


def _grid(study: Study, basis: Basis, kept: Sequence[int] | None, where: str) -> Grid:
    values = basis.values
    if kept is not None:
        values = values.filter(pl.col("prompt_id").is_in(list(kept)))
    if values.is_empty():
        raise DataError(f"no system has a value of {basis.name}" + (f" where {where}" if where else ""))
    return grid_of(study, basis, kept)


def _compared(
    basis: Basis, grid: Grid, at: Place, *, margin: float | None, seed: int, test: comparison.PairedTest
) -> comparison.Compared:
    return comparison.compare(
        grid.matrix,
        grid.systems,
        direction=basis.direction,
        scale=(basis.low, basis.high),
        panel=grid.panel,
        margin=margin,
        seed=seed,
        test=test,
        each=mapped_at(at) if at.crew else None,
    )


def _means_of(basis: Basis, grid: Grid) -> dict[str, Estimate]:
    means = comparison.means_of(grid.matrix, (basis.low, basis.high), grid.panel)
    return dict(zip(grid.systems, means, strict=True))


def _ranks(standing: Standing) -> str:
    best, worst = standing.best_rank, standing.worst_rank
    return f"{best}" if best == worst else f"{best}-{worst}"


def _about_rankings(
    study: Study, basis: Basis, prompts: Sequence[int] | None
) -> tuple[Sequence[str], Sequence[Overlap], str]:
    """What a reader of a ranking measure needs to know: unjudged images, and images that engines share."""
    if basis.measure is None or basis.ranked is None:
        return (), (), ""
    measure, ranked = basis.measure, basis.ranked
    shared = overlap(study, place(measure) or 10, ranked=ranked, prompts=prompts)
    notes = ranked.notes_for(measure, prompts)
    if basis.direction == "none" and measure.spec.details["rests_on"] in UNJUDGED:
        predicts = "it predicts which queries are easy, not which engine is better"
        notes.insert(0, f"{basis.name} needs no judgement: {predicts}.")
    return notes, shared, ranked.brief_for(measure, prompts)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
