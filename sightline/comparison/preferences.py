"""Preferences: systems ranked by votes between their images, or by orders of several at once."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sightline.comparison.values import ranking_measures
from sightline.errors import DataError, UsageError, near
from sightline.estimate import Cell, Estimate, absent, format_cell
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour
from sightline.statistics.preference_ranking import (
    BOTH_BAD,
    PreferencePair,
    PreferenceRanking,
    rank_by_orders,
    rank_by_votes,
)
from sightline.study import reading, rollup
from sightline.study.groups import families_of
from sightline.study.machines import machine_names
from sightline.study.study import Study

MOST_IN_MATRIX = 12
EQUAL = 1e-6
"""Strengths that differ by less are equal: fits stop at about that."""


@dataclass(frozen=True)
class Preferences(Result):
    """Systems by strength, from the votes on one question; the mean of a system is its win rate."""

    by: str
    ranking: PreferenceRanking
    orders: bool = False
    where: str = ""
    others: Sequence[tuple[str, Mapping[str, Estimate]]] = ()
    """Means on further questions or measures, or in other studies, by system."""
    margin: float | None = None
    same: frozenset[tuple[str, str]] = frozenset()
    """Pairs of which either is preferred with a probability within the margin of one half."""
    per: tuple[str, Sequence[tuple[str, Preferences]]] | None = None
    """A tag, and the systems on the prompts with each of its values."""
    by_machine: bool = False
    """Whether models alone voted."""

    @property
    def winner(self) -> str | None:
        """The system that is significantly stronger than every other, if the votes can name one."""
        return self.ranking.first

    @property
    def systems(self) -> Sequence[str]:
        return [each.system for each in self.ranking.systems]

    @property
    def sentence(self) -> str:
        """The outcome in a sentence or two."""
        ranked = self.ranking
        best = ranked.systems[0]
        cast = f"{ranked.votes:,} {'orders' if self.orders else 'votes'} on {ranked.prompts:,} prompts"
        rate = format_cell(best.win_rate, "%")
        if self.winner is not None:
            return f"{best.system} is preferred to every other system on {self.by}: it wins {rate} ({cast})."
        if len(ranked.groups) > 1:
            apart = "; ".join(listed(members) for members in ranked.groups)
            return (
                f"Which system is the strongest on {self.by} cannot be said: no comparisons connect these "
                f"groups: {apart} ({cast}). Strengths and ranks are those within a group."
            )
        level = [each.system for each in ranked.systems if each.best_rank == 1 and each is not best]
        equal = [best.system, *(name for name in level if self._equal(best.system, name))]
        if len(equal) > 1:
            return f"{listed(equal)} are equally strong on {self.by}, with a win rate of {rate} ({cast})."
        alike = [name for name in level if self._same(best.system, name)]
        if self.margin is not None and level and alike == level:
            named = f"; {listed(level)} {'is' if len(level) == 1 else 'are'} the same within {self.margin:g}"
        else:
            named = f"; it is not significantly stronger than {listed(level)}" if level else ""
        return f"{best.system} is the strongest on {self.by}, with a win rate of {rate} ({cast}){named}."

    def _same(self, one: str, other: str) -> bool:
        return bool({(one, other), (other, one)} & self.same)

    def _equal(self, one: str, other: str) -> bool:
        strength = {each.system: each.strength.value for each in self.ranking.systems}
        first, second = strength[one], strength[other]
        return first is not None and second is not None and abs(first - second) < EQUAL

    @property
    def notes(self) -> Sequence[str]:
        ranked = self.ranking
        made = [f"{self._how} {self._over}".strip()]
        if self.by_machine:
            made.append("These are votes of a model, not of people: sightline judge says how far they agree.")
        bad = int(np.triu(ranked.both_bad).sum())
        if bad:
            say = "1 vote says that both are bad: it counts as a tie, and is shown."
            many = f"{bad:,} votes say that both are bad: they count as ties, and are shown."
            made.append(say if bad == 1 else many)
        low = [number for number, weight in enumerate(ranked.reliability) if weight < 0.25]
        if low:
            who = "1 rater is" if len(low) == 1 else f"{len(low)} raters are"
            made.append(f"{who} so inconsistent as to count less than a quarter of the average.")
        if self.margin is not None:
            least, most = (f"{100 * (0.5 + side * self.margin):g} %" for side in (-1, 1))
            made.append(
                f"The same within {self.margin:g}: either is preferred to the other with a probability of "
                f"{least} to {most}, by two one-sided tests at 5 %."
            )
        return made

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def facts(self) -> Mapping[str, Any]:
        ranked = self.ranking
        return {
            **super().facts(), "winner": self.winner, "votes": ranked.votes, "prompts": ranked.prompts,
            "raters": ranked.raters, "over": ranked.over, "variance_from_raters": ranked.rater_part,
        }  # fmt: skip

    def tables(self) -> dict[str, Table]:
        ranked = self.ranking
        apart = len(ranked.groups) > 1
        columns = [
            Column("system"),
            *([Column("group")] if apart else []),
            Column("mean", "win rate", "higher", format="%", estimate=True),
            Column("rank"),
            Column("strength", direction="higher", estimate=True),
            Column("elo", "Elo scale", direction="higher", format=".0f", estimate=True),
            Column("expected", "win rate against all", "higher", format="%", estimate=True, detail=True),
            Column("votes"),
            Column("wins", detail=True),
            Column("losses", detail=True),
            Column("ties"),
            Column("both_bad", "both bad"),
            *(Column(name, f"mean {name}", estimate=True) for name, _ in self.others),
        ]
        rows: list[tuple[Cell, ...]] = [
            (
                each.system, *([each.group + 1 if each.group >= 0 else "none"] if apart else []),
                each.win_rate, _ranks(each.best_rank, each.worst_rank), each.strength, each.elo,
                each.expected_win_rate, each.votes, each.wins, each.losses, each.ties, each.both_bad,
                *(means.get(each.system, absent("no value")) for _, means in self.others),
            )
            for each in ranked.systems
        ]  # fmt: skip
        kept = f" where {self.where}" if self.where else ""
        made = {
            "systems": Table(columns, rows, f"Systems by preference on {self.by}{kept}"),
            "pairs": Table(
                [
                    Column("pair", "systems"), Column("first", detail=True), Column("second", detail=True),
                    Column("verdict"),
                    Column("probability", "first is preferred", format="%", estimate=True),
                    Column("difference", "difference in strength", format="+", estimate=True),
                    Column("p", format="p"), Column("p_adjusted", "p after Holm", format="p"),
                    Column("significant", detail=True), Column("votes"), Column("first_wins", detail=True),
                    Column("second_wins", detail=True), Column("ties", detail=True),
                    Column("both_bad", detail=True),
                ],
                [self._pair(each) for each in ranked.pairs],
                "Every two systems: the probability that the first is preferred to the second",
            ),
        }  # fmt: skip
        if len(ranked.names) <= MOST_IN_MATRIX:
            made["wins"] = self._matrix()
        if self.per is not None:
            tag, parts = self.per
            made[f"per_{tag}"] = Table(
                [
                    Column("group", tag), Column("system"),
                    Column("mean", "win rate", "higher", format="%", estimate=True),
                    Column("strength", direction="higher", estimate=True),
                ],
                [
                    (value, each.system, each.win_rate, each.strength)
                    for value, part in parts
                    for each in part.ranking.systems
                ],
                f"Systems by preference on {self.by} for each {tag}",
            )  # fmt: skip
        return made

    def _pair(self, pair: PreferencePair) -> tuple[Cell, ...]:
        verdict = "not significant"
        if pair.difference.value is None:
            verdict = "never compared"
        elif pair.significant:
            verdict = f"{pair.first if pair.difference.value > 0 else pair.second} is better"
        elif self._same(pair.first, pair.second):
            verdict = f"the same within {self.margin:g}"
        names = f"{pair.first} − {pair.second}", pair.first, pair.second, verdict
        tested = (absent("not tested") if p is None else p for p in (pair.p, pair.p_adjusted))
        counts = pair.votes, pair.first_wins, pair.second_wins, pair.ties, pair.both_bad
        return *names, pair.probability, pair.difference, *tested, pair.significant, *counts

    def _matrix(self) -> Table:
        ranked = self.ranking
        place = {name: number for number, name in enumerate(ranked.names)}
        order = [place[name] for name in self.systems]
        columns = [Column("system"), *(Column(f"over_{ranked.names[j]}", ranked.names[j]) for j in order)]
        rows = [(ranked.names[i], *("" if i == j else int(ranked.wins[i, j]) for j in order)) for i in order]
        return Table(columns, rows, "Votes for the system of the row against that of the column")

    def figures(self, colours: Mapping[str, Colour] | None = None) -> dict[str, Figure]:
        """Each system's strength on the Elo scale as a dot with its interval."""
        dots = [Dot(each.system, each.elo) for each in self.ranking.systems if each.elo.value is not None]
        if not dots:
            return {}
        return {
            "strength": Figure.of(
                lambda width: dot_interval(
                    dots, axis="strength (Elo scale)", direction="higher", colours=colours, width=width
                ),
                f"Each dot is a system's strength on the Elo scale, each line its interval. {self._over}",
            )
        }

    @property
    def _how(self) -> str:
        model = "Plackett and Luce" if self.orders else "Bradley and Terry"
        return f"Strengths are those of {model}; 400 points of the Elo scale are odds of ten to one."

    @property
    def _over(self) -> str:
        return intervals_over(self.ranking)


def intervals_over(ranked: PreferenceRanking, level: str = "95 %") -> str:
    """What the intervals are over, in a sentence."""
    if not ranked.over:
        return f"There are no intervals: {ranked.reason}."
    why = f": {ranked.reason}" if ranked.reason else ""
    return f"The {level} intervals are over {ranked.over}{why}."


def default_preference(study: Study) -> list[str]:
    """A question of preference where nothing else can be compared by."""
    if reading.about_systems(study) or ranking_measures(study):
        return []
    return preference_questions(study)[:1]


def refuse_unlinked(study: Study, names: Sequence[str]) -> None:
    """An error where images were compared and nothing says whose they are: no truth can mend that."""
    questions = [asked.name for _, asked in reading.questions(study)]
    for name in names or ([] if reading.about_systems(study) else questions):
        if name not in questions or name in reading.about_systems(study) or is_preference(study, name):
            continue
        cast = reading.ballots(study, name).filter((pl.col("image_b") > 0) & (pl.col("image_c") == 0))
        if not cast.is_empty():
            raise DataError(
                f"the images that were compared on {name} are not answers of two systems",
                where=study.name,
                remedy="Import which system answered which prompt with them: a table of prompt, image and "
                "system, whose images have the names that the judgements use.",
            )


def preference_questions(study: Study) -> list[str]:
    """The questions by which systems can be ranked: votes between the images of two, or orders of several."""
    return [asked.name for _, asked in reading.questions(study) if is_preference(study, asked.name)]


def is_preference(study: Study, name: str) -> bool:
    """Whether a name is that of a question by which systems are compared directly."""
    if name not in {asked.name for _, asked in reading.questions(study)}:
        return False
    if name in reading.about_systems(study):
        return False
    return rollup.ranks_systems(study, name)


def detailed(
    study: Study, found: Preferences, margin: float | None, per: str, prompts: Sequence[int] | None
) -> Preferences:
    """The same with pairs that are equal within a margin, and split by the values of a tag."""
    if margin is not None:
        if margin >= 0.5:
            raise UsageError(
                f"the margin is {margin:g}",
                remedy=f"{found.by} is a preference: the margin is of the probability that either system is "
                "preferred, off one half; below 0.5, such as 0.1.",
            )
        # Two one-sided tests at 5 % are what the 90 % interval leaves open.
        wide = preferences(study, found.by, prompts, found.where, confidence=0.9).ranking
        within = frozenset(
            (pair.first, pair.second)
            for pair in wide.pairs
            if pair.probability.low is not None
            and pair.probability.high is not None
            and pair.probability.low > 0.5 - margin
            and pair.probability.high < 0.5 + margin
        )
        found = replace(found, margin=margin, same=within)
    if per:
        found = replace(found, per=(per, _by_value(study, found, per, prompts)))
    return found


def _by_value(
    study: Study, found: Preferences, tag: str, prompts: Sequence[int] | None
) -> list[tuple[str, Preferences]]:
    tags = reading.tags(study)
    names = tags["name"].unique().sort().to_list()
    if tag not in names:
        raise UsageError(f"no prompt has a tag {tag!r}", remedy=near(tag, names))
    made = []
    for (value,), rows in tags.filter(pl.col("name") == tag).group_by(["value"], maintain_order=True):
        kept = set(rows["prompt_id"].to_list())
        kept &= kept if prompts is None else set(prompts)
        votes = votes_on(study, found.by, sorted(kept))
        if not votes.is_empty():
            made.append((str(value), preferences(study, found.by, sorted(kept), found.where)))
    return made


def votes_on(study: Study, question: str, prompts: Sequence[int] | None = None) -> pl.DataFrame:
    """Orders of several systems where there are any, otherwise votes between two."""
    orders = rollup.order_votes(study, question)
    votes = orders if not orders.is_empty() else rollup.pair_votes(study, question)
    return votes if prompts is None else votes.filter(pl.col("prompt_id").is_in(list(prompts)))


def preferences(
    study: Study,
    question: str,
    prompts: Sequence[int] | None = None,
    where: str = "",
    confidence: float = 0.95,
) -> Preferences:
    """The systems ranked by the votes on one question; families of prompts are one cluster."""
    votes = votes_on(study, question, prompts)
    if votes.is_empty():
        raise DataError(
            f"nobody has compared systems on {question}" + (f" where {where}" if where else ""),
            where=study.name,
            remedy="Import votes between two systems, or ask for them: "
            f"sightline annotate {shlex.quote(str(study.home))} --mode preference",
        )
    known = votes["prompt_id"].unique().sort()
    known = known.filter(known > 0)
    family = dict(zip(known, families_of(study, known).tolist(), strict=True))
    # A vote that names no prompt is a prompt of its own.
    alone = -1 - np.arange(len(votes))
    unit = votes["prompt_id"].replace_strict(family, default=-1, return_dtype=pl.Int64).to_numpy()
    unit = np.unique(np.where(unit < 0, alone, unit), return_inverse=True)[1]
    columns = ["system"] if "rank" in votes.columns else ["system", "system_b"]
    names = sorted({str(name) for column in columns for name in votes[column].unique()})
    place = {name: number for number, name in enumerate(names)}
    first, *second = (
        votes[column].replace_strict(place, return_dtype=pl.Int64).to_numpy() for column in columns
    )
    rater = votes["annotator"].to_numpy()
    if second:
        said = 1 - votes["outcome"].cast(pl.Float64).to_numpy()
        said = np.where(votes["outcome"].is_null().to_numpy(), BOTH_BAD, said)
        ranking = rank_by_votes(unit, rater, first, second[0], said, names, confidence=confidence)
    else:
        group, rank = votes["group"].to_numpy(), votes["rank"].to_numpy()
        ranking = rank_by_orders(group, first, rank, unit, rater, names, confidence=confidence)
    by_machine = question in machine_names(study)
    return Preferences(question, ranking, orders=not second, where=where, by_machine=by_machine)


def _ranks(best: int, worst: int) -> str:
    return f"{best}" if best == worst else f"{best}-{worst}"


def listed(names: Sequence[str]) -> str:
    """Names in a row, with "and" before the last."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
